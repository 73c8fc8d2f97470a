/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * As plain.c, without any unwind information: where each stack is cut is known nevertheless.
 *
 * truth: chain START main outer middle WORK
 * truth: ends no-unwind-info at (main|outer|middle|spin|tick|burn)   # whichever was sampled
 */
#include "plain.c"
