/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A record as one line of text, by its table alone. */
#pragma once

#include <stdio.h>

#include "common/wire/wire.h"

/*
 * Prints "name field=value …": numbers in decimal, addresses as 0x…, names of enumerations,
 * strings in quotes (clean UTF-8, '"' and '\' escaped), blobs as their size and CRC-32, frames
 * as address@mapping with their flags.
 */
void record_text_print(FILE *out, const struct wire_type *type, const void *view);

/* Each event of the record as a line: "heap_event time=… process=… …". */
void record_text_print_heap_events(FILE *out, const struct wire_heap_events *record);

/* Of a record of a type that is not known here. */
void record_text_print_unknown(FILE *out, const struct wire_raw *raw);
