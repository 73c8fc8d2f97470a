/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compiles unwind tables of files in a helper without rights: it has the files, as descriptors, and
 * nothing else.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/unwind/unwind-table.h"

enum {
	TABLE_MAKER_FILES_MAX = 16, /* at one time */
	TABLE_MAKER_PATIENCE_MS = 20000,
	TABLE_MAKER_SIZE_MAX = 256 << 20, /* bytes of their tables */
};

/* A helper at work; `pid` 0: none. */
struct table_maker {
	pid_t pid;
	int ended_fd;	     /* readable once it has ended; -1: that is not known */
	int output;	     /* what it writes to */
	size_t n;	     /* files */
	uint64_t give_up_at; /* CLOCK_MONOTONIC */
	void *map;
	size_t map_size;
	struct unwind_table tables[TABLE_MAKER_FILES_MAX]; /* `header` NULL: the file has none */
};

/* Starts a helper for up to TABLE_MAKER_FILES_MAX files. 0 or -errno, with no helper. */
int table_maker_begin(struct table_maker *maker, const int *files, size_t n);

/*
 * Whether the helper is done: 0, and maker->tables are valid until table_maker_end(). -EAGAIN: not
 * yet. Others: it failed, as on a file that makes its reader wait.
 */
int table_maker_look(struct table_maker *maker);

void table_maker_end(struct table_maker *maker);
