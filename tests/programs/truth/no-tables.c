/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * plain.c, without any unwind information: it is still known where each stack is cut.
 *
 * truth: chain START main outer middle WORK
 * truth: ends no-unwind-info at (main|outer|middle|spin|tick|burn)   # whichever was sampled
 */
#include "plain.c"
