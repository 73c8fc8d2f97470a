/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compiles unwind tables. Each FDE is cut to the code that it alone describes, the pieces are
 * sorted by file offset, and their programs are run: rows come out in their final order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/base/hash.h"
#include "common/unwind/cfi-program.h"
#include "common/unwind/unwind-dropped.h"
#include "common/unwind/unwind-inferred.h"
#include "common/unwind/unwind-popped.h"
#include "common/unwind/unwind-table.h"

/* Slots probed for a rule; only rules crafted to collide would need more. */
enum { RULE_PROBES_MAX = 128 };

enum { WORD = 8 }; /* bytes that a call pushes */

/* Code that one FDE describes, as file offsets. */
struct piece {
	const struct cfi *cfi;
	const struct cfi_description *description;
	uint64_t from, to;
	uint64_t bias; /* of an address: offset = address + bias */
};

struct table_builder {
	const struct unwind_source *source;
	struct cfi *cfis; /* one per section */
	struct piece *pieces;
	size_t n_pieces;
	const struct piece *piece; /* the one being run */
	struct popped_fp popped;   /* in it */
	struct unwind_rule last;   /* the piece's last row, at last_at */
	uint64_t last_at;
	bool has_last;
	struct unwind_inferred made;	  /* for code without a piece */
	size_t n_inferred_used;		  /* rows of `made` used so far */
	const struct unwind_rule *better; /* overrides all rules of `piece`; NULL: none */
	struct unwind_rule *rules;
	size_t n_rules, n_rules_allocated;
	uint16_t *by_rule; /* hash table, open addressing: index + 1 */
	size_t n_slots;
	uint64_t first_page;
	uint32_t *pages;
	size_t n_pages, n_pages_allocated;
	uint16_t *lows, *which;
	size_t n_rows;
	uint64_t n_refused;
};

static void builder_deinit(struct table_builder *builder)
{
	for (size_t i = 0; builder->cfis && i < builder->source->n_sections; i++)
		cfi_deinit(&builder->cfis[i]);
	free(builder->cfis);
	free(builder->pieces);
	unwind_inferred_deinit(&builder->made);
	free(builder->rules);
	free(builder->by_rule);
	free(builder->pages);
	free(builder->lows);
	free(builder->which);
}

