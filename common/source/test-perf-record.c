/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/arch/arch.h"
#include "common/source/perf-record.h"

enum { WORDS_MAX = 8192 };

/* A record assembled word by word. */
struct builder {
	uint64_t words[WORDS_MAX];
	size_t n;
};

static void put(struct builder *builder, uint64_t word)
{
	builder->words[builder->n++] = word;
}

static const struct perf_event_header *finish(struct builder *builder, uint32_t type)
{
	struct perf_event_header header = { type, PERF_RECORD_MISC_USER, builder->n * 8 };

	memcpy(builder->words, &header, sizeof(header));
	return (const void *)builder->words;
}

/* The fields before the call chain. */
static void begin_sample(struct builder *builder)
{
	builder->n = 1;
	put(builder, 0xabcdef);			 /* ip */
	put(builder, (uint64_t)102 << 32 | 101); /* tid, pid */
	put(builder, 1000);			 /* time */
	put(builder, 88);			 /* id */
	put(builder, 0xdeadULL << 32 | 3);	 /* reserved, cpu */
	put(builder, 77);			 /* period */
}

/* A whole sample: `chain` addresses, all registers, `size` bytes of stack, `filled` valid. */
static const struct perf_event_header *build(struct builder *builder, uint64_t chain, uint64_t size,
					     uint64_t filled)
{
	begin_sample(builder);
	put(builder, chain);
	for (uint64_t i = 0; i < chain; i++)
		put(builder, 0x1000 + i);
	put(builder, PERF_SAMPLE_REGS_ABI_64);
	for (int i = 0; i < arch_host()->n_registers; i++)
		put(builder, 0x2000 + i);
	put(builder, size);
	for (uint64_t i = 0; i < size / 8; i++)
		put(builder, 0x3000 + i);
	if (size)
		put(builder, filled);
	return finish(builder, PERF_RECORD_SAMPLE);
}

static struct builder builder;

static void test_a_sample_is_taken_apart(void **state)
{
	const struct perf_event_header *header = build(&builder, 3, 64, 40);
	struct perf_record_sample sample;

	assert_true(perf_record_parse_sample(header, PERF_RECORD_SAMPLE_TYPE, &sample));
	assert_int_equal(sample.address, 0xabcdef);
	assert_int_equal(sample.pid, 101);
	assert_int_equal(sample.tid, 102);
	assert_int_equal(sample.time, 1000);
	assert_int_equal(perf_record_time(header), 1000);
	assert_int_equal(sample.event_id, 88);
	assert_int_equal(sample.cpu, 3);
	assert_int_equal(sample.period, 77);
	assert_int_equal(sample.n_chain, 3);
	assert_int_equal(sample.chain[2], 0x1002);
	assert_int_equal(sample.abi, PERF_SAMPLE_REGS_ABI_64);
	assert_int_equal(sample.n_registers, arch_host()->n_registers);
	assert_int_equal(arch_sampled(arch_host(), sample.registers, arch_host()->pc),
			 0x2000 + arch_host()->sample_index[arch_host()->pc]);
	assert_int_equal(sample.stack_size, 40);
	assert_int_equal(*(const uint64_t *)sample.stack, 0x3000);
}

static void test_a_sample_of_several_occurrences_has_no_period(void **state)
{
	struct perf_record_sample sample;

	begin_sample(&builder);
	builder.n--;
	put(&builder, 1); /* a chain of one address */
	put(&builder, 0x1000);
	put(&builder, PERF_SAMPLE_REGS_ABI_NONE);
	put(&builder, 0);
	assert_true(perf_record_parse_sample(finish(&builder, PERF_RECORD_SAMPLE),
					     PERF_RECORD_COUNTED_TYPE, &sample));
	assert_int_equal(sample.period, 0);
	assert_int_equal(sample.cpu, 3);
	assert_int_equal(sample.n_chain, 1);
	assert_int_equal(sample.chain[0], 0x1000);
}

static void test_a_sample_without_user_side_has_no_registers(void **state)
{
	struct perf_record_sample sample;

	begin_sample(&builder);
	put(&builder, 0);
	put(&builder, PERF_SAMPLE_REGS_ABI_NONE);
	put(&builder, 0);
	assert_true(perf_record_parse_sample(finish(&builder, PERF_RECORD_SAMPLE),
					     PERF_RECORD_SAMPLE_TYPE, &sample));
	assert_int_equal(sample.n_registers, 0);
	assert_int_equal(sample.stack_size, 0);
	assert_null(sample.stack);
}

