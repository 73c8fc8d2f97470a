/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints a record as one line of text, from the description of its type. */
#pragma once

#include <stdio.h>

#include "common/wire/wire.h"

/*
 * Prints "name field=value …": numbers in decimal, addresses as 0x…, names of enumerations, quoted
 * strings (clean UTF-8, '"' and '\' escaped), blobs as size and CRC-32, frames as
 * address@mapping:flags.
 */
void record_text_print(FILE *out, const struct wire_type *type, const void *view);

/* Prints each event of the record as a line: "heap_event time=… process=… …". */
void record_text_print_heap_events(FILE *out, const struct wire_heap_events *record);

/* Prints type and size of a record of an unknown type. */
void record_text_print_unknown(FILE *out, const struct wire_raw *raw);
