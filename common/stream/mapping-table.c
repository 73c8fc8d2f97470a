/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/binary-search.h"
#include "common/stream/mapping-table.h"

const struct mapping_table mapping_table_empty;

/* The cached result of mapping_table_any(). */
struct mapping_lookup {
	uint64_t question; /* 0: none yet */
	bool is_yes;
};

/* Shared chunks and indexes are immutable except for `answer`. */
struct mapping_chunk {
	uint32_t n_references;
	uint32_t n; /* at least 1 */
	struct mapping_lookup answer;
	struct mapping list[];
};

struct mapping_index {
	uint32_t n_references;
	uint32_t n; /* chunks, at least 1 */
	struct mapping_lookup answer;
	struct {
		uint64_t end; /* of the chunk's last mapping */
		struct mapping_chunk *chunk;
	} list[];
};

/* A mapping, or the end of a chunk. */
struct position {
	size_t chunk, at;
};

enum {
	CHUNKS_MADE_MAX = 4, /* of the rest of two chunks, and three parts */
	/* Smaller chunks are merged with a neighbour, to keep their number low. */
	CHUNK_SMALL = MAPPING_CHUNK_MAX / 4,
};

static size_t chunk_size(const struct mapping_chunk *chunk)
{
	return sizeof(*chunk) + chunk->n * sizeof(*chunk->list);
}

static size_t index_size(const struct mapping_index *index)
{
	return sizeof(*index) + index->n * sizeof(*index->list);
}

static void charge(struct mapping_pool *pool, size_t size)
{
	if (pool)
		pool->n_bytes += size;
}

static void release(struct mapping_pool *pool, size_t size)
{
	if (pool)
		pool->n_bytes -= size;
}

static void drop_chunk(struct mapping_pool *pool, struct mapping_chunk *chunk)
{
	if (--chunk->n_references)
		return;
	release(pool, chunk_size(chunk));
	free(chunk);
}

static void drop_index(struct mapping_pool *pool, struct mapping_index *index)
{
	if (!index || --index->n_references)
		return;
	for (size_t i = 0; i < index->n; i++)
		drop_chunk(pool, index->list[i].chunk);
	release(pool, index_size(index));
	free(index);
}

void mapping_table_deinit(struct mapping_table *table)
{
	drop_index(table->pool, table->index);
	table->index = NULL;
	table->n = 0;
}

void mapping_table_share(struct mapping_table *table, const struct mapping_table *from)
{
	if (from->index)
		from->index->n_references++;
	drop_index(table->pool, table->index);
	*table = *from;
}

static size_t find_chunk(const struct mapping_index *index, uint64_t address)
{
	return BINARY_SEARCH(i, 0, index->n, index->list[i].end <= address);
}

static size_t find_in_chunk(const struct mapping_chunk *chunk, uint64_t address)
{
	return BINARY_SEARCH(i, 0, chunk->n, chunk->list[i].end <= address);
}

const struct mapping *mapping_table_next(const struct mapping_table *table, uint64_t address)
{
	const struct mapping_chunk *chunk;
	size_t i;

	if (!table->index)
		return NULL;
	i = find_chunk(table->index, address);
	if (i == table->index->n)
		return NULL;
	chunk = table->index->list[i].chunk;
	return &chunk->list[find_in_chunk(chunk, address)];
}

const struct mapping *mapping_table_find(const struct mapping_table *table, uint64_t address)
{
	const struct mapping *mapping = mapping_table_next(table, address);

	return mapping && mapping->start <= address ? mapping : NULL;
}

const struct mapping *mapping_table_previous(const struct mapping_table *table, uint64_t address)
{
	const struct mapping_chunk *chunk;
	size_t i, at;

	if (!table->index)
		return NULL;
	i = find_chunk(table->index, address);
	at = i < table->index->n ? find_in_chunk(table->index->list[i].chunk, address) : 0;
	if (at)
		return &table->index->list[i].chunk->list[at - 1];
	if (!i)
		return NULL;
	chunk = table->index->list[i - 1].chunk;
	return &chunk->list[chunk->n - 1];
}

size_t mapping_table_memory(const struct mapping_table *table)
{
	const struct mapping_index *index = table->index;
	size_t size = index ? index_size(index) : 0;

	for (size_t i = 0; index && i < index->n; i++)
		size += chunk_size(index->list[i].chunk) / index->list[i].chunk->n_references;
	return index ? size / index->n_references : 0;
}

