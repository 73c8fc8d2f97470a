/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the parts of a sample, by its event's sample_type (perf_event_open(2), PERF_RECORD_SAMPLE:
 * in the order of their bits, except the first ones), and checks all against the record's size.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The attributes of an event that determine the layout of its records. */
struct layout {
	uint64_t sample_type, read_format, branch_type, register_mask;
	bool sample_id_all;
};

/* A parsed sample; absent parts are 0. Pointers are into the record. */
struct parsed_sample {
	uint64_t identifier, address, time, id, period;
	uint32_t pid, tid, cpu;
	const uint8_t *values; /* of a group: value, id and more for each member */
	uint64_t n_values, value_words;
	const uint8_t *chain; /* 8 bytes each, unaligned */
	uint64_t n_chain;
	uint64_t abi;
	const uint8_t *registers; /* 8 bytes each, one per bit of register_mask */
	const uint8_t *stack;
	uint64_t stack_size; /* bytes that the kernel actually copied */
};

/* false: the record is inconsistent. */
bool layout_parse_sample(const struct layout *layout, const struct perf_event_header *header,
			 struct parsed_sample *ret);

/* The tail of a record that is not a sample. */
struct parsed_id {
	uint64_t time, id;
	uint32_t pid, tid, cpu;
	size_t size; /* of the tail */
};

/* false: the record is too short for the tail. */
bool layout_parse_id(const struct layout *layout, const struct perf_event_header *header,
		     struct parsed_id *ret);

/*
 * Finds the id of a record's event before its layout is known: all events of a file have the id in
 * the same place, so any `sample_type` of theirs will do. false: there is no id.
 */
bool layout_find_id(uint64_t sample_type, const struct perf_event_header *header, uint64_t *ret);

static inline uint64_t layout_word(const uint8_t *words, uint64_t i)
{
	uint64_t word;

	__builtin_memcpy(&word, words + i * sizeof(word), sizeof(word));
	return word;
}