static uint64_t hash_rule(const struct unwind_rule *rule)
{
	uint64_t words[sizeof(*rule) / sizeof(uint64_t)], hash = 0;

	_Static_assert(sizeof(words) == sizeof(*rule), "a rule is whole words, without padding");
	memcpy(words, rule, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		hash = hash_word(hash, words[i]) ^ hash >> 29;
	return hash ^ hash >> 32;
}

/* Returns the slot of a rule in the hash table, used or free; NULL: too many others are there. */
static uint16_t *find_slot(const struct table_builder *builder, const struct unwind_rule *rule)
{
	size_t mask = builder->n_slots - 1, first = hash_rule(rule) & mask;

	for (size_t i = first; i < first + RULE_PROBES_MAX; i++) {
		uint16_t *slot = &builder->by_rule[i & mask];

		if (!*slot || !memcmp(&builder->rules[*slot - 1], rule, sizeof(*rule)))
			return slot;
	}
	return NULL;
}

static int reserve_rule(struct table_builder *builder)
{
	size_t n_before = builder->n_rules_allocated;

	if (GROWING_LIST_RESERVE(builder->rules, builder->n_rules_allocated, 512,
				 builder->n_rules + 1) < 0)
		return -ENOMEM;
	if (builder->n_rules_allocated == n_before)
		return 0;
	free(builder->by_rule);
	builder->n_slots = builder->n_rules_allocated * 4;
	builder->by_rule = calloc(builder->n_slots, sizeof(*builder->by_rule));
	if (!builder->by_rule)
		return -ENOMEM;
	for (size_t i = 0; i < builder->n_rules; i++) {
		uint16_t *slot = find_slot(builder, &builder->rules[i]);

		if (slot)
			*slot = i + 1;
	}
	return 0;
}

/* Finds or adds a rule. Rule 0 is FALLBACK, which also stands for rules beyond the limits. */
static int intern_rule(struct table_builder *builder, const struct unwind_rule *rule, uint16_t *ret)
{
	uint16_t *slot;
	int r = reserve_rule(builder);

	if (r < 0)
		return r;
	slot = find_slot(builder, rule);
	if (slot && !*slot && builder->n_rules < UNWIND_RULES_MAX) {
		builder->rules[builder->n_rules++] = *rule;
		*slot = builder->n_rules;
	}
	*ret = slot && *slot ? *slot - 1 : 0;
	return 0;
}

static int push_row(struct table_builder *builder, uint16_t low, uint16_t rule)
{
	if (GROWING_LIST_MAKE_ROOM(builder->lows, builder->n_rows) < 0 ||
	    GROWING_LIST_MAKE_ROOM(builder->which, builder->n_rows) < 0)
		return -ENOMEM;
	builder->lows[builder->n_rows] = low;
	builder->which[builder->n_rows++] = rule;
	return 0;
}

/* Begins pages up to `page`; the rule at the end of one holds in the next. */
static int begin_pages(struct table_builder *builder, uint64_t page)
{
	int r = GROWING_LIST_RESERVE(builder->pages, builder->n_pages_allocated, 64, page + 1);

	while (r == 0 && builder->n_pages <= page) {
		uint16_t rule =
			builder->n_rows ? builder->which[builder->n_rows - 1] : UNWIND_RULE_NONE;

		builder->pages[builder->n_pages++] = builder->n_rows;
		r = push_row(builder, 0, rule);
	}
	return r;
}

/* Makes a rule hold from an offset on, which never decreases; the last rule at an offset counts. */
static int append(struct table_builder *builder, uint64_t offset, uint16_t rule)
{
	uint64_t page = offset / UNWIND_PAGE_SIZE - builder->first_page;
	uint16_t low = offset % UNWIND_PAGE_SIZE;
	size_t last;
	int r = 0;

	if (page >= builder->n_pages)
		r = begin_pages(builder, page);
	if (r < 0)
		return r;
	last = builder->n_rows - 1;
	if (builder->lows[last] == low)
		builder->which[last] = rule;
	else if (builder->which[last] != rule)
		r = push_row(builder, low, rule);
	return r;
}

static int append_rule(struct table_builder *builder, uint64_t address,
		       const struct unwind_rule *rule)
{
	const struct piece *piece = builder->piece;
	uint64_t first = piece->from - piece->bias, end = piece->to - piece->bias;
	uint16_t index;
	int r;

	if (builder->better)
		rule = builder->better;
	if (address >= end)
		return 0;
	if (address < first) /* the row may even be before the start of the file */
		address = first;
	r = intern_rule(builder, rule, &index);
	return r < 0 ? r : append(builder, address + piece->bias, index);
}

/* Gives another rule to the last `n` bytes of the previous row, which ends at `end`. */
static int split_last(struct table_builder *builder, uint64_t end, uint64_t n,
		      const struct unwind_rule *rule)
{
	uint64_t from = end - n > builder->last_at ? end - n : builder->last_at;

	return append_rule(builder, from, rule);
}

/*
 * While libgcc installs an exception's handler, it overwrites what it saved of its caller, frame
 * pointer and return address included, with the values for the handler's function.
 */
static int lose_installing(struct table_builder *builder, const struct unwind_rule *rule,
			   uint64_t address)
{
	const struct unwind_source *source = builder->source;
	uint64_t offset = address + builder->piece->bias, install = 0;
	const struct unwind_rule lost = { .cfa = UNWIND_CFA_LOST, .flags = UNWIND_FLAG_INFERRED };

	if (builder->has_last && source->code && source->arch->find_install)
		install = source->arch->find_install(rule, source->code, offset);
	return install ? split_last(builder, address, offset - install, &lost) : 0;
}

/* In a realigned function the pop comes before the row that shows the frame's end. */
static int infer_popped(struct table_builder *builder, struct unwind_rule *rule, uint64_t address)
{
	const struct unwind_source *source = builder->source;
	struct unwind_rule last = builder->last;
	size_t n = popped_fp_infer(&builder->popped, source->arch, source->code,
				   address + builder->piece->bias, rule);

	if (!n || !builder->has_last)
		return 0;
	popped_fp_set(&last);
	return split_last(builder, address, n, &last);
}

static int add_row(uint64_t address, const struct unwind_rule *rule, void *arg)
{
	struct table_builder *builder = arg;
	struct unwind_rule inferred = *rule;
	int r = infer_popped(builder, &inferred, address);

	if (r == 0)
		r = lose_installing(builder, rule, address);
	builder->last = inferred;
	builder->last_at = address;
	builder->has_last = true;
	return r < 0 ? r : append_rule(builder, address, &inferred);
}

static const uint8_t *code_of_thunk(const struct table_builder *builder)
{
	const struct unwind_source *source = builder->source;
	uint64_t size = builder->piece->to - builder->piece->from;

	if (!source->code || !source->arch->find_thunk || size < UNWIND_THUNK_MIN ||
	    size > UNWIND_THUNK_MAX)
		return NULL;
	if (!builder->has_last || builder->last.cfa != UNWIND_CFA_SP ||
	    builder->last.cfa_offset < WORD || builder->last.cfa_offset > 2 * WORD)
		return NULL;
	return unwind_code_before(source->code, builder->piece->to, size);
}

/*
 * Adds what clang leaves out about a thunk's push, and gcc about the end of __x86_return_thunk.
 * Called after all rows of a piece.
 */
static int infer_thunk(struct table_builder *builder)
{
	const struct piece *piece = builder->piece;
	const uint8_t *code = code_of_thunk(builder);
	uint64_t start = piece->from - piece->bias, size = piece->to - piece->from;
	struct unwind_rule rule = builder->last;
	struct unwind_thunk thunk;
	int r = 0;

	if (!code || !builder->source->arch->find_thunk(code, size, &thunk))
		return 0;
	rule.flags |= UNWIND_FLAG_INFERRED | UNWIND_FLAG_CONTRADICTS;
	if (builder->last_at < start + thunk.from) {
		rule.cfa_offset += WORD;
		r = append_rule(builder, start + thunk.from, &rule);
	}
	rule.cfa_offset -= WORD;
	return r < 0 || thunk.to == size ? r : append_rule(builder, start + thunk.to, &rule);
}

/* Adds an FDE's code from `from` up to, not including, `to`. */
static void add_piece(struct table_builder *builder, const struct cfi *cfi,
		      const struct cfi_description *description, uint64_t from, uint64_t to)
{
	const struct unwind_segment *segment = unwind_source_segment(builder->source, from);
	struct piece *piece = &builder->pieces[builder->n_pieces];

	if (!segment) {
		builder->n_refused++;
		return;
	}
	if (to - segment->address > segment->size)
		to = segment->address + segment->size;
	piece->cfi = cfi;
	piece->description = description;
	piece->bias = segment->offset - segment->address;
	piece->from = from + piece->bias;
	piece->to = to + piece->bias;
	builder->n_pieces++;
}

/* Where an FDE ends. Of overlapping FDEs the later one counts from its start. */
static uint64_t end_of(const struct cfi *cfi, size_t i)
{
	uint64_t end = cfi->list[i].end;

	return i + 1 < cfi->n && cfi->list[i + 1].start < end ? cfi->list[i + 1].start : end;
}

/* Adds the parts of an FDE that the section before does not cover. */
static void add_uncovered(struct table_builder *builder, const struct cfi *cfi, size_t i,
			  const struct cfi *before, size_t *next)
{
	uint64_t from = cfi->list[i].start, to = end_of(cfi, i);
	size_t n_pieces_max = builder->n_pieces + UNWIND_PIECES_MAX;

	while (*next < before->n && end_of(before, *next) <= from)
		++*next;
	for (size_t k = *next; from < to; k++) {
		uint64_t gap_end =
			k < before->n && before->list[k].start < to ? before->list[k].start : to;

		if (gap_end > from && builder->n_pieces == n_pieces_max) {
			builder->n_refused++;
			break;
		}
		if (gap_end > from)
			add_piece(builder, cfi, &cfi->list[i], from, gap_end);
		if (k >= before->n || gap_end == to)
			break;
		from = end_of(before, k);
	}
}

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *left = a, *right = b;

	return left->from < right->from ? -1 : left->from > right->from;
}

