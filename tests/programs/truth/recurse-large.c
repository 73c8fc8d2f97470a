/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Five thousand deep: more than the kernel copies; what a BPF program reads has 512 frames shown.
 *
 * truth: chain START main dive{5000} WORK
 * truth: ends frame-limit at dive      # --max-frames is 512
 * truth: ends stack-truncated at dive  # there was no room in the ring for the rest
 * truth: ends stack-absent at dive     # the page of a new frame is being made
 */
#define DEPTH 5000
#define ROOM 256
#include "recurse.h"