/* Raw data precede the registers, with their size, and are padded to whole words. */
static void test_data_of_a_sample_are_taken_apart(void **state)
{
	static const uint32_t wrong_sizes[] = { 0, 11, 13, 20, 28, UINT32_MAX - 3, UINT32_MAX };
	struct perf_record_sample sample;
	uint64_t *data;

	begin_sample(&builder);
	put(&builder, 0);
	data = &builder.words[builder.n];
	put(&builder, 0xabcdULL << 32 | 12);
	put(&builder, 0x1234);
	put(&builder, PERF_SAMPLE_REGS_ABI_NONE);
	put(&builder, 0);
	finish(&builder, PERF_RECORD_SAMPLE);
	assert_true(perf_record_parse_sample((const void *)builder.words,
					     PERF_RECORD_SAMPLE_RAW_TYPE, &sample));
	assert_int_equal(sample.data_size, 12);
	assert_memory_equal(sample.data, "\xcd\xab\0\0\x34\x12\0\0\0\0\0\0", 12);
	assert_int_equal(sample.n_registers, 0);
	for (size_t i = 0; i < sizeof(wrong_sizes) / sizeof(*wrong_sizes); i++) {
		*data = wrong_sizes[i];
		assert_false(perf_record_parse_sample((const void *)builder.words,
						      PERF_RECORD_SAMPLE_RAW_TYPE, &sample));
	}
}

static void test_the_stack_is_bounded_by_its_valid_size(void **state)
{
	struct perf_record_sample sample;

	assert_true(perf_record_parse_sample(build(&builder, 0, 64, 65), PERF_RECORD_SAMPLE_TYPE,
					     &sample));
	assert_int_equal(sample.stack_size, 64);
	assert_true(perf_record_parse_sample(build(&builder, 0, 64, UINT64_MAX),
					     PERF_RECORD_SAMPLE_TYPE, &sample));
	assert_int_equal(sample.stack_size, 64);
	assert_true(perf_record_parse_sample(build(&builder, 0, 64, 0), PERF_RECORD_SAMPLE_TYPE,
					     &sample));
	assert_int_equal(sample.stack_size, 0);
	assert_true(perf_record_parse_sample(build(&builder, 0, 0, 0), PERF_RECORD_SAMPLE_TYPE,
					     &sample));
	assert_int_equal(sample.stack_size, 0);
}

static void test_lengths_beyond_the_record_are_refused(void **state)
{
	static const uint64_t huge[] = { 65,	    4096, 1ULL << 32, 1ULL << 61, (1ULL << 61) + 1,
					 UINT64_MAX };
	struct perf_record_sample sample;

	for (size_t i = 0; i < sizeof(huge) / sizeof(huge[0]); i++) {
		build(&builder, 3, 64, 64);
		builder.words[7] = huge[i]; /* chain length */
		assert_false(perf_record_parse_sample((const void *)builder.words,
						      PERF_RECORD_SAMPLE_TYPE, &sample));
		build(&builder, 3, 64, 64);
		builder.words[builder.n - 10] = huge[i] & -8ULL; /* stack size */
		if (huge[i] > 72)
			assert_false(perf_record_parse_sample((const void *)builder.words,
							      PERF_RECORD_SAMPLE_TYPE, &sample));
	}
}

static void test_stack_size_must_be_a_multiple_of_8(void **state)
{
	struct perf_record_sample sample;

	build(&builder, 3, 64, 64);
	for (int i = 1; i < 8; i++) {
		builder.words[builder.n - 10] = 56 + i;
		assert_false(perf_record_parse_sample((const void *)builder.words,
						      PERF_RECORD_SAMPLE_TYPE, &sample));
	}
}

/* Every smaller size, in a block of that size. */
static void test_every_truncation_is_refused(void **state)
{
	const struct perf_event_header *whole = build(&builder, 3, 64, 40);

	for (uint16_t size = sizeof(*whole); size < whole->size; size++) {
		struct perf_event_header *cut = malloc(size);
		struct perf_record_sample sample;

		memcpy(cut, whole, size);
		cut->size = size;
		assert_false(perf_record_parse_sample(cut, PERF_RECORD_SAMPLE_TYPE, &sample));
		free(cut);
	}
}

/* The kernel never writes such sizes, but record.h promises that all sizes are checked. */
static void test_a_size_below_that_of_a_header_is_refused(void **state)
{
	struct perf_event_header *header = (void *)builder.words;
	struct perf_record_sample sample;

	for (uint16_t size = 0; size < sizeof(*header); size++) {
		build(&builder, 3, 64, 40);
		header->size = size;
		assert_false(perf_record_parse_sample(header, PERF_RECORD_SAMPLE_TYPE, &sample));
		assert_int_equal(perf_record_time(header), 0);
		header->type = PERF_RECORD_EXIT;
		assert_null(perf_record_id(header));
		assert_int_equal(perf_record_time(header), 0);
		assert_null(record_text(header, sizeof(struct perf_record_comm)));
	}
}

static void test_the_largest_sample_is_whole(void **state)
{
	/* 8 + 6 * 8 + 8 + 8 + 17 * 8 + 8 + stack + 8 = 65528, the largest multiple of 8 */
	uint64_t size = 65528 - 8 * (12 + arch_host()->n_registers - 1);
	const struct perf_event_header *header = build(&builder, 0, size, size);
	struct perf_record_sample sample;

	assert_int_equal(header->size, builder.n * 8);
	assert_true(perf_record_parse_sample(header, PERF_RECORD_SAMPLE_TYPE, &sample));
	assert_int_equal(sample.stack_size, size);
}