static void sort_pieces(struct table_builder *builder)
{
	for (size_t i = 1; i < builder->n_pieces; i++) {
		if (builder->pieces[i].from >= builder->pieces[i - 1].from)
			continue;
		qsort(builder->pieces, builder->n_pieces, sizeof(*builder->pieces), compare_pieces);
		return;
	}
}

/* Reads all sections, and cuts their FDEs into pieces. */
static int find_pieces(struct table_builder *builder)
{
	const struct unwind_source *source = builder->source;
	static const struct cfi nothing = { 0 };
	size_t n_most = 0;

	builder->cfis = calloc(source->n_sections + 1, sizeof(*builder->cfis));
	if (!builder->cfis)
		return -ENOMEM;
	for (size_t i = 0; i < source->n_sections; i++) {
		int r = cfi_read(&source->sections[i], &builder->cfis[i]);

		if (r < 0)
			return r;
		builder->n_refused += builder->cfis[i].n_refused +
				      unwind_source_drop_others(source, &builder->cfis[i]);
		/* One per FDE, and one more for each gap in the section before. */
		n_most += builder->cfis[i].n + (i ? builder->cfis[i - 1].n : 0);
	}
	builder->pieces = calloc(n_most + 1, sizeof(*builder->pieces));
	if (!builder->pieces)
		return -ENOMEM;
	for (size_t i = 0; i < source->n_sections; i++) {
		const struct cfi *cfi = &builder->cfis[i];
		size_t next = 0;

		for (size_t k = 0; k < cfi->n; k++)
			add_uncovered(builder, cfi, k, i ? &builder->cfis[i - 1] : &nothing, &next);
	}
	sort_pieces(builder);
	return 0;
}

