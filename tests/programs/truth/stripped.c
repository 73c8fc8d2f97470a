/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * plain.c without symbols: only files and the number of frames are known.
 *
 * truth: chain [stripped] (__libc_start_main|[libc.so.6]) (__libc_start_call_main|[libc.so.6])
 * truth: then [stripped]{5}
 * truth: aside (LD|[stripped]) (LIBC|LD|[stripped])*
 */
#include "plain.c"
