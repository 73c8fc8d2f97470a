/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash-table.h"
#include "common/script/memory-pieces.h"
#include "common/script/script-walk.h"
#include "symbolizer/script/script-sources.h"

enum {
	/* Ends of lines (ECMA-262, LineTerminatorSequence), as V8 counts them; the last two only
	 * in texts whose characters have two bytes. */
	LINE_SEPARATOR = 0x2028,
	PARAGRAPH_SEPARATOR = 0x2029,
};

/* A part of a text: which characters in it end lines. */
struct line_ends {
	bool begins_with_lf, ends_with_cr; /* both are one end of a line */
	uint16_t n;
	uint16_t ends[]; /* characters in front of each */
};

struct script_source {
	UT_hash_handle hh;
	struct script_source_key key;
	uint32_t size, unit; /* bytes of it, and of each character */
	uint32_t n_left;     /* parts that have not come yet */
	struct line_ends *parts[];
};

static uint32_t count_parts(uint32_t size)
{
	return (size + WALK_CHUNK_SIZE - 1) / WALK_CHUNK_SIZE;
}

static size_t size_of_source(uint32_t size)
{
	return sizeof(struct script_source) + count_parts(size) * sizeof(struct line_ends *);
}

static size_t size_of_lines(uint16_t n)
{
	return sizeof(struct line_ends) + n * sizeof(uint16_t);
}

static void free_source(struct script_sources *sources, struct script_source *source)
{
	for (uint32_t i = 0; i < count_parts(source->size); i++) {
		if (source->parts[i])
			sources->n_bytes -= size_of_lines(source->parts[i]->n);
		free(source->parts[i]);
	}
	HASH_DEL(sources->by_key, source);
	sources->n_bytes -= size_of_source(source->size);
	free(source);
}

void script_sources_deinit(struct script_sources *sources)
{
	struct script_source *source, *next;

	HASH_ITER(hh, sources->by_key, source, next)
	free_source(sources, source);
}

void script_sources_forget(struct script_sources *sources, uint64_t process)
{
	struct script_source *source, *next;

	HASH_ITER(hh, sources->by_key, source, next)
	if (source->key.process == process)
		free_source(sources, source);
}

bool script_sources_is_part(const struct wire_memory *record)
{
	return record->address & 1;
}

static struct script_source *find_source(const struct script_sources *sources,
					 const struct script_source_key *key)
{
	struct script_source *source;

	HASH_FIND(hh, sources->by_key, key, sizeof(*key), source);
	return source;
}

/* NULL: no memory. */
static struct script_source *add_source(struct script_sources *sources,
					const struct script_source_key *key,
					const struct walk_source_part *part)
{
	struct script_source *source = calloc(1, size_of_source(part->size));

	if (!source)
		return NULL;
	source->key = *key;
	source->size = part->size;
	source->unit = part->unit;
	source->n_left = count_parts(part->size);
	HASH_ADD(hh, sources->by_key, key, sizeof(source->key), source);
	if (!HASH_HAS(hh, source)) {
		free(source);
		return NULL;
	}
	sources->n_bytes += size_of_source(part->size);
	return source;
}

/* Whether a line ends with a character. A carriage return in front of a line feed ends none. */
static bool ends_line(const struct wire_blob *text, uint32_t i, uint32_t n, uint32_t unit)
{
	uint32_t character = memory_unit(text, i, unit);

	if (character == '\r')
		return i + 1 < n && memory_unit(text, i + 1, unit) != '\n';
	return character == '\n' || character == LINE_SEPARATOR || character == PARAGRAPH_SEPARATOR;
}

/* NULL: no memory. */
static struct line_ends *read_lines(const struct wire_blob *text, uint32_t unit)
{
	uint32_t n = text->size / unit, n_ends = 0;
	struct line_ends *lines;

