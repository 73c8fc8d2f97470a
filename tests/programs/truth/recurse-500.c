/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Five hundred deep: fits in a stack of 32 KiB and in 512 frames.
 *
 * truth: chain START main dive{500} WORK
 */
#define DEPTH 500
#define ROOM 16
#include "recurse.h"
