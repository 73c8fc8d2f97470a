/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts that are put together in memory. */
#pragma once

#include <stdio.h>

/*
 * Closes a stream of open_memstream(3), whose text is then at `*text` and the caller's. 0, or
 * -ENOMEM: there is none. fclose(3) itself says nothing where there was no memory for the end of
 * it (glibc 2.36, _IO_mem_finish).
 */
int memory_stream_close(FILE *stream, char **text);
