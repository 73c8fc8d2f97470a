/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * plain.c, built by another compiler.
 *
 * truth: compiler clang
 * truth: chain START main outer middle WORK
 */
#include "plain.c"
