/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/json.h"
#include "common/base/sum.h"
#include "stackpipe/diff/folded-counts.h"

static struct folded_function *find(struct folded_counts *counts, const char *name)
{
	struct folded_function *function;

	HASH_FIND_STR(counts->by_name, name, function);
	if (function)
		return function;
	function = calloc(1, sizeof(*function) + strlen(name) + 1);
	if (!function)
		return NULL;
	strcpy(function->name, name);
	HASH_ADD_STR(counts->by_name, name, function);
	if (HASH_HAS(hh, function))
		return function;
	free(function);
	return NULL;
}

/* The first name of a line is the thread's and is skipped. */
static int add_line(struct folded_counts *counts, char *line, uint64_t n, int side)
{
	struct folded_function *function = NULL;
	char *rest = line;

	strsep(&rest, ";");
	counts->n_lines++;
	sum_add(&counts->n[side], n);
	for (char *name; (name = strsep(&rest, ";"));) {
		function = find(counts, name);
		if (!function)
			return -ENOMEM;
		if (function->last_line == counts->n_lines)
			continue;
		function->last_line = counts->n_lines;
		sum_add(&function->total[side], n);
	}
	if (function)
		sum_add(&function->self[side], n);
	return 0;
}

int folded_counts_read(struct folded_counts *counts, FILE *in, int side)
{
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	int r = 0;

	while (r == 0 && getline(&line, &size, in) > 0) {
		char *blank = strrchr(line, ' ');

		if (!blank)
			continue;
		*blank = 0;
		r = add_line(counts, line, strtoull(blank + 1, NULL, 10), side);
	}
	return r < 0 ? r : ferror(in) ? -EIO : 0;
}

struct folded_function **folded_counts_list(const struct folded_counts *counts, size_t *ret_n)
{
	size_t n = HASH_COUNT(counts->by_name);
	struct folded_function **list = calloc(n + 1, sizeof(*list));
	struct folded_function *function, *next;

	*ret_n = 0;
	HASH_ITER(hh, counts->by_name, function, next)
	{
		if (list)
			list[(*ret_n)++] = function;
	}
	return list;
}

void folded_counts_put_functions(struct folded_function *const *list, size_t n, FILE *out)
{
	fputs("\"functions\":[", out);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? ",\n{\"function\":" : "\n{\"function\":", out);
		json_put_text(out, list[i]->name);
		fprintf(out,
			",\"self\":[%" PRIu64 ",%" PRIu64 "],\"total\":[%" PRIu64 ",%" PRIu64 "]}",
			list[i]->self[0], list[i]->self[1], list[i]->total[0], list[i]->total[1]);
	}
	fputs("]}\n", out);
}

void folded_counts_deinit(struct folded_counts *counts)
{
	struct folded_function *function, *next;

	HASH_ITER(hh, counts->by_name, function, next)
	{
		HASH_DEL(counts->by_name, function);
		free(function);
	}
}
