/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A function that calls itself, ten deep.
 *
 * truth: chain START main dive{10} WORK
 */
#define DEPTH 10
#define ROOM 16
#include "recurse.h"
