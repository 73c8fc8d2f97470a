/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two thousand deep, with a frame limit above that.
 *
 * truth: source -s 65528
 * truth: unwinder --max-frames=2100
 * truth: chain START main dive{2000} WORK
 */
#define DEPTH 2000
#define ROOM 4
#include "recurse.h"
