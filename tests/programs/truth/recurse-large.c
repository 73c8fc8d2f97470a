/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Five thousand deep: more than any captured stack.
 *
 * truth: chain START main dive{5000} WORK
 * truth: ends stack-truncated at dive  # a hundred of the frames fill 32 KiB
 * truth: ends stack-absent at dive     # the page of a new frame is being made
 */
#define DEPTH 5000
#define ROOM 256
#include "recurse.h"