static bool is_in_table(const struct table_builder *builder, uint64_t to)
{
	return to / UNWIND_PAGE_SIZE - builder->first_page < UNWIND_PAGES_MAX;
}

/* Adds the inferred rules of a part of the file without pieces. */
static int fill_gap(struct table_builder *builder, uint64_t from, uint64_t to)
{
	const struct unwind_inferred *made = &builder->made;
	int r = 0;

	for (; builder->n_inferred_used < made->n && r == 0; builder->n_inferred_used++) {
		const struct unwind_inferred_row *row = &made->list[builder->n_inferred_used];
		uint64_t first = row->from > from ? row->from : from;
		uint64_t end = row->to < to ? row->to : to;
		uint16_t index;

		if (row->from >= to)
			break;
		if (first < end && is_in_table(builder, end)) {
			r = intern_rule(builder, &row->rule, &index);
			if (r == 0)
				r = append(builder, first, index);
			if (r == 0)
				r = append(builder, end, UNWIND_RULE_NONE);
		}
		if (row->to > to)
			break;
	}
	return r;
}

static uint64_t find_first_offset(const struct table_builder *builder)
{
	uint64_t piece = builder->n_pieces ? builder->pieces[0].from : UINT64_MAX;
	uint64_t made = builder->made.n ? builder->made.list[0].from : UINT64_MAX;

	return piece < made ? piece : made;
}