static bool any_in_chunk(struct mapping_chunk *chunk, uint64_t question,
			 bool (*is)(const struct mapping *mapping, void *arg), void *arg)
{
	if (chunk->answer.question == question)
		return chunk->answer.is_yes;
	chunk->answer = (struct mapping_lookup){ question, false };
	for (size_t i = 0; i < chunk->n; i++)
		chunk->answer.is_yes |= is(&chunk->list[i], arg);
	return chunk->answer.is_yes;
}

bool mapping_table_any(const struct mapping_table *table, uint64_t question,
		       bool (*is)(const struct mapping *mapping, void *arg), void *arg)
{
	struct mapping_index *index = table->index;

	if (!index)
		return false;
	if (index->answer.question == question)
		return index->answer.is_yes;
	index->answer = (struct mapping_lookup){ question, false };
	for (size_t i = 0; i < index->n; i++)
		index->answer.is_yes |= any_in_chunk(index->list[i].chunk, question, is, arg);
	return index->answer.is_yes;
}

/* Replaces one or more chunks. */
struct change {
	size_t first, last; /* the chunks [first, last) are removed */
	struct mapping list[2 * MAPPING_CHUNK_MAX + 3 + CHUNK_SMALL];
	size_t n;
	struct mapping_chunk *made[CHUNKS_MADE_MAX];
	size_t n_made;
};

static void take(struct change *change, const struct mapping *list, size_t n)
{
	memcpy(change->list + change->n, list, n * sizeof(*list));
	change->n += n;
}

/* 0 or -ENOMEM. Splits evenly, so that no new chunk is full at once. */
static int make_chunks(struct change *change)
{
	size_t n_chunks = (change->n + MAPPING_CHUNK_MAX - 1) / MAPPING_CHUNK_MAX, taken = 0;

	for (size_t i = 0; i < n_chunks; i++) {
		size_t n = (change->n - taken) / (n_chunks - i);
		struct mapping_chunk *chunk = malloc(sizeof(*chunk) + n * sizeof(*chunk->list));

		if (!chunk)
			return -ENOMEM;
		chunk->n_references = 1;
		chunk->answer = (struct mapping_lookup){ 0 };
		chunk->n = n;
		memcpy(chunk->list, change->list + taken, n * sizeof(*chunk->list));
		change->made[change->n_made++] = chunk;
		taken += n;
	}
	return 0;
}

static void put_chunk(struct mapping_index *index, struct mapping_chunk *chunk)
{
	index->list[index->n].end = chunk->list[chunk->n - 1].end;
	index->list[index->n++].chunk = chunk;
}

/* Makes the index after a change; NULL if the table becomes empty. 0 or -ENOMEM. */
static int make_index(const struct mapping_index *old, const struct change *change,
		      struct mapping_index **ret)
{
	size_t n_old = old ? old->n : 0;
	size_t n = n_old - (change->last - change->first) + change->n_made;
	struct mapping_index *index;

	*ret = NULL;
	if (!n)
		return 0;
	index = malloc(sizeof(*index) + n * sizeof(*index->list));
	if (!index)
		return -ENOMEM;
	index->n_references = 1;
	index->answer = (struct mapping_lookup){ 0 };
	index->n = 0;
	for (size_t i = 0; i < change->first; i++)
		put_chunk(index, old->list[i].chunk);
	for (size_t i = 0; i < change->n_made; i++)
		put_chunk(index, change->made[i]);
	for (size_t i = change->last; i < n_old; i++)
		put_chunk(index, old->list[i].chunk);
	*ret = index;
	return 0;
}

/* Changes an unshared index in place, if as many chunks are added as are removed. */
static bool swap_chunks(struct mapping_table *table, const struct change *change)
{
	struct mapping_index *index = table->index;

	if (!index || index->n_references > 1 || change->n_made != change->last - change->first)
		return false;
	index->answer = (struct mapping_lookup){ 0 };
	for (size_t i = 0; i < change->n_made; i++) {
		struct mapping_chunk *made = change->made[i];

		charge(table->pool, chunk_size(made));
		drop_chunk(table->pool, index->list[change->first + i].chunk);
		index->list[change->first + i].end = made->list[made->n - 1].end;
		index->list[change->first + i].chunk = made;
	}
	return true;
}

