/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/source/perf-record.h"
#include "perfdata-source/layout.h"

/* PERF_SAMPLE_BRANCH_… bits that the oldest supported kernel headers lack. */
enum { BRANCH_HW_INDEX = 1 << 17, BRANCH_COUNTERS = 1 << 19 };

struct cursor {
	const uint8_t *at, *end;
	bool is_bad;
};

static struct cursor body(const struct perf_event_header *header)
{
	return (struct cursor){
		(const uint8_t *)(header + 1),
		(const uint8_t *)header + header->size,
		header->size < sizeof(*header),
	};
}

static const uint8_t *take_bytes(struct cursor *cursor, uint64_t size)
{
	const uint8_t *at = cursor->at;

	if (cursor->is_bad || size > (uint64_t)(cursor->end - cursor->at)) {
		cursor->is_bad = true;
		return NULL;
	}
	cursor->at += size;
	return at;
}

static uint64_t take(struct cursor *cursor)
{
	const uint8_t *at = take_bytes(cursor, sizeof(uint64_t));

	return at ? layout_word(at, 0) : 0;
}

/* Takes `n` elements of `size` bytes. */
static const uint8_t *take_many(struct cursor *cursor, uint64_t n, uint64_t size)
{
	if (n > UINT16_MAX) { /* more than a record can hold */
		cursor->is_bad = true;
		return NULL;
	}
	return take_bytes(cursor, n * size);
}

/* With PERF_FORMAT_GROUP: n, times, n × (value, id); else value, times, id. */
static void take_read(struct cursor *cursor, uint64_t format, struct parsed_sample *sample)
{
	uint64_t n_times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			   !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	uint64_t n_values = 1 + !!(format & PERF_FORMAT_ID) + !!(format & (1U << 4)); /* _LOST */

	if (format & PERF_FORMAT_GROUP) {
		uint64_t n = take(cursor);
		const uint8_t *values;

		take_many(cursor, n_times, 8);
		values = take_many(cursor, n, n_values * 8);
		if (format & PERF_FORMAT_ID) { /* else the values have no owner */
			sample->values = values;
			sample->n_values = n;
			sample->value_words = n_values;
		}
	} else {
		take_many(cursor, n_times + n_values, 8);
	}
}

static void skip_raw(struct cursor *cursor)
{
	const uint8_t *at = take_bytes(cursor, sizeof(uint32_t));
	uint32_t size = 0;

	if (at)
		memcpy(&size, at, sizeof(size));
	take_bytes(cursor, size);
}

static void skip_branches(struct cursor *cursor, const struct layout *layout)
{
	uint64_t n = take(cursor);

	if (layout->branch_type & BRANCH_HW_INDEX)
		take(cursor);
	take_many(cursor, n, 24);
	if (layout->branch_type & BRANCH_COUNTERS)
		take_many(cursor, n, 8);
}

static void take_registers(struct cursor *cursor, const struct layout *layout,
			   struct parsed_sample *sample)
{
	sample->abi = take(cursor);
	if (sample->abi) /* with abi 0 no registers follow */
		sample->registers =
			take_many(cursor, __builtin_popcountll(layout->register_mask), 8);
}

static void take_stack(struct cursor *cursor, struct parsed_sample *sample)
{
	uint64_t size = take(cursor), filled;

	if (!size)
		return;
	sample->stack = take_bytes(cursor, size);
	filled = take(cursor);
	sample->stack_size = filled < size ? filled : size;
}

bool layout_parse_sample(const struct layout *layout, const struct perf_event_header *header,
			 struct parsed_sample *ret)
{
	struct parsed_sample sample = { 0 };
	struct cursor cursor = body(header);
	uint64_t type = layout->sample_type, word;

