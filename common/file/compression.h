/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recognizes input that a program such as gzip has compressed as a whole, and words the error. */
#pragma once

#include <stddef.h>

/* For a file that was given by name, and for standard input; %s is the program. */
#define COMPRESSION_OF_FILE "it is compressed: run %s -dc FILE > OTHER, and name OTHER"
#define COMPRESSION_OF_INPUT "it is compressed: pipe it through %s -dc first"

/*
 * Returns the program that decompresses the data, by its first bytes (RFC 1952, RFC 8878, bzip2,
 * xz); NULL: not known as compressed. No format that we read begins like that.
 */
const char *compression_program(const void *data, size_t size);
