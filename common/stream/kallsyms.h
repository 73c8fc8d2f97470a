/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's functions, parsed from the /proc/kallsyms that the stream carries. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	KALLSYMS_TEXT_MAX = 64 * 1024 * 1024, /* bytes of the file, compressed or not */
	KALLSYMS_MAX = 1 << 21,		      /* functions; more are counted as refused */
	KALLSYMS_LAST_BPF_SIZE = 1 << 16,     /* bytes, if no function follows it */
};

struct kernel_symbol {
	uint64_t address;
	const char *name;   /* points into `text` */
	const char *module; /* empty: the kernel itself */
};

struct kallsyms {
	char *file; /* the bytes received so far */
	size_t size;
	char *text;
	struct kernel_symbol *list; /* by address */
	size_t n, n_refused;
};

void kallsyms_deinit(struct kallsyms *kallsyms);

/* Appends a piece of the file, which may be gzip-compressed. 0, -EFBIG or -ENOMEM. */
int kallsyms_add(struct kallsyms *kallsyms, const void *data, size_t size);

/* Parses the complete file. 0; -EBADMSG: it cannot be decompressed; -ENOMEM. */
int kallsyms_finish(struct kallsyms *kallsyms);

/* The range of a function; it ends where the next one in the file begins. */
struct kallsyms_range {
	const char *name;
	uint64_t start, end; /* 0: no function of that name */
};

/* Finds the ranges of `n` names in the file's text, without parsing the rest. */
void kallsyms_find_ranges(const char *text, size_t size, struct kallsyms_range *ranges, size_t n);

/*
 * The function that contains an address, and the distance from its start to the next function.
 * NULL: none, also before the first function and in the last, whose end is unknown unless it is a
 * BPF program.
 */
const struct kernel_symbol *kallsyms_find(const struct kallsyms *kallsyms, uint64_t address,
					  uint64_t *ret_size);
