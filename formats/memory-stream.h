/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts assembled in memory. */
#pragma once

#include <stdio.h>

/*
 * Closes a stream of open_memstream(3). Its text is then at `*text`; the caller frees it. 0, or
 * -ENOMEM with `*text` NULL. fclose(3) itself does not report that memory ran out for the end of
 * the text (glibc 2.36, _IO_mem_finish).
 */
int memory_stream_close(FILE *stream, char **text);
