/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/binary-search.h"
#include "common/base/growing-list.h"
#include "symbolizer/kernel-code.h"

enum {
	FIRST_ALLOCATED = 16,
	PARTS_MAX = 3, /* left before, the change itself, left behind */
};

/* The state of addresses outside all areas; inside, it is the area's version. */
enum { AS_IN_KALLSYMS, NOT_IN_KALLSYMS, FIRST_VERSION };

#define KERNEL_HALF (1ULL << 63) /* first kernel address */

static bool holds_code(const struct kernel_area *area)
{
	return area->name != NULL;
}

static bool is_code_within(const struct kernel_area *area, uint64_t start, uint64_t end)
{
	return holds_code(area) && area->code_start >= start &&
	       area->code_start + area->code_size <= end;
}

static bool is_code_overlapped(const struct kernel_area *area, uint64_t start, uint64_t end)
{
	return holds_code(area) && area->code_start < end &&
	       start < area->code_start + area->code_size;
}

static void lose_code(struct kernel_area *area)
{
	free(area->name);
	area->name = NULL;
}

void kernel_code_deinit(struct kernel_code *code)
{
	for (size_t i = 0; i < code->n; i++)
		lose_code(&code->list[i]);
	free(code->list);
	*code = (struct kernel_code){ 0 };
}

/* Index of the first area that ends behind an address; `n`: none. */
static size_t find_behind(const struct kernel_code *code, uint64_t address)
{
	return BINARY_SEARCH(i, 0, code->n, code->list[i].end <= address);
}

static uint64_t next_version(struct kernel_code *code)
{
	return FIRST_VERSION + code->n_versions++;
}

/* The gap between two joined areas loses its names, too: no name is better than an old one. */
static void join_empty(struct kernel_code *code)
{
	struct kernel_area *list = code->list;
	size_t n = 0;

	for (size_t i = 0; i < code->n; i++) {
		bool is_joined = n && !holds_code(&list[n - 1]) && !holds_code(&list[i]);

		if (is_joined) {
			list[n - 1].end = list[i].end;
			list[n - 1].version = next_version(code);
		} else {
			list[n++] = list[i];
		}
	}
	code->n = n;
}

static void give_up_all(struct kernel_code *code)
{
	uint64_t end = code->list[code->n - 1].end;

	for (size_t i = 0; i < code->n; i++) {
		code->n_refused += holds_code(&code->list[i]);
		lose_code(&code->list[i]);
	}
	code->n = 1;
	code->list[0].end = end;
	code->list[0].version = next_version(code);
}

/* Makes room for as many areas as one change can add. */
static int reserve(struct kernel_code *code)
{
	enum { ADDED_MAX = PARTS_MAX - 1 };

	if (code->n + ADDED_MAX > KERNEL_CODE_MAX)
		join_empty(code);
	if (code->n + ADDED_MAX > KERNEL_CODE_MAX)
		give_up_all(code);
	return GROWING_LIST_RESERVE(code->list, code->n_allocated, FIRST_ALLOCATED,
				    code->n + ADDED_MAX);
}

/* Replaces the areas from `first` up to, but excluding, `last` by `n` others. */
static void replace(struct kernel_code *code, size_t first, size_t last,
		    const struct kernel_area *areas, size_t n)
{
	memmove(code->list + first + n, code->list + last, (code->n - last) * sizeof(*code->list));
	memcpy(code->list + first, areas, n * sizeof(*areas));
	code->n = code->n - (last - first) + n;
}

/*
 * Replaces what an area covers. Code that it overlaps is gone, even without a record; other code in
 * the overlapped areas stays, with its part of them.
 */