static int run_pieces(struct table_builder *builder)
{
	const struct cfi_rows rows = { add_row, builder };
	uint64_t end = 0;
	int r = 0;

	builder->n_refused += builder->made.n_refused;
	builder->first_page = find_first_offset(builder) / UNWIND_PAGE_SIZE;
	if (!builder->n_pieces && !builder->made.n)
		builder->first_page = 0;
	for (size_t i = 0; i < builder->n_pieces && r == 0; i++) {
		struct piece *piece = &builder->pieces[i];

		if (piece->from < end) /* two segments of the same part of the file */
			piece->from = end;
		if (piece->from >= piece->to || !is_in_table(builder, piece->to)) {
			builder->n_refused++;
			continue;
		}
		r = fill_gap(builder, end, piece->from);
		if (r < 0)
			break;
		builder->piece = piece;
		builder->popped = (struct popped_fp){ 0 };
		builder->has_last = false;
		builder->better = unwind_inferred_better(&builder->made, piece->from);
		end = piece->to;
		r = cfi_run(piece->cfi, piece->description, builder->source->arch, &rows);
		if (r == 0)
			r = infer_thunk(builder);
		if (r == 0)
			r = append(builder, piece->to, UNWIND_RULE_NONE);
	}
	return r < 0 ? r : fill_gap(builder, end, UINT64_MAX);
}

static void *put(void *at, const void *data, size_t size)
{
	if (size) /* `data` may be NULL then */
		memcpy(at, data, size);
	return (char *)at + size;
}

/* Copies all parts into one block of memory. */
static int assemble(const struct table_builder *builder, struct unwind_table *ret)
{
	const struct unwind_table_header header = {
		.first_page = builder->first_page,
		.n_pages = builder->n_pages,
		.n_rows = builder->n_rows,
		.n_rules = builder->n_rules,
		.n_refused = builder->n_refused,
	};
	const uint32_t n_rows = builder->n_rows;
	size_t size = sizeof(header) + builder->n_rules * sizeof(*builder->rules) +
		      (builder->n_pages + 1) * sizeof(n_rows) +
		      builder->n_rows * (sizeof(*builder->lows) + sizeof(*builder->which));
	void *memory = malloc(size), *at = memory;

	if (!memory)
		return -ENOMEM;
	at = put(at, &header, sizeof(header));
	at = put(at, builder->rules, builder->n_rules * sizeof(*builder->rules));
	at = put(at, builder->pages, builder->n_pages * sizeof(*builder->pages));
	at = put(at, &n_rows, sizeof(n_rows));
	at = put(at, builder->lows, builder->n_rows * sizeof(*builder->lows));
	put(at, builder->which, builder->n_rows * sizeof(*builder->which));
	unwind_table_view(memory, size, ret);
	return 0;
}

int unwind_table_compile(const struct unwind_source *source, struct unwind_table *ret)
{
	static const struct unwind_rule fallback = { .cfa = UNWIND_CFA_FALLBACK };
	_cleanup_(builder_deinit) struct table_builder builder = { .source = source };
	uint16_t index;
	int r = intern_rule(&builder, &fallback, &index);

	if (r == 0)
		r = find_pieces(&builder);
	if (r == 0)
		r = unwind_inferred_find(source, &builder.made);
	if (r == 0)
		r = run_pieces(&builder);
	return r < 0 ? r : assemble(&builder, ret);
}

void unwind_table_deinit(struct unwind_table *table)
{
	free((void *)table->header);
	*table = (struct unwind_table){ 0 };
}

/* Bytes of all parts; 0: the header's numbers are impossible. */
static size_t size_of(const struct unwind_table_header *header)
{
	if (header->n_pages > UNWIND_PAGES_MAX || header->n_rules > UNWIND_RULES_MAX)
		return 0;
	return sizeof(*header) + header->n_rules * sizeof(struct unwind_rule) +
	       (header->n_pages + 1) * sizeof(uint32_t) +
	       (size_t)header->n_rows * 2 * sizeof(uint16_t);
}

bool unwind_table_view(const void *bytes, size_t size, struct unwind_table *ret)
{
	const struct unwind_table_header *header = bytes;
	struct unwind_table table;

	if (size < sizeof(*header) || size_of(header) != size)
		return false;
	table = unwind_table_parts(header, size);
	for (uint32_t i = 0; i < header->n_pages; i++)
		if (table.pages[i] > table.pages[i + 1])
			return false;
	if (table.pages[header->n_pages] != header->n_rows)
		return false;
	*ret = table;
	return true;
}