/* Records other than samples: their text and their sample_id tail. */
static struct perf_record_comm *build_comm(const char *name, size_t name_size)
{
	struct perf_record_comm *comm = (void *)builder.words;
	struct perf_record_id id = { 101, 102, 2000, 88, 3, 0 };

	memset(builder.words, 0x55, 256);
	comm->header = (struct perf_event_header){ PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC,
						   sizeof(*comm) + name_size + sizeof(id) };
	memcpy(comm->name, name, name_size);
	memcpy(comm->name + name_size, &id, sizeof(id));
	return comm;
}

static void test_the_tail_emits_time_and_task(void **state)
{
	struct perf_record_comm *comm = build_comm("name\0\0\0", 8);

	assert_int_equal(perf_record_time(&comm->header), 2000);
	assert_int_equal(perf_record_id(&comm->header)->tid, 102);
	assert_int_equal(perf_record_id(&comm->header)->cpu, 3);
	assert_true(perf_record_comm_is_exec(&comm->header));
	comm->header.misc = 0;
	assert_false(perf_record_comm_is_exec(&comm->header));
	comm->header.size = sizeof(comm->header) + sizeof(struct perf_record_id) - 8;
	assert_null(perf_record_id(&comm->header));
	assert_int_equal(perf_record_time(&comm->header), 0);
}

static void test_a_text_ends_within_its_record(void **state)
{
	struct perf_record_comm *comm = build_comm("name\0\0\0", 8);

	assert_string_equal(record_text(&comm->header, sizeof(*comm)), "name");
	comm = build_comm("\0\0\0\0\0\0\0", 8);
	assert_string_equal(record_text(&comm->header, sizeof(*comm)), "");
	comm = build_comm("12345678", 8); /* zero bytes only in the tail */
	assert_null(record_text(&comm->header, sizeof(*comm)));
	comm = build_comm("", 0);
	assert_null(record_text(&comm->header, sizeof(*comm)));
	for (uint16_t size = 0; size < sizeof(*comm) + sizeof(struct perf_record_id); size += 8) {
		comm = build_comm("name\0\0\0", 8);
		comm->header.size = size;
		assert_null(record_text(&comm->header, sizeof(*comm)));
	}
}

/* The kernel's output with one, two and three recorders. */
static void test_the_tail_of_kernel_code_is_behind_its_name(void **state)
{
	static const char *const names[] = { "", "1234567", "12345678",
					     "bpf_prog_1234567812345678" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		for (int n_others = 0; n_others < 3; n_others++) {
			const struct perf_event_header *header;
			size_t n_words = strlen(names[i]) / 8 + 1;

			memset(&builder, 0x77, sizeof(builder));
			builder.n = 1;
			put(&builder, 0xffffffffc0000000);
			put(&builder, 0x40);
			memset(builder.words + builder.n, 0, n_words * 8);
			memcpy(builder.words + builder.n, names[i], strlen(names[i]));
			builder.n += n_words;
			put(&builder, (uint64_t)102 << 32 | 101);
			put(&builder, 1000);
			put(&builder, 88);
			put(&builder, 3);
			builder.n += n_others * sizeof(struct perf_record_id) / 8;
			header = finish(&builder, PERF_RECORD_KSYMBOL);
			assert_int_equal(perf_record_time(header), 1000);
			assert_int_equal(perf_record_id(header)->tid, 102);
			assert_int_equal(perf_record_id(header)->cpu, 3);
		}
}

/* A name without terminator has no tail after it. */
static void test_damaged_ksymbol_record_ends_at_its_size(void **state)
{
	for (size_t n_words = 1; n_words < 16; n_words++) {
		const struct perf_event_header *header;

		memset(&builder, 0x77, sizeof(builder));
		builder.n = n_words;
		header = finish(&builder, PERF_RECORD_KSYMBOL);
		assert_int_equal(record_end(header, sizeof(struct perf_record_id)), n_words * 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_tail_of_kernel_code_is_behind_its_name),
		cmocka_unit_test(test_damaged_ksymbol_record_ends_at_its_size),
		cmocka_unit_test(test_a_sample_is_taken_apart),
		cmocka_unit_test(test_a_sample_of_several_occurrences_has_no_period),
		cmocka_unit_test(test_a_sample_without_user_side_has_no_registers),
		cmocka_unit_test(test_data_of_a_sample_are_taken_apart),
		cmocka_unit_test(test_the_stack_is_bounded_by_its_valid_size),
		cmocka_unit_test(test_lengths_beyond_the_record_are_refused),
		cmocka_unit_test(test_stack_size_must_be_a_multiple_of_8),
		cmocka_unit_test(test_every_truncation_is_refused),
		cmocka_unit_test(test_a_size_below_that_of_a_header_is_refused),
		cmocka_unit_test(test_the_largest_sample_is_whole),
		cmocka_unit_test(test_the_tail_emits_time_and_task),
		cmocka_unit_test(test_a_text_ends_within_its_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
