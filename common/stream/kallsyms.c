/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/binary-search.h"
#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/file/gzip.h"
#include "common/stream/kallsyms.h"

void kallsyms_deinit(struct kallsyms *kallsyms)
{
	free(kallsyms->file);
	free(kallsyms->text);
	free(kallsyms->list);
	*kallsyms = (struct kallsyms){ 0 };
}

int kallsyms_add(struct kallsyms *kallsyms, const void *data, size_t size)
{
	if (size > KALLSYMS_TEXT_MAX - kallsyms->size)
		return -EFBIG;
	if (GROWING_LIST_RESIZE(kallsyms->file, kallsyms->size + size + 1) < 0)
		return -ENOMEM;
	memcpy(kallsyms->file + kallsyms->size, data, size);
	kallsyms->size += size;
	kallsyms->file[kallsyms->size] = 0;
	return 0;
}

/* Parses 16 hexadecimal digits. There are 100,000 lines, and strtoull() is slower by half. */
static bool parse_address(const char *text, uint64_t *ret)
{
	*ret = 0;
	for (int i = 0; i < 16; i++) {
		char digit = text[i];

		if (digit >= '0' && digit <= '9')
			*ret = *ret << 4 | (digit - '0');
		else if (digit >= 'a' && digit <= 'f')
			*ret = *ret << 4 | (digit - 'a' + 10);
		else
			return false;
	}
	return true;
}

/* "ffffffff81000000 T _text\n", "… t name\t[module]\n": splits the line in place. */
static bool parse_line(char *line, struct kernel_symbol *ret)
{
	char *end = line + 16, *module;

	if (!parse_address(line, &ret->address) || end[0] != ' ' || !end[1] ||
	    !strchr("tTwW", end[1]) || end[2] != ' ' || !end[3] || end[3] == '\t')
		return false;
	ret->name = end + 3;
	module = strchr(end + 3, '\t');
	ret->module = "";
	if (module) {
		*module++ = 0;
		if (*module == '[') {
			module++;
			module[strcspn(module, "]")] = 0;
		}
		ret->module = module;
	}
	return true;
}

static int add_symbol(struct kallsyms *kallsyms, const struct kernel_symbol *symbol)
{
	if (kallsyms->n == KALLSYMS_MAX) {
		kallsyms->n_refused++;
		return 0;
	}
	return GROWING_LIST_ADD(kallsyms->list, kallsyms->n, *symbol);
}

static int compare(const void *a, const void *b)
{
	const struct kernel_symbol *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return left->name < right->name ? -1 : left->name > right->name; /* file order */
}

/* The file is sorted except for modules. */
static bool is_sorted(const struct kallsyms *kallsyms)
{
	for (size_t i = 1; i < kallsyms->n; i++)
		if (kallsyms->list[i].address < kallsyms->list[i - 1].address)
			return false;
	return true;
}

/* Decompresses the file into `text` if necessary. 0, -EBADMSG or -ENOMEM. */
static int unfold(struct kallsyms *kallsyms)
{
	_cleanup_free_ char *file = take_pointer(kallsyms->file);
	size_t size = kallsyms->size;

	kallsyms->size = 0;
	if (!file)
		return -EBADMSG;
	if (gzip_is_compressed(file, size))
		return gzip_decompress(file, size, KALLSYMS_TEXT_MAX, &kallsyms->text, &size);
	kallsyms->text = take_pointer(file);
	return 0;
}

int kallsyms_finish(struct kallsyms *kallsyms)
{
	struct kernel_symbol symbol;
	char *line, *rest;
	int r;

	if (kallsyms->text)
		return 0;
	r = unfold(kallsyms);
	if (r < 0)
		return r;
	rest = kallsyms->text;
	while ((line = strsep(&rest, "\n")) && r == 0)
		if (parse_line(line, &symbol))
			r = add_symbol(kallsyms, &symbol);
	if (!is_sorted(kallsyms))
		qsort(kallsyms->list, kallsyms->n, sizeof(*kallsyms->list), compare);
	return r;
}

/*
 * The file does not give the end of the last function. Where a kernel has no modules, a BPF program
 * is last; code behind it is reported by PERF_RECORD_KSYMBOL, so a guessed size is safe.
 */
static uint64_t size_of_last(const struct kernel_symbol *symbol)
{
	return !strcmp(symbol->module, "bpf") ? KALLSYMS_LAST_BPF_SIZE : 0;
}

const struct kernel_symbol *kallsyms_find(const struct kallsyms *kallsyms, uint64_t address,
					  uint64_t *ret_size)
{
	size_t low = BINARY_SEARCH(i, 0, kallsyms->n, kallsyms->list[i].address <= address);

	if (low == 0)
		return NULL;
	*ret_size = low < kallsyms->n
			    ? kallsyms->list[low].address - kallsyms->list[low - 1].address
			    : size_of_last(&kallsyms->list[low - 1]);
	if (address - kallsyms->list[low - 1].address >= *ret_size)
		return NULL;
	/* Of several names for one address, take the first in the file. */
	while (low > 1 && kallsyms->list[low - 2].address == kallsyms->list[low - 1].address)
		low--;
	return &kallsyms->list[low - 1];
}

/* "ffffffff81000000 T name" */
static bool is_line_of(const char *line, size_t size, const char *name)
{
	size_t name_size = strlen(name);

	return size > name_size && line[size - name_size - 1] == ' ' &&
	       !memcmp(line + size - name_size, name, name_size);
}

/* Looks for the function's line, then for the next higher address, where the function ends. */
static void match(struct kallsyms_range *range, const char *line, size_t size)
{
	if (range->end)
		return;
	if (!range->start && is_line_of(line, size, range->name)) {
		range->start = strtoull(line, NULL, 16);
	} else if (range->start) {
		uint64_t address = strtoull(line, NULL, 16);

		range->end = address > range->start ? address : 0;
	}
}

void kallsyms_find_ranges(const char *text, size_t size, struct kallsyms_range *ranges, size_t n)
{
	const char *end = text + size, *line_end;

	for (; text < end && (line_end = memchr(text, '\n', end - text)); text = line_end + 1)
		for (size_t i = 0; i < n; i++)
			match(&ranges[i], text, line_end - text);
}
