/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Five thousand deep, all of them captured; 512 frames are shown.
 *
 * truth: source -s 65528
 * truth: chain START main dive{5000} WORK
 * truth: ends frame-limit at (dive|main|LIBC) # --max-frames is 512
 */
#define DEPTH 5000
#define ROOM 4
#include "recurse.h"
