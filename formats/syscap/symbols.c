/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/stream/syscap-format.h"
#include "formats/memory-stream.h"
#include "formats/syscap/symbols.h"

/* Sysprof finds an entry of the table by (pid, begin ≤ address < end). */
_Static_assert(sizeof(struct syscap_bundled_symbol) == 32, "Sysprof's bundled symbol");

struct symbol_bundle {
	struct syscap_bundled_symbol *list;
	size_t n;
};

/* A symbol of an ended process, in the file. */
struct ended_symbol {
	uint64_t address;
	uint32_t pid, name;
};

void syscap_symbols_init(struct syscap_symbols *symbols)
{
	pair_map_init(&symbols->living, SYSCAP_SYMBOLS_MAX);
	symbols->ended = tmpfile(); /* now, because the sandbox would forbid it later */
}

void syscap_symbols_deinit(struct syscap_symbols *symbols)
{
	pair_map_deinit(&symbols->living);
	if (symbols->ended)
		fclose(symbols->ended);
	*symbols = (struct syscap_symbols){ 0 };
}

struct putting_away {
	struct syscap_symbols *symbols;
	bool (*is_living)(uint64_t pid, void *arg);
	void *arg;
};

/* Symbols that cannot be moved stay in memory. */
static bool is_to_stay(uint64_t pid, uint64_t address, uint64_t name, void *arg)
{
	const struct putting_away *putting = arg;
	struct syscap_symbols *symbols = putting->symbols;
	struct ended_symbol symbol = { address, pid, name };

	if (putting->is_living(pid, putting->arg) || symbols->n_ended == SYSCAP_SYMBOLS_ENDED_MAX)
		return true;
	if (!symbols->ended || fwrite(&symbol, sizeof(symbol), 1, symbols->ended) != 1)
		return true;
	symbols->n_ended++;
	return false;
}

void syscap_symbols_put_away(struct syscap_symbols *symbols,
			     bool (*is_living)(uint64_t pid, void *arg), void *arg)
{
	struct putting_away putting = { symbols, is_living, arg };

	pair_map_prune(&symbols->living, is_to_stay, &putting);
}

static void add_symbol(uint64_t pid, uint64_t address, uint64_t name, void *arg)
{
	struct symbol_bundle *bundle = arg;

	bundle->list[bundle->n++] = (struct syscap_bundled_symbol){
		.begin = address,
		.end = address + 1,
		.pid = pid,
		.name = name,
	};
}

static int compare_symbols(const void *a, const void *b)
{
	const struct syscap_bundled_symbol *left = a, *right = b;

	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return left->begin < right->begin ? -1 : left->begin > right->begin;
}

static int add_ended(const struct syscap_symbols *symbols, struct symbol_bundle *bundle)
{
	struct ended_symbol symbol;

	if (!symbols->ended)
		return 0;
	rewind(symbols->ended);
	for (size_t i = 0; i < symbols->n_ended; i++) {
		if (fread(&symbol, sizeof(symbol), 1, symbols->ended) != 1)
			return -EIO;
		add_symbol(symbol.pid, symbol.address, symbol.name, bundle);
	}
	return 0;
}

/* Sorts and removes duplicates: a process sampled after its end has addresses twice. */
static void sort(struct symbol_bundle *bundle)
{
	size_t n = 0;

	if (bundle->n)
		qsort(bundle->list, bundle->n, sizeof(*bundle->list), compare_symbols);
	for (size_t i = 0; i < bundle->n; i++)
		if (!n || compare_symbols(&bundle->list[n - 1], &bundle->list[i]))
			bundle->list[n++] = bundle->list[i];
	for (size_t i = n; i < bundle->n; i++)
		bundle->list[i] = (struct syscap_bundled_symbol){ 0 };
	bundle->n = n;
}

/*
 * Writes each text in use to `texts` once. Replaces name numbers by offsets in the whole table,
 * where texts begin at `offset`.
 */
static int place_texts(struct symbol_bundle *bundle, const struct names *names, size_t offset,
		       FILE *texts)
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

int syscap_symbols_bundle(const struct syscap_symbols *symbols, const struct names *names,
			  char **ret, size_t *ret_size)
{
	size_t n_max = symbols->living.n + symbols->n_ended + 1, table_size, texts_size;
	_cleanup_free_ struct syscap_bundled_symbol *list = calloc(n_max, sizeof(*list));
	_cleanup_free_ char *texts = NULL;
	struct symbol_bundle bundle = { .list = list };
	FILE *out;
	char *whole;
	int r;

	if (!list)
		return -ENOMEM;
	pair_map_each(&symbols->living, add_symbol, &bundle);
	r = add_ended(symbols, &bundle);
	if (r < 0)
		return r;
	sort(&bundle);
	out = open_memstream(&texts, &texts_size);
	if (!out)
		return -ENOMEM;
	table_size = (bundle.n + 1) * sizeof(*list);
	r = place_texts(&bundle, names, table_size, out);
	r = memory_stream_close(out, &texts) ?: r;
	whole = r == 0 ? malloc(table_size + texts_size) : NULL;
	if (!whole)
		return -ENOMEM;
	memcpy(whole, list, table_size); /* including the zero entry that ends it */
	memcpy(whole + table_size, texts, texts_size);
	*ret = whole;
	*ret_size = table_size + texts_size;
	return 0;
}
