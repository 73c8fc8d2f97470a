/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * As plain.c, with the unwind information that is made for debuggers, as it is and compressed.
 *
 * truth: builds debug-frame debug-frame-gz
 * truth: chain START main outer middle WORK
 */
#include "plain.c"
