/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture-sink/syscap-tables.h"
#include "common/cleanup.h"

struct kernel_line {
	uint64_t address;
	uint64_t place; /* index of a named place */
	bool is_bound;	/* no name holds from here on, unless another line has this address */
};

struct kernel_lines {
	struct kernel_line *list;
	size_t n;
};

static void add_kernel_lines(uint64_t start, uint64_t size, uint64_t place, void *arg)
{
	struct kernel_lines *lines = arg;

	lines->list[lines->n++] = (struct kernel_line){ start, place, false };
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
	const struct named_place *place = &names->named_places[line->place];

	fprintf(out, "%016" PRIx64 " t %s", line->address,
		line->is_bound ? "unknown" : names_text(names, place->name));
	if (!line->is_bound && place->module)
		fprintf(out, "\t[%s]", names_text(names, place->module));
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
	if (!lines.n) /* Sysprof wants at least one byte */
		fputc('\n', out);
	return fclose(out) ? -ENOMEM : 0;
}

/* An entry of the table; Sysprof finds it by (pid, begin ≤ address < end). */
struct __attribute__((packed)) bundled_symbol {
	uint64_t begin, end;
	uint32_t pid, name, tag, padding;
};
_Static_assert(sizeof(struct bundled_symbol) == 32, "Sysprof's bundled symbol");

struct bundle {
	struct bundled_symbol *list;
	size_t n;
};

static void add_symbol(uint64_t pid, uint64_t address, uint64_t name, void *arg)
{
	struct bundle *bundle = arg;

	bundle->list[bundle->n++] = (struct bundled_symbol){
		.begin = address,
		.end = address + 1,
		.pid = pid,
		.name = name,
	};
}

static int compare_symbols(const void *a, const void *b)
{
	const struct bundled_symbol *left = a, *right = b;

	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return left->begin < right->begin ? -1 : left->begin > right->begin;
}

/*
 * Puts each text that is used into `texts` once, and the offset of it in the whole, whose texts
 * begin at `offset`, in the place of its number.
 */
static int place_texts(struct bundle *bundle, const struct names *names, size_t offset, FILE *texts)
{
	_cleanup_free_ uint32_t *offsets = calloc(names->n + 1, sizeof(*offsets));

	if (!offsets)
		return -ENOMEM;
	fputc(0, texts);
	offset++;
	for (size_t i = 0; i < bundle->n; i++) {
		uint32_t name = bundle->list[i].name;
		const char *text = names_text(names, name);

		if (!offsets[name]) {
			offsets[name] = offset;
			fwrite(text, strlen(text) + 1, 1, texts);
			offset += strlen(text) + 1;
		}
		bundle->list[i].name = offsets[name];
	}
	return 0;
}

int syscap_make_bundle(const struct pair_map *addresses, const struct names *names, char **ret,
		       size_t *ret_size)
{
	size_t table_size = (addresses->n + 1) * sizeof(struct bundled_symbol), texts_size;
	_cleanup_free_ struct bundled_symbol *list = calloc(1, table_size);
	_cleanup_free_ char *texts = NULL;
	struct bundle bundle = { .list = list };
	FILE *out = list ? open_memstream(&texts, &texts_size) : NULL;
	char *whole;
	int r;

	if (!out)
		return -ENOMEM;
	pair_map_each(addresses, add_symbol, &bundle);
	qsort(list, bundle.n, sizeof(*list), compare_symbols);
	r = place_texts(&bundle, names, table_size, out);
	if (fclose(out))
		r = -ENOMEM;
	whole = r == 0 ? malloc(table_size + texts_size) : NULL;
	if (!whole)
		return -ENOMEM;
	memcpy(whole, list, table_size); /* with the zero entry that ends it */
	memcpy(whole + table_size, texts, texts_size);
	*ret = whole;
	*ret_size = table_size + texts_size;
	return 0;
}
