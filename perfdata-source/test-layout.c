/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "perfdata-source/layout.h"

enum {
	WORDS_MAX = 8192,
	BRANCH_HW_INDEX = 1 << 17,
	BRANCH_COUNTERS = 1 << 19,
	FORMAT_LOST = 1 << 4,
	REGISTER_MASK = 0x1005,
	N_REGISTERS = 3,
	N_CHAIN = 4,
	N_BRANCHES = 2,
	N_MEMBERS = 3, /* in a group */
	STACK_SIZE = 64,
	STACK_FILLED = 40,
};

#define IDENTIFYING                                                                                \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |             \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)
#define ALL_TYPES                                                                                  \
	(IDENTIFYING | PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | \
	 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK |                      \
	 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

/* A record assembled word by word. */
struct builder {
	uint64_t words[WORDS_MAX];
	size_t n;
};

static struct builder builder;

static void put(uint64_t word)
{
	builder.words[builder.n++] = word;
}

static void put_many(uint64_t first, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		put(first + i);
}

static const struct perf_event_header *finish(uint32_t type)
{
	struct perf_event_header header = { type, PERF_RECORD_MISC_USER, builder.n * 8 };

	memcpy(builder.words, &header, sizeof(header));
	return (const void *)builder.words;
}

static void put_read(uint64_t format)
{
	bool is_group = format & PERF_FORMAT_GROUP;
	uint64_t n_values = 1 + !!(format & PERF_FORMAT_ID) + !!(format & FORMAT_LOST);

	if (is_group)
		put(N_MEMBERS);
	put_many(0x900, !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
				!!(format & PERF_FORMAT_TOTAL_TIME_RUNNING));
	put_many(0x910, (is_group ? N_MEMBERS : 1) * n_values);
}

/* Raw data begin with four bytes of size; the kernel pads them to whole words. */
static void put_raw(void)
{
	put(20 | (uint64_t)0xaaaaaaaa << 32);
	put_many(0xa00, 2);
}

static void put_branches(uint64_t branch_type)
{
	put(N_BRANCHES);
	if (branch_type & BRANCH_HW_INDEX)
		put(UINT64_MAX);
	put_many(0xb00, 3 * N_BRANCHES);
	if (branch_type & BRANCH_COUNTERS)
		put_many(0xb80, N_BRANCHES);
}

/* A sample as the kernel's perf_event_output_sample() writes it. */
static const struct perf_event_header *build(const struct layout *layout)
{
	uint64_t type = layout->sample_type;

	builder.n = 1;
	if (type & PERF_SAMPLE_IDENTIFIER)
		put(0x101);
	if (type & PERF_SAMPLE_IP)
		put(0x102);
	if (type & PERF_SAMPLE_TID)
		put((uint64_t)0x104 << 32 | 0x103);
	if (type & PERF_SAMPLE_TIME)
		put(0x105);
	if (type & PERF_SAMPLE_ADDR)
		put(0x106);
	if (type & PERF_SAMPLE_ID)
		put(0x107);
	if (type & PERF_SAMPLE_STREAM_ID)
		put(0x108);
	if (type & PERF_SAMPLE_CPU)
		put((uint64_t)0xdead << 32 | 0x109);
	if (type & PERF_SAMPLE_PERIOD)
		put(0x10a);
	if (type & PERF_SAMPLE_READ)
		put_read(layout->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		put(N_CHAIN);
		put_many(0x200, N_CHAIN);
	}
	if (type & PERF_SAMPLE_RAW)
		put_raw();
	if (type & PERF_SAMPLE_BRANCH_STACK)
		put_branches(layout->branch_type);
	if (type & PERF_SAMPLE_REGS_USER) {
		put(PERF_SAMPLE_REGS_ABI_64);
		put_many(0x300, N_REGISTERS);
	}
	if (type & PERF_SAMPLE_STACK_USER) {
		put(STACK_SIZE);
		put_many(0x400, STACK_SIZE / 8);
		put(STACK_FILLED);
	}
	return finish(PERF_RECORD_SAMPLE);
}

static uint64_t if_has(uint64_t type, uint64_t bit, uint64_t value)
{
	return type & bit ? value : 0;
}

static void assert_parts(const struct parsed_sample *sample, uint64_t type)
{
	assert_int_equal(sample->identifier, if_has(type, PERF_SAMPLE_IDENTIFIER, 0x101));
	assert_int_equal(sample->address, if_has(type, PERF_SAMPLE_IP, 0x102));
	assert_int_equal(sample->pid, if_has(type, PERF_SAMPLE_TID, 0x103));
	assert_int_equal(sample->tid, if_has(type, PERF_SAMPLE_TID, 0x104));
	assert_int_equal(sample->time, if_has(type, PERF_SAMPLE_TIME, 0x105));
	assert_int_equal(sample->id, if_has(type, PERF_SAMPLE_ID, 0x107));
	assert_int_equal(sample->cpu, if_has(type, PERF_SAMPLE_CPU, 0x109));
	assert_int_equal(sample->period, if_has(type, PERF_SAMPLE_PERIOD, 0x10a));
	assert_int_equal(sample->n_chain, if_has(type, PERF_SAMPLE_CALLCHAIN, N_CHAIN));
	for (uint64_t i = 0; i < sample->n_chain; i++)
		assert_int_equal(layout_word(sample->chain, i), 0x200 + i);
	assert_int_equal(sample->abi, if_has(type, PERF_SAMPLE_REGS_USER, PERF_SAMPLE_REGS_ABI_64));
	assert_int_equal(sample->registers != NULL, (type & PERF_SAMPLE_REGS_USER) != 0);
	for (uint64_t i = 0; sample->registers && i < N_REGISTERS; i++)
		assert_int_equal(layout_word(sample->registers, i), 0x300 + i);
	assert_int_equal(sample->stack_size, if_has(type, PERF_SAMPLE_STACK_USER, STACK_FILLED));
	assert_int_equal(sample->stack != NULL, (type & PERF_SAMPLE_STACK_USER) != 0);
	if (sample->stack)
		assert_int_equal(layout_word(sample->stack, 0), 0x400);
}

static void assert_parsed(const struct layout *layout)
{
	struct parsed_sample sample;

	assert_true(layout_parse_sample(layout, build(layout), &sample));
	assert_parts(&sample, layout->sample_type);
}

static struct layout layout_of(uint64_t sample_type)
{
	return (struct layout){ .sample_type = sample_type, .register_mask = REGISTER_MASK };
}

static void test_each_part_alone_and_each_one_missing(void **state)
{
	for (int bit = 0; bit < 17; bit++) {
		struct layout layout = layout_of(ALL_TYPES & 1ULL << bit);

		assert_parsed(&layout);
		layout = layout_of(ALL_TYPES & ~(1ULL << bit));
		assert_parsed(&layout);
	}
}

static void test_many_parts_together(void **state)
{
	uint32_t random = 1;

	for (int i = 0; i < 20000; i++) {
		struct layout layout;

		random = random * 1664525 + 1013904223;
		layout = layout_of(random >> 8 & ALL_TYPES);
		random = random * 1664525 + 1013904223;
		layout.read_format = random >> 8 & 0x1f;
		layout.branch_type = random >> 16 & 1 ? BRANCH_HW_INDEX : 0;
		layout.branch_type |= random >> 17 & 1 ? BRANCH_COUNTERS : 0;
		assert_parsed(&layout);
	}
}

static void test_every_read_format(void **state)
{
	struct layout layout = layout_of(ALL_TYPES);

	for (layout.read_format = 0; layout.read_format < 32; layout.read_format++)
		assert_parsed(&layout);
}

/* perf records WEIGHT, DATA_SRC and others, which follow the stack. */
static void test_fields_after_the_stack_are_skipped(void **state)
{
	struct layout layout = layout_of(ALL_TYPES);
	struct parsed_sample sample;

	build(&layout);
	put_many(0x500, 5);
	assert_true(layout_parse_sample(&layout, finish(PERF_RECORD_SAMPLE), &sample));
	assert_parts(&sample, ALL_TYPES);
}

static void test_abi_0_has_no_registers(void **state)
{
	struct layout layout = layout_of(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
	struct parsed_sample sample;

	builder.n = 1;
	put(PERF_SAMPLE_REGS_ABI_NONE);
	put(16);
	put_many(0x400, 2);
	put(8);
	assert_true(layout_parse_sample(&layout, finish(PERF_RECORD_SAMPLE), &sample));
	assert_int_equal(sample.abi, 0);
	assert_null(sample.registers);
	assert_int_equal(layout_word(sample.stack, 1), 0x401);
	assert_int_equal(sample.stack_size, 8);
}

/* The kernel writes no dyn_size after an empty stack. */
static void test_a_stack_of_no_bytes(void **state)
{
	struct layout layout = layout_of(PERF_SAMPLE_STACK_USER);
	struct parsed_sample sample;

	builder.n = 1;
	put(0);
	assert_true(layout_parse_sample(&layout, finish(PERF_RECORD_SAMPLE), &sample));
	assert_null(sample.stack);
	assert_int_equal(sample.stack_size, 0);
}

static void test_the_stack_is_bounded_by_its_valid_size(void **state)
{
	static const uint64_t filled[] = { 0, 1, 63, 64, 65, 4096, 1ULL << 32, UINT64_MAX };
	struct layout layout = layout_of(PERF_SAMPLE_STACK_USER);

	for (size_t i = 0; i < sizeof(filled) / sizeof(*filled); i++) {
		struct parsed_sample sample;

		build(&layout);
		builder.words[builder.n - 1] = filled[i];
		assert_true(layout_parse_sample(&layout, finish(PERF_RECORD_SAMPLE), &sample));
		assert_int_equal(sample.stack_size,
				 filled[i] < STACK_SIZE ? filled[i] : STACK_SIZE);
	}
}

/* For all read formats; without ids the values cannot be assigned to events. */
static void test_the_values_of_a_group(void **state)
{
	for (uint64_t format = 0; format < 1 << 5; format++) {
		struct layout layout = layout_of(PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN);
		uint64_t n_words = 2 + !!(format & FORMAT_LOST);
		struct parsed_sample sample;

		layout.read_format = format;
		assert_true(layout_parse_sample(&layout, build(&layout), &sample));
		if (!(format & PERF_FORMAT_GROUP) || !(format & PERF_FORMAT_ID)) {
			assert_null(sample.values);
			continue;
		}
		assert_int_equal(sample.n_values, N_MEMBERS);
		assert_int_equal(sample.value_words, n_words);
		for (uint64_t i = 0; i < N_MEMBERS * n_words; i++)
			assert_int_equal(layout_word(sample.values, i), 0x910 + i);
	}
}

/* Counts that overflow when multiplied, or that no record can hold. */
static void test_counts_beyond_the_record_are_refused(void **state)
{
	static const uint64_t huge[] = { 5,	     8191,	 65535,	     65536,
					 1ULL << 32, 1ULL << 60, 1ULL << 61, (1ULL << 61) + 1,
					 1ULL << 63, UINT64_MAX };
	static const uint64_t counted[] = { PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_BRANCH_STACK,
					    PERF_SAMPLE_READ };

	for (size_t i = 0; i < sizeof(huge) / sizeof(*huge); i++)
		for (size_t j = 0; j < 3; j++) {
			struct layout layout = layout_of(counted[j]);
			struct parsed_sample sample;

			layout.read_format = PERF_FORMAT_GROUP;
			build(&layout);
			builder.words[1] = huge[i];
			assert_false(
				layout_parse_sample(&layout, finish(PERF_RECORD_SAMPLE), &sample));
		}
}

static bool is_inside(const struct perf_event_header *header, const uint8_t *at, uint64_t size)
{
	const uint8_t *begin = (const uint8_t *)(header + 1);
	const uint8_t *end = (const uint8_t *)header + header->size;

	return !at || (at >= begin && at <= end && size <= (uint64_t)(end - at));
}

/* Parses a block of exactly `size` bytes, so that sanitizers detect reads past its end. */
static bool parse_block(const struct layout *layout, const void *bytes, size_t size)
{
	struct perf_event_header *header = malloc(size);
	struct parsed_sample sample;
	bool is_good;

	memcpy(header, bytes, size);
	header->size = size;
	is_good = layout_parse_sample(layout, header, &sample);
	if (is_good) {
		assert_true(is_inside(header, sample.chain, sample.n_chain * 8));
		assert_true(is_inside(header, sample.registers, N_REGISTERS * 8));
		assert_true(is_inside(header, sample.stack, sample.stack_size));
	}
	free(header);
	return is_good;
}

static void test_every_truncation_is_refused(void **state)
{
	struct layout layout = layout_of(ALL_TYPES);

	layout.read_format = 0x1f;
	layout.branch_type = BRANCH_HW_INDEX | BRANCH_COUNTERS;
	build(&layout);
	for (size_t size = sizeof(struct perf_event_header); size < builder.n * 8; size++)
		assert_false(parse_block(&layout, builder.words, size));
	assert_true(parse_block(&layout, builder.words, builder.n * 8));
}

static void test_every_flipped_bit_stays_inside_the_record(void **state)
{
	struct layout layout = layout_of(ALL_TYPES);
	size_t n_refused = 0, size;

	layout.read_format = 0x1f;
	layout.branch_type = BRANCH_HW_INDEX | BRANCH_COUNTERS;
	build(&layout);
	size = builder.n * 8;
	for (size_t bit = 64; bit < size * 8; bit++) {
		uint8_t *bytes = (uint8_t *)builder.words;

		bytes[bit / 8] ^= 1 << bit % 8;
		n_refused += !parse_block(&layout, bytes, size);
		bytes[bit / 8] ^= 1 << bit % 8;
	}
	assert_true(n_refused > 4 * 60); /* the high bits of the counts alone */
}

static void test_a_record_shorter_than_its_header_is_refused(void **state)
{
	struct perf_event_header header = { PERF_RECORD_SAMPLE, 0, 0 };
	struct layout layout = layout_of(PERF_SAMPLE_IP);
	struct parsed_sample sample;
	struct parsed_id id;
	uint64_t number;

	layout.sample_id_all = true;
	for (header.size = 0; header.size < 8; header.size++) {
		assert_false(layout_parse_sample(&layout, &header, &sample));
		assert_false(layout_parse_id(&layout, &header, &id));
		assert_false(layout_find_id(PERF_SAMPLE_IDENTIFIER, &header, &number));
	}
}

/* A record with `n_before` words of its own, followed by what sample_id_all adds. */
static const struct perf_event_header *build_other(uint64_t type, size_t n_before)
{
	builder.n = 1;
	put_many(0x700, n_before);
	if (type & PERF_SAMPLE_TID)
		put((uint64_t)0x104 << 32 | 0x103);
	if (type & PERF_SAMPLE_TIME)
		put(0x105);
	if (type & PERF_SAMPLE_ID)
		put(0x107);
	if (type & PERF_SAMPLE_STREAM_ID)
		put(0x108);
	if (type & PERF_SAMPLE_CPU)
		put(0x109);
	if (type & PERF_SAMPLE_IDENTIFIER)
		put(0x107);
	return finish(PERF_RECORD_COMM);
}

static uint64_t identifying_type(unsigned combination)
{
	static const uint64_t bits[] = { PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
					 PERF_SAMPLE_ID,  PERF_SAMPLE_STREAM_ID,
					 PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER };
	uint64_t type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN; /* not in a sample_id */

	for (int i = 0; i < 6; i++)
		type |= combination >> i & 1 ? bits[i] : 0;
	return type;
}

static void test_the_id_of_other_records_in_all_combinations(void **state)
{
	for (unsigned combination = 0; combination < 64; combination++) {
		uint64_t type = identifying_type(combination);
		uint64_t has_id = type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER);
		struct layout layout = layout_of(type);
		struct parsed_id id;

		layout.sample_id_all = true;
		for (size_t n_before = 0; n_before < 3; n_before++) {
			assert_true(layout_parse_id(&layout, build_other(type, n_before), &id));
			assert_int_equal(id.size, 8 * (builder.n - 1 - n_before));
			assert_int_equal(id.pid, if_has(type, PERF_SAMPLE_TID, 0x103));
			assert_int_equal(id.tid, if_has(type, PERF_SAMPLE_TID, 0x104));
			assert_int_equal(id.time, if_has(type, PERF_SAMPLE_TIME, 0x105));
			assert_int_equal(id.id, has_id ? 0x107 : 0);
			assert_int_equal(id.cpu, if_has(type, PERF_SAMPLE_CPU, 0x109));
		}
	}
}

/* Stale bytes of the ring may follow kernel code records; see record_end(). */
static void test_the_id_of_kernel_code_in_all_combinations(void **state)
{
	static const uint64_t own[] = { 0xffffffffc0000000, 0x40, 'n' };
	enum { N_OWN = sizeof(own) / sizeof(*own) };

	for (unsigned combination = 1; combination < 64; combination++) {
		uint64_t type = identifying_type(combination), number = 0;
		bool has_id = type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER);
		struct layout layout = layout_of(type);
		const struct perf_event_header *header;
		struct parsed_id id;

		layout.sample_id_all = true;
		build_other(type, N_OWN);
		memcpy(builder.words + 1, own, sizeof(own));
		put_many(0x900, builder.n - 1 - N_OWN);
		header = finish(PERF_RECORD_KSYMBOL);
		assert_true(layout_parse_id(&layout, header, &id));
		assert_int_equal(id.tid, if_has(type, PERF_SAMPLE_TID, 0x104));
		assert_int_equal(id.time, if_has(type, PERF_SAMPLE_TIME, 0x105));
		assert_int_equal(id.cpu, if_has(type, PERF_SAMPLE_CPU, 0x109));
		assert_int_equal(layout_find_id(type, header, &number), has_id);
		assert_int_equal(number, has_id ? 0x107 : 0);
	}
}

