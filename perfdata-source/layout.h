/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the parts of a sample lie, by its event's sample_type (perf_event_open(2),
 * PERF_RECORD_SAMPLE: the parts stand in the order of their bits but for the first ones).
 * Everything is checked against the record's size.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What of an event's attributes the layout of its records depends on. */
struct layout {
	uint64_t sample_type, read_format, branch_type, register_mask;
	bool sample_id_all;
};

/* A sample taken apart; what it does not have is 0. Pointers are into the record. */
struct parsed_sample {
	uint64_t identifier, address, time, id, period;
	uint32_t pid, tid, cpu;
	const uint8_t *values; /* of a group: of each member its value, its id, and more */
	uint64_t n_values, value_words;
	const uint8_t *chain; /* of 8 bytes each, not aligned */
	uint64_t n_chain;
	uint64_t abi;
	const uint8_t *registers; /* of 8 bytes each, a register a bit of the mask */
	const uint8_t *stack;
	uint64_t stack_size; /* what the kernel really copied */
};

/* false: it contradicts itself. */
bool layout_parse_sample(const struct layout *layout, const struct perf_event_header *header,
			 struct parsed_sample *ret);

/* What a record that is no sample tells at its end. */
struct parsed_id {
	uint64_t time, id;
	uint32_t pid, tid, cpu;
	size_t size; /* of these parts */
};

/* false: the record is too short for them. */
bool layout_parse_id(const struct layout *layout, const struct perf_event_header *header,
		     struct parsed_id *ret);

/*
 * Whom a record belongs to, before its layout is known: all events of a file have their id in the
 * same place. `sample_type` is of any of them. false: it is not told.
 */
bool layout_find_id(uint64_t sample_type, const struct perf_event_header *header, uint64_t *ret);

static inline uint64_t layout_word(const uint8_t *words, uint64_t i)
{
	uint64_t word;

	__builtin_memcpy(&word, words + i * sizeof(word), sizeof(word));
	return word;
}
