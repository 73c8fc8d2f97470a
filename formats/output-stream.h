/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For formats that are written as a whole at the end: the output as a stdio stream, compressed or
 * as it is. What was written is in the output once it has been closed; fclose() and ferror() tell
 * that something failed, and errno what.
 */
#pragma once

#include <stdio.h>

#include "formats/output.h"

enum output_compression { OUTPUT_PLAIN, OUTPUT_GZIP };

/* NULL: no memory. */
FILE *output_stream_open(struct output *output, enum output_compression compression);

/* Closes it: 0 or the first error that there was, as -errno. */
int output_stream_close(FILE *stream);