static void test_a_record_too_short_for_its_id_is_refused(void **state)
{
	for (unsigned combination = 1; combination < 64; combination++) {
		struct layout layout = layout_of(identifying_type(combination));
		size_t size;

		layout.sample_id_all = true;
		build_other(layout.sample_type, 0);
		size = builder.n * 8;
		for (size_t cut = sizeof(struct perf_event_header); cut < size; cut++) {
			struct perf_event_header *header = malloc(cut);
			struct parsed_id id;
			uint64_t number;

			memcpy(header, builder.words, cut);
			header->size = cut;
			assert_false(layout_parse_id(&layout, header, &id));
			layout_find_id(layout.sample_type, header, &number); /* stays inside */
			free(header);
		}
	}
}

static void test_without_sample_id_all_there_is_no_id(void **state)
{
	struct layout layout = layout_of(IDENTIFYING);
	struct parsed_id id = { .time = 1 };

	assert_true(layout_parse_id(&layout, build_other(0, 0), &id));
	assert_int_equal(id.size, 0);
	assert_int_equal(id.time, 0);
}

static void test_a_records_owner_in_all_combinations(void **state)
{
	for (unsigned combination = 0; combination < 256; combination++) {
		uint64_t type = identifying_type(combination & 63), id = 0;
		bool has_id = type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER);
		struct layout layout;

		type &= ~(uint64_t)(combination >> 6 & 1 ? PERF_SAMPLE_IP : 0);
		type |= combination >> 7 & 1 ? PERF_SAMPLE_ADDR : 0;
		layout = layout_of(type);
		assert_int_equal(layout_find_id(type, build(&layout), &id), has_id);
		if (has_id)
			assert_int_equal(id, type & PERF_SAMPLE_IDENTIFIER ? 0x101 : 0x107);
		id = 0;
		assert_int_equal(layout_find_id(type, build_other(type, 3), &id), has_id);
		assert_int_equal(id, has_id ? 0x107 : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_part_alone_and_each_one_missing),
		cmocka_unit_test(test_many_parts_together),
		cmocka_unit_test(test_every_read_format),
		cmocka_unit_test(test_fields_after_the_stack_are_skipped),
		cmocka_unit_test(test_abi_0_has_no_registers),
		cmocka_unit_test(test_a_stack_of_no_bytes),
		cmocka_unit_test(test_the_stack_is_bounded_by_its_valid_size),
		cmocka_unit_test(test_the_values_of_a_group),
		cmocka_unit_test(test_counts_beyond_the_record_are_refused),
		cmocka_unit_test(test_every_truncation_is_refused),
		cmocka_unit_test(test_every_flipped_bit_stays_inside_the_record),
		cmocka_unit_test(test_a_record_shorter_than_its_header_is_refused),
		cmocka_unit_test(test_the_id_of_other_records_in_all_combinations),
		cmocka_unit_test(test_the_id_of_kernel_code_in_all_combinations),
		cmocka_unit_test(test_a_record_too_short_for_its_id_is_refused),
		cmocka_unit_test(test_without_sample_id_all_there_is_no_id),
		cmocka_unit_test(test_a_records_owner_in_all_combinations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
