/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/binary-search.h"
#include "common/base/growing-list.h"
#include "common/jit/jit-lines.h"

enum {
	/*
	 * V8 writes addresses as in the ELF file that perf makes of a function, after its header;
	 * others write those of the code. No V8 function has a line below this offset.
	 */
	V8_SHIFT = 0x40,
};

struct jit_debug_entry {
	uint64_t start; /* of the function */
	uint64_t n;
};

struct debug_entry {
	uint64_t address;
	uint32_t line, column;
	/* The file's name follows, with its zero byte. */
};

void jit_lines_deinit(struct jit_lines *lines)
{
	free(lines->list);
	*lines = (struct jit_lines){ 0 };
}

/* Sets last_file to a file's name, stored once while it stays the same. 0, -ENOSPC or -ENOMEM. */
static int find_file(struct jit_lines *lines, struct name_store *names, const char *name,
		     size_t size)
{
	static const char same[] = "\xff"; /* the file of the entry before */
	int r;

	if (lines->has_last_file &&
	    (!strcmp(name, same) || !strcmp(name, name_store_get(names, lines->last_file))))
		return 0;
	r = name_store_add(names, name, size, &lines->last_file);
	lines->has_last_file = r == 0;
	return r;
}

static int add_entry(struct jit_lines *lines, struct name_store *names,
		     const struct debug_entry *entry, const char *file, size_t file_size)
{
	uint64_t offset = entry->address - lines->pending_address;
	int r = find_file(lines, names, file, file_size);

	if (r == 0)
		r = GROWING_LIST_RESERVE(lines->list, lines->n_allocated, 64, lines->n + 1);
	if (r == 0)
		lines->list[lines->n++] = (struct jit_line){
			.offset = offset,
			.line = entry->line,
			.column = entry->column,
			.file = lines->last_file,
		};
	return r;
}

static int compare(const void *a, const void *b)
{
	const struct jit_line *left = a, *right = b;

	if (left->offset != right->offset)
		return left->offset < right->offset ? -1 : 1;
	if (left->line != right->line)
		return left->line < right->line ? -1 : 1;
	return left->column < right->column ? -1 : left->column > right->column;
}

/* Usually they are sorted already. */
static void sort_pending(struct jit_lines *lines)
{
	for (size_t i = lines->pending + 1; i < lines->n; i++)
		if (lines->list[i].offset < lines->list[i - 1].offset) {
			qsort(&lines->list[lines->pending], lines->n - lines->pending,
			      sizeof(*lines->list), compare);
			return;
		}
}

int jit_lines_add(struct jit_lines *lines, struct name_store *names, const char *bytes, size_t size,
		  uint64_t *ret_n_refused)
{
	struct jit_debug_entry info = { 0 };
	struct debug_entry entry;
	size_t at = sizeof(info), name_size;
	int r = 0;

	*ret_n_refused = lines->n - lines->pending;
	lines->n = lines->pending;
	if (size >= sizeof(info))
		memcpy(&info, bytes, sizeof(info));
	lines->pending_address = info.start;
	for (uint64_t i = 0; i < info.n && r == 0; i++) {
		if (at > size || size - at <= sizeof(entry)) {
			++*ret_n_refused;
			break;
		}
		memcpy(&entry, bytes + at, sizeof(entry));
		at += sizeof(entry);
		name_size = strnlen(bytes + at, size - at);
		if (name_size == size - at || entry.address - info.start > UINT32_MAX ||
		    lines->n == JIT_LINES_MAX)
			++*ret_n_refused;
		else
			r = add_entry(lines, names, &entry, bytes + at, name_size);
		at += name_size + 1;
	}
	sort_pending(lines);
	return r;
}

void jit_lines_drop(struct jit_lines *lines)
{
	lines->n = lines->pending;
}

void jit_lines_take(struct jit_lines *lines, uint64_t start, uint32_t *ret_first, uint32_t *ret_n)
{
	*ret_first = lines->pending;
	*ret_n = lines->pending_address == start ? lines->n - lines->pending : 0;
	if (*ret_n && (lines->pending == 0 || lines->list[lines->pending].offset < lines->lowest))
		lines->lowest = lines->list[lines->pending].offset;
	if (*ret_n)
		lines->pending = lines->n;
}

const struct jit_line *jit_lines_find(const struct jit_lines *lines, uint32_t first, uint32_t n,
				      uint64_t offset)
{
	size_t low;

	if (lines->lowest >= V8_SHIFT)
		offset += V8_SHIFT;
	low = BINARY_SEARCH(i, first, first + n, lines->list[i].offset <= offset);
	return low == first ? NULL : &lines->list[low - 1];
}
