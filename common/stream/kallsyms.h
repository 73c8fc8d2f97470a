/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's functions, from /proc/kallsyms as the stream brings it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	KALLSYMS_TEXT_MAX = 64 * 1024 * 1024, /* bytes of the file, compressed or not */
	KALLSYMS_MAX = 1 << 21,		      /* functions; further ones are left out */
	KALLSYMS_LAST_BPF_SIZE = 1 << 16,     /* bytes, if no other function is behind it */
};

struct kernel_symbol {
	uint64_t address;
	const char *name;   /* in the text */
	const char *module; /* empty: the kernel itself */
};

struct kallsyms {
	char *file; /* what has come of it so far */
	size_t size;
	char *text;
	struct kernel_symbol *list; /* by address */
	size_t n, n_refused;
};

void kallsyms_deinit(struct kallsyms *kallsyms);

/* Adds a piece of the file, which may be gzip-compressed: 0, -EFBIG or -ENOMEM. */
int kallsyms_add(struct kallsyms *kallsyms, const void *data, size_t size);

/* The file is whole: reads it. 0, -EBADMSG: it cannot be decompressed; -ENOMEM. */
int kallsyms_finish(struct kallsyms *kallsyms);

/* Where a function of a name begins and ends: where the next one in the file begins. */
struct kallsyms_range {
	const char *name;
	uint64_t start, end; /* 0: there is none of that name */
};

/* Those of several names, of the file's text, of which nothing else is taken in. */
void kallsyms_find_ranges(const char *text, size_t size, struct kallsyms_range *ranges, size_t n);

/*
 * The function that holds an address, and how many bytes there are to the next one; NULL: none,
 * as for what lies before the first function, or behind the beginning of the last, unless that is a
 * BPF program.
 */
const struct kernel_symbol *kallsyms_find(const struct kallsyms *kallsyms, uint64_t address,
					  uint64_t *ret_size);
