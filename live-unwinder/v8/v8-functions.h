/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the builtins of V8 are in a file: as its symbol table has them, or, if it is stripped, as
 * V8 itself has them, in a table that a program with V8 embeds beside their code.
 */
#pragma once

#include "common/elf/elf-image.h"

enum {
	V8_BUILTINS_MAX = 1 << 14,	    /* of a file; V8 has 2,000 */
	V8_BUILTINS_SYMBOLS_MAX = 16 << 20, /* bytes of a symbol table that is read for them */
	V8_BUILTINS_DATA_MAX = 1 << 20,	    /* and of V8's own table, with what is behind it */
};

struct v8_function {
	uint64_t offset, size; /* in the file */
};

struct v8_functions {
	struct v8_function *list; /* sorted */
	size_t n;
};

/* NULL: the file has none, or there is no memory for them. */
struct v8_functions *v8_functions_read(const struct elf_image *elf);

/* Returns NULL. */
struct v8_functions *v8_functions_free(struct v8_functions *functions);

/*
 * Adds those that V8's own table has (class EmbeddedData, src/snapshot/embedded/embedded-data.h),
 * if a file exports where that is: code and table, each with its size. Only a table that describes
 * the code from its begin to its end, without a gap, is one. 0 or -ENOMEM.
 */
int v8_embedded_add(struct v8_functions *functions, const struct elf_image *elf);
