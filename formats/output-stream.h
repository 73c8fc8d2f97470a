/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The output as a stdio stream, compressed or plain, for formats that are written whole at the end.
 * The output has everything only after the stream is closed. ferror() and fclose() report failures,
 * errno the reason.
 */
#pragma once

#include <stdio.h>

#include "formats/output.h"

enum output_compression { OUTPUT_PLAIN, OUTPUT_GZIP };

/* NULL: no memory. */
FILE *output_stream_open(struct output *output, enum output_compression compression);

/* Closes the stream. 0, or the first error as -errno. */
int output_stream_close(FILE *stream);