	for (uint32_t i = 0; i < n; i++)
		n_ends += ends_line(text, i, n, unit);
	lines = calloc(1, size_of_lines(n_ends));
	if (!lines)
		return NULL;
	lines->begins_with_lf = memory_unit(text, 0, unit) == '\n';
	lines->ends_with_cr = memory_unit(text, n - 1, unit) == '\r';
	for (uint32_t i = 0; i < n; i++)
		if (ends_line(text, i, n, unit))
			lines->ends[lines->n++] = i;
	return lines;
}

/* Reads a part, and the text behind its head. False: it is damaged, or not all of it was there. */
static bool read_part(const struct wire_memory *record, struct walk_source_part *ret,
		      struct wire_blob *ret_text)
{
	size_t size;

	if (!memory_field(&record->bytes, 0, ret, sizeof(*ret)))
		return false;
	size = record->bytes.size - sizeof(*ret);
	*ret_text = (struct wire_blob){ (const char *)record->bytes.data + sizeof(*ret), size };
	return (ret->unit == 1 || ret->unit == 2) && ret->size <= SCRIPT_SOURCE_MAX &&
	       ret->size % ret->unit == 0 && ret->offset % WALK_CHUNK_SIZE == 0 &&
	       ret->offset < ret->size && size > 0 &&
	       size == (ret->size - ret->offset < WALK_CHUNK_SIZE ? ret->size - ret->offset
								  : WALK_CHUNK_SIZE);
}

/* Adds a part, unless it is there. 0 or -ENOMEM. */
static int add_part(struct script_sources *sources, struct script_source *source, uint32_t i,
		    const struct wire_blob *text)
{
	if (source->parts[i])
		return 0;
	source->parts[i] = read_lines(text, source->unit);
	if (!source->parts[i])
		return -ENOMEM;
	sources->n_bytes += size_of_lines(source->parts[i]->n);
	sources->n_whole += --source->n_left == 0;
	return 0;
}

int script_sources_take(struct script_sources *sources, const struct wire_memory *record)
{
	const struct script_source_key key = { record->process, record->address - 1,
					       record->identity };
	struct script_source *source = find_source(sources, &key);
	struct walk_source_part part;
	struct wire_blob text;

	if (!read_part(record, &part, &text) || sources->n_bytes >= SCRIPT_SOURCES_BYTES_MAX ||
	    (source && (source->size != part.size || source->unit != part.unit))) {
		sources->n_refused++;
		return 0;
	}
	if (!source)
		source = add_source(sources, &key, &part);
	if (!source)
		return -ENOMEM;
	return add_part(sources, source, part.offset / WALK_CHUNK_SIZE, &text);
}

/* How many lines end in a part, whose next one is `next`. */
static uint32_t count_ends(const struct line_ends *lines, const struct line_ends *next)
{
	return lines->n + (lines->ends_with_cr && !(next && next->begins_with_lf));
}

/* How many lines end in front of a character of a text, all of which is there. */
static uint32_t count_lines(const struct script_source *source, uint32_t position)
{
	uint32_t per_part = WALK_CHUNK_SIZE / source->unit, last = position / per_part, n = 0;

	for (uint32_t i = 0; i < last && i < count_parts(source->size); i++)
		n += count_ends(source->parts[i],
				i + 1 < count_parts(source->size) ? source->parts[i + 1] : NULL);
	if (last >= count_parts(source->size))
		return n;
	for (uint32_t i = 0; i < source->parts[last]->n; i++)
		n += source->parts[last]->ends[i] < position % per_part;
	return n;
}

bool script_sources_has(const struct script_sources *sources, const struct script_source_key *key)
{
	const struct script_source *source = find_source(sources, key);

	return source && !source->n_left;
}

uint32_t script_sources_find_line(const struct script_sources *sources,
				  const struct script_origin *origin)
{
	const struct script_source *source = find_source(sources, &origin->source);
	int64_t line;

	if (!source || source->n_left || origin->position > source->size / source->unit)
		return 0;
	line = (int64_t)origin->first_line + count_lines(source, origin->position) + 1;
	return line > 0 && line <= INT32_MAX ? line : 0;
}
