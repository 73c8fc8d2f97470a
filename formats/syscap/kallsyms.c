/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "formats/memory-stream.h"
#include "formats/syscap/kallsyms.h"

struct kernel_line {
	uint64_t address;
	uint64_t name; /* in the upper half that of its module, or 0 */
	bool is_bound; /* the end of a function, unless another one starts here */
};

struct kernel_lines {
	struct kernel_line *list;
	size_t n;
};

static void add_kernel_lines(uint64_t start, uint64_t size, uint64_t name, void *arg)
{
	struct kernel_lines *lines = arg;

	lines->list[lines->n++] = (struct kernel_line){ start, name, false };
	lines->list[lines->n++] = (struct kernel_line){ start + size, 0, true };
}

static int compare_lines(const void *a, const void *b)
{
	const struct kernel_line *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return left->is_bound - right->is_bound;
}

static void print_line(FILE *out, const struct kernel_line *line, const struct names *names)
{
	uint32_t name = line->name, module = line->name >> 32;

	fprintf(out, "%016" PRIx64 " t %s", line->address,
		line->is_bound ? "unknown" : names_text(names, name));
	if (module)
		fprintf(out, "\t[%s]", names_text(names, module));
	fputc('\n', out);
}

int syscap_make_kallsyms(const struct pair_map *kernel, const struct names *names, char **ret,
			 size_t *ret_size)
{
	_cleanup_free_ struct kernel_line *list = calloc(2 * kernel->n + 1, sizeof(*list));
	struct kernel_lines lines = { .list = list };
	FILE *out = list ? open_memstream(ret, ret_size) : NULL;

	if (!out)
		return -ENOMEM;
	pair_map_each(kernel, add_kernel_lines, &lines);
	qsort(list, lines.n, sizeof(*list), compare_lines);
	for (size_t i = 0; i < lines.n; i++)
		if (!i || list[i].address != list[i - 1].address)
			print_line(out, &list[i], names);
	if (!lines.n) /* Sysprof needs at least one byte */
		fputc('\n', out);
	return memory_stream_close(out, ret);
}