static int apply(struct mapping_table *table, struct change *change, size_t n_after)
{
	struct mapping_index *index = NULL;
	int r = make_chunks(change);

	if (r == 0 && swap_chunks(table, change)) {
		table->n = n_after;
		return 0;
	}
	if (r == 0)
		r = make_index(table->index, change, &index);
	for (size_t i = 0; r < 0 && i < change->n_made; i++)
		free(change->made[i]);
	if (r < 0)
		return r;
	for (size_t i = 0; i < change->n_made; i++)
		charge(table->pool, chunk_size(change->made[i]));
	for (size_t i = 0; index && i < index->n; i++)
		if (i < change->first || i >= change->first + change->n_made)
			index->list[i].chunk->n_references++;
	if (index)
		charge(table->pool, index_size(index));
	drop_index(table->pool, table->index);
	table->index = index;
	table->n = n_after;
	return 0;
}

static struct position find_position(const struct mapping_index *index, uint64_t address)
{
	size_t chunk = index ? find_chunk(index, address) : 0;

	if (!index || (chunk == index->n && !chunk))
		return (struct position){ 0, 0 };
	if (chunk == index->n) /* behind all mappings: the end of the last chunk */
		return (struct position){ chunk - 1, index->list[chunk - 1].chunk->n };
	return (struct position){ chunk, find_in_chunk(index->list[chunk].chunk, address) };
}

static const struct mapping *mapping_at(const struct mapping_index *index,
					const struct position *position)
{
	if (!index || position->chunk >= index->n ||
	    position->at >= index->list[position->chunk].chunk->n)
		return NULL;
	return &index->list[position->chunk].chunk->list[position->at];
}

static void step(const struct mapping_index *index, struct position *position)
{
	position->at++;
	if (position->at == index->list[position->chunk].chunk->n &&
	    position->chunk + 1 < index->n) {
		position->chunk++;
		position->at = 0;
	}
}

/* Collects what remains of the touched chunks, with `parts` in the middle. */
static void gather(struct change *change, const struct mapping_index *index, struct position first,
		   struct position last, const struct mapping *parts, size_t n)
{
	const struct mapping_chunk *chunk;

	change->n = change->n_made = 0;
	change->first = first.chunk;
	change->last = index ? last.chunk + 1 : 0;
	if (index)
		take(change, index->list[first.chunk].chunk->list, first.at);
	take(change, parts, n);
	if (!index)
		return;
	chunk = index->list[last.chunk].chunk;
	take(change, chunk->list + last.at, chunk->n - last.at);
	if (change->n >= CHUNK_SMALL || change->last == index->n)
		return;
	chunk = index->list[change->last++].chunk;
	take(change, chunk->list, chunk->n);
}

/* Replaces the range [start, end) by a mapping, or by nothing. */
static int cover(struct mapping_table *table, uint64_t start, uint64_t end,
		 const struct mapping *mapping)
{
	struct mapping parts[3]; /* the rest before the mapping, the mapping, the rest behind it */
	struct position first = find_position(table->index, start), last = first;
	const struct mapping *old, *final = NULL;
	struct change change;
	size_t n = 0, n_covered = 0, n_after;

	if (end <= start)
		return -EINVAL;
	old = mapping_at(table->index, &first);
	if (old && old->start < start) {
		parts[n] = *old;
		parts[n++].end = start;
	}
	if (mapping)
		parts[n++] = *mapping;
	for (; old && old->start < end; old = mapping_at(table->index, &last), n_covered++) {
		final = old;
		step(table->index, &last);
	}
	if (final && final->end > end) {
		parts[n] = *final;
		parts[n].offset += end - parts[n].start;
		parts[n++].start = end;
	}
	n_after = table->n - n_covered + n;
	if (n_after > MAPPING_TABLE_MAX)
		return -ENOSPC;
	if (!n && !n_covered)
		return 0;
	gather(&change, table->index, first, last, parts, n);
	return apply(table, &change, n_after);
}

int mapping_table_add(struct mapping_table *table, const struct mapping *mapping)
{
	return cover(table, mapping->start, mapping->end, mapping);
}

int mapping_table_remove(struct mapping_table *table, uint64_t start, uint64_t end)
{
	return cover(table, start, end, NULL);
}