	if (type & PERF_SAMPLE_IDENTIFIER)
		sample.identifier = take(&cursor);
	if (type & PERF_SAMPLE_IP)
		sample.address = take(&cursor);
	if (type & PERF_SAMPLE_TID) {
		word = take(&cursor);
		sample.pid = word;
		sample.tid = word >> 32;
	}
	if (type & PERF_SAMPLE_TIME)
		sample.time = take(&cursor);
	if (type & PERF_SAMPLE_ADDR)
		take(&cursor);
	if (type & PERF_SAMPLE_ID)
		sample.id = take(&cursor);
	if (type & PERF_SAMPLE_STREAM_ID)
		take(&cursor);
	if (type & PERF_SAMPLE_CPU)
		sample.cpu = take(&cursor);
	if (type & PERF_SAMPLE_PERIOD)
		sample.period = take(&cursor);
	if (type & PERF_SAMPLE_READ)
		take_read(&cursor, layout->read_format, &sample);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		sample.n_chain = take(&cursor);
		sample.chain = take_many(&cursor, sample.n_chain, 8);
	}
	if (type & PERF_SAMPLE_RAW)
		skip_raw(&cursor);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		skip_branches(&cursor, layout);
	if (type & PERF_SAMPLE_REGS_USER)
		take_registers(&cursor, layout, &sample);
	if (type & PERF_SAMPLE_STACK_USER)
		take_stack(&cursor, &sample);
	if (cursor.is_bad)
		return false;
	*ret = sample;
	return true;
}

/* Size of the tail that sample_id_all appends to records other than samples. */
static size_t id_size(uint64_t type)
{
	return 8 * (!!(type & PERF_SAMPLE_TID) + !!(type & PERF_SAMPLE_TIME) +
		    !!(type & PERF_SAMPLE_ID) + !!(type & PERF_SAMPLE_STREAM_ID) +
		    !!(type & PERF_SAMPLE_CPU) + !!(type & PERF_SAMPLE_IDENTIFIER));
}

bool layout_parse_id(const struct layout *layout, const struct perf_event_header *header,
		     struct parsed_id *ret)
{
	uint64_t type = layout->sample_type, word;
	struct parsed_id id = { 0 };
	struct cursor cursor = body(header);

	if (!layout->sample_id_all) {
		*ret = id;
		return true;
	}
	id.size = id_size(type);
	if (cursor.is_bad || id.size > (size_t)(cursor.end - cursor.at))
		return false;
	cursor.at = (const uint8_t *)header + record_end(header, id.size) - id.size;
	if (type & PERF_SAMPLE_TID) {
		word = take(&cursor);
		id.pid = word;
		id.tid = word >> 32;
	}
	if (type & PERF_SAMPLE_TIME)
		id.time = take(&cursor);
	if (type & PERF_SAMPLE_ID)
		id.id = take(&cursor);
	if (type & PERF_SAMPLE_STREAM_ID)
		take(&cursor);
	if (type & PERF_SAMPLE_CPU)
		id.cpu = take(&cursor);
	if (type & PERF_SAMPLE_IDENTIFIER)
		id.id = take(&cursor);
	*ret = id;
	return true;
}

/* Words before the id of a sample. */
static size_t words_before_id(uint64_t type)
{
	return !!(type & PERF_SAMPLE_IP) + !!(type & PERF_SAMPLE_TID) +
	       !!(type & PERF_SAMPLE_TIME) + !!(type & PERF_SAMPLE_ADDR);
}

/* Words after the id in the tail of another record. */
static size_t words_behind_id(uint64_t type)
{
	return !!(type & PERF_SAMPLE_STREAM_ID) + !!(type & PERF_SAMPLE_CPU);
}

bool layout_find_id(uint64_t type, const struct perf_event_header *header, uint64_t *ret)
{
	struct cursor cursor = body(header);
	size_t n_words = cursor.is_bad ? 0 : (cursor.end - cursor.at) / 8, at = 0;

	if (!(type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID)) || !n_words)
		return false;
	if (header->type == PERF_RECORD_SAMPLE && !(type & PERF_SAMPLE_IDENTIFIER))
		at = words_before_id(type);
	if (header->type != PERF_RECORD_SAMPLE) {
		n_words = (record_end(header, id_size(type)) - sizeof(*header)) / 8;
		at = n_words - 1 - (type & PERF_SAMPLE_IDENTIFIER ? 0 : words_behind_id(type));
	}
	if (at >= n_words)
		return false;
	*ret = layout_word(cursor.at, at);
	return true;
}