static void put_area(struct kernel_code *code, struct kernel_area area)
{
	size_t first = find_behind(code, area.start), last = first, n = 0;
	uint64_t start = area.start, end = area.end;
	struct kernel_area parts[PARTS_MAX];

	for (; last < code->n && code->list[last].start < end; last++) {
		struct kernel_area *old = &code->list[last];

		if (is_code_within(old, old->start, start)) {
			parts[n] = *old;
			parts[n++].end = start;
		} else if (old->start < start) {
			area.start = old->start;
		}
	}
	parts[n++] = area;
	if (first < last) {
		struct kernel_area *old = &code->list[last - 1];

		if (is_code_within(old, end, old->end)) {
			parts[n] = *old;
			parts[n++].start = end;
		} else if (old->end > end) {
			parts[n - 1].end = old->end;
		}
	}
	for (size_t i = first; i < last; i++)
		if (is_code_overlapped(&code->list[i], start, end))
			lose_code(&code->list[i]);
	replace(code, first, last, parts, n);
}

/* The module as kallsyms shows it for code that exists already. */
static const char *module_of(const struct wire_kernel_symbol *record)
{
	const char *name = record->name.data;

	if (record->kind == WIRE_kernel_symbol_kind_BPF)
		return "bpf";
	if (!strcmp(name, "ftrace_trampoline"))
		return "__builtin__ftrace";
	if (!strncmp(name, "kprobe_", strlen("kprobe_")))
		return "__builtin__kprobes";
	return "";
}

int kernel_code_change(struct kernel_code *code, const struct wire_kernel_symbol *record)
{
	bool has_code = !(record->flags & WIRE_kernel_symbol_flags_GONE) && record->name.size;
	struct kernel_area area = {
		.start = record->address,
		.end = record->address + record->size,
		.code_start = record->address,
		.code_size = record->size,
		.module = module_of(record),
	};
	int r;

	if (record->address < KERNEL_HALF || record->size == 0 ||
	    record->size > KERNEL_CODE_SIZE_MAX || area.end < area.start) {
		code->n_refused++;
		return 0;
	}
	r = reserve(code);
	if (r < 0)
		return r;
	if (has_code) {
		area.name = strdup(record->name.data);
		if (!area.name)
			return -ENOMEM;
	}
	area.version = next_version(code);
	put_area(code, area);
	return 0;
}

/*
 * The kallsyms function at an address between two areas, the second of which is `behind`. kallsyms
 * has no sizes: a function ends where another one, or an area, begins.
 */
static const struct kernel_symbol *find_unchanged(const struct kernel_code *code,
						  const struct kallsyms *kallsyms, size_t behind,
						  uint64_t address, uint64_t *ret_size)
{
	const struct kernel_symbol *found = kallsyms_find(kallsyms, address, ret_size);
	uint64_t room;

	if (!found || (behind && found->address < code->list[behind - 1].end))
		return NULL;
	if (behind < code->n) {
		room = code->list[behind].start - found->address;
		*ret_size = room < *ret_size ? room : *ret_size;
	}
	return found;
}

uint64_t kernel_code_state(const struct kernel_code *code, const struct kallsyms *kallsyms,
			   uint64_t address)
{
	size_t i = find_behind(code, address);
	uint64_t size;

	if (i < code->n && code->list[i].start <= address)
		return code->list[i].version;
	return i == 0 || find_unchanged(code, kallsyms, i, address, &size) ? AS_IN_KALLSYMS
									   : NOT_IN_KALLSYMS;
}

static bool name_in_area(const struct kernel_area *area, uint64_t address, struct kernel_name *ret)
{
	if (!holds_code(area) || address < area->code_start ||
	    address - area->code_start >= area->code_size)
		return false;
	*ret = (struct kernel_name){
		.start = area->code_start,
		.size = area->code_size,
		.name = area->name,
		.module = area->module,
	};
	return true;
}

bool kernel_code_name(const struct kernel_code *code, const struct kallsyms *kallsyms,
		      uint64_t address, struct kernel_name *ret)
{
	size_t i = find_behind(code, address);
	const struct kernel_symbol *found;
	uint64_t size;

	if (i < code->n && code->list[i].start <= address)
		return name_in_area(&code->list[i], address, ret);
	found = find_unchanged(code, kallsyms, i, address, &size);
	if (!found)
		return false;
	*ret = (struct kernel_name){ found->address, size, found->name, found->module };
	return true;
}
