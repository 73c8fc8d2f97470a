/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Five hundred deep: what a stack of 32 KiB and 512 frames hold.
 *
 * truth: chain START main dive{500} WORK
 */
#define DEPTH 500
#define ROOM 16
#include "recurse.h"
