/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * plain.c, with unwind information for debuggers only, uncompressed and compressed.
 *
 * truth: builds debug-frame debug-frame-gz
 * truth: chain START main outer middle WORK
 */
#include "plain.c"
