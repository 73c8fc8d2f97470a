/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events and their titles from the attributes of a perf.data file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "perfdata-source/test-perf-file.h"

static void test_attrs_of_other_sizes(void **state)
{
	static const size_t sizes[] = { 64, 72, 96, 112, 128, 136, 144, 4096 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const struct event *event = &header.events.list[0];

		begin_file(sizes[i], 1);
		assert_int_equal(read_file(), 0);
		assert_int_equal(header.events.n, 1);
		assert_int_equal(event->type, PERF_TYPE_SOFTWARE);
		assert_int_equal(event->config, PERF_COUNT_SW_CPU_CLOCK);
		assert_int_equal(event->rate, 100);
		assert_int_equal(event->period, 0);
		assert_int_equal(event->layout.sample_type, make_attr(0).sample_type);
		assert_int_equal(event->layout.read_format, PERF_FORMAT_ID);
		assert_true(event->layout.sample_id_all);
		/* A 64-byte attr has neither field. */
		assert_int_equal(event->layout.register_mask, sizes[i] < 96 ? 0 : 0xff0fff);
		assert_int_equal(event->stack_size, sizes[i] < 96 ? 0 : 4096);
		assert_true(input.is_seekable);
		assert_false(header.is_pipe);
		close_file();
	}
}

static void test_attrs_of_impossible_sizes(void **state)
{
	static const size_t sizes[] = { 0, 8, 48, 63, 4097, 65536 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		begin_file(sizes[i], 1);
		assert_outcome(PERFDATA_E_DAMAGED);
	}
	begin_file(64, 1);
	for (uint64_t entry_size = 0; entry_size < 64 + sizeof(struct section); entry_size++) {
		set_word(16, entry_size);
		assert_outcome(PERFDATA_E_DAMAGED);
	}
	for (int shift = 0; shift < 64; shift++) {
		set_word(16, UINT64_MAX << shift);
		assert_true(read_file() > 0);
		close_file();
	}
}

static void test_several_attrs_are_distinguished_by_ids(void **state)
{
	begin_file(136, 5);
	assert_int_equal(read_file(), 0);
	assert_int_equal(header.events.n, 5);
	for (uint64_t i = 0; i < 5; i++) {
		assert_int_equal(header.events.list[i].rate, 100 + i);
		assert_ptr_equal(event_of(1000 + i), &header.events.list[i]);
		assert_ptr_equal(event_of(2000 + i), &header.events.list[i]);
	}
	assert_null(event_of(3000));
	assert_ptr_equal(event_of(0), &header.events.list[0]); /* synthesized by perf */
	close_file();
}

/* With one attr ids are irrelevant. */
static void test_a_single_attr_owns_all_records(void **state)
{
	begin_file(136, 1);
	assert_int_equal(read_file(), 0);
	assert_ptr_equal(event_of(77), &header.events.list[0]);
	close_file();
}

static void test_no_attrs_at_all(void **state)
{
	begin_file(136, 0);
	assert_int_equal(read_file(), 0);
	events_settle(&header.events, arch_host());
	assert_null(events_first(&header.events, 0));
	assert_null(event_of(0));
	close_file();
}

static void assert_title(uint32_t number, const char *expected)
{
	char title[EVENT_NAME_SIZE];

	events_title(&header.events, number, title);
	assert_string_equal(title, expected);
}

static void set_type(size_t i, uint32_t type, uint64_t config)
{
	size_t at = ATTRS_AT + i * (136 + sizeof(struct section));

	memcpy(file + at, &type, sizeof(type));
	set_word(at + offsetof(struct perf_event_attr, config), config);
}

/* perf record -a also opens a dummy event, which is never sampled. */
static void test_the_dummy_event_has_no_samples(void **state)
{
	begin_file(136, 2);
	set_type(0, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	assert_int_equal(read_file(), 0);
	events_settle(&header.events, arch_host());
	assert_int_equal(header.events.n_numbers, 1);
	assert_int_equal(header.events.list[0].number, EVENT_NOT_SAMPLED);
	assert_ptr_equal(events_first(&header.events, 0), &header.events.list[1]);
	assert_title(0, "cpu-clock");
	close_file();
}

/* On aarch64 with SVE perf also records VG. */
static void test_registers_are_those_of_the_machine(void **state)
{
	const struct event *event = &header.events.list[0];

	begin_file(136, 1);
	set_word(ATTRS_AT + offsetof(struct perf_event_attr, sample_regs_user), 0x4001ffffffff);
	assert_int_equal(read_file(), 0);
	events_settle(&header.events, &arch_aarch64);
	assert_ptr_equal(header.events.arch, &arch_aarch64);
	assert_true(event->has_registers);
	assert_int_equal(event->register_at[32], 32);
	events_settle(&header.events, &arch_x86_64);
	assert_true(event->has_registers); /* these bits include x86-64's */
	assert_int_equal(event->register_at[16], 23);
	close_file();
	begin_file(136, 1);
	set_word(ATTRS_AT + offsetof(struct perf_event_attr, sample_regs_user),
		 arch_x86_64.register_mask);
	assert_int_equal(read_file(), 0);
	events_settle(&header.events, &arch_aarch64);
	assert_false(event->has_registers);
	close_file();
}

/* perf record -e dummy: the only event recorded. */
static void test_a_dummy_alone_is_the_event(void **state)
{
	begin_file(136, 1);
	set_type(0, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	assert_int_equal(read_file(), 0);
	events_settle(&header.events, arch_host());
	assert_int_equal(header.events.n_numbers, 1);
	assert_title(0, "type-1/config=0x9/");
	close_file();
}

/* The feature EVENT_DESC for these attrs, with these names. */
static size_t describe(uint8_t *ret, size_t n, const char *const names[])
{
	const uint32_t head[] = { n, 136 };
	size_t size = sizeof(head);

	memcpy(ret, head, sizeof(head));
	for (size_t i = 0; i < n; i++) {
		const uint32_t sizes[] = { 2, 64 };

		memcpy(ret + size, file + ATTRS_AT + i * (136 + sizeof(struct section)), 136);
		memcpy(ret + size + 136, sizes, sizeof(sizes));
		memset(ret + size + 144, 0, 64 + 16);
		memcpy(ret + size + 144, names[i], strlen(names[i]));
		size += 144 + 64 + 16;
	}
	return size;
}

static void put_names(size_t n, const char *const names[])
{
	static uint8_t bytes[4096];
	const struct feature feature = { FEATURE_EVENT_DESC, bytes, describe(bytes, n, names) };

	put_features(&feature, 1);
}

static void test_names(void **state)
{
	begin_file(136, 3);
	set_type(2, PERF_TYPE_TRACEPOINT, 123);
	put_names(3, (const char *const[]){ "cpu-clock:u", "", "sched:\033[1m\tswitch" });
	assert_int_equal(read_file(), 0);
	events_settle(&header.events, arch_host());
	assert_int_equal(header.n_skipped, 0);
	assert_int_equal(header.events.n_numbers, 3);
	assert_title(0, "cpu-clock:u");
	assert_title(1, "cpu-clock"); /* named by what it counts */
	assert_title(2, "sched:\\u{1b}[1m\\u{9}switch");
	close_file();
}

static void test_names_of_other_events_are_ignored(void **state)
{
	begin_file(136, 2);
	put_names(2, (const char *const[]){ "a", "b" });
	set_type(1, PERF_TYPE_RAW, 0xc0);
	assert_int_equal(read_file(), 0);
	events_settle(&header.events, arch_host());
	assert_int_equal(header.n_skipped, 1);
	assert_title(0, "a");
	assert_title(1, "type-4/config=0xc0/");
	close_file();
}

static void test_damaged_names(void **state)
{
	static uint8_t bytes[4096];
	size_t size;

	begin_file(136, 2);
	size = describe(bytes, 2, (const char *const[]){ "a", "b" });
	assert_int_equal(read_file(), 0);
	assert_true(events_take_names(&header.events, bytes, size));
	for (size_t cut = 0; cut < size; cut++) {
		uint8_t *part = malloc(cut + 1); /* exact size, for sanitizers */

		memcpy(part, bytes, cut);
		assert_false(events_take_names(&header.events, part, cut));
		free(part);
	}
	for (size_t at = 0; at < size; at++) { /* any outcome is allowed */
		bytes[at] ^= 0xff;
		events_take_names(&header.events, bytes, size);
		bytes[at] ^= 0xff;
	}
	close_file();
}

/* The upper half of `config` is a PMU number. */
static void test_cycles_of_several_pmus_are_one(void **state)
{
	static const char *const names[] = { "cpu_atom/cycles/P", "cpu_core/cycles/P",
					     "cpu_core/instructions/", "cpu_atom/instructions/" };

	begin_file(136, 4);
	set_type(0, PERF_TYPE_HARDWARE, 10ULL << 32 | PERF_COUNT_HW_CPU_CYCLES);
	set_type(1, PERF_TYPE_HARDWARE, 4ULL << 32 | PERF_COUNT_HW_CPU_CYCLES);
	set_type(2, PERF_TYPE_HARDWARE, 4ULL << 32 | PERF_COUNT_HW_INSTRUCTIONS);
	set_type(3, PERF_TYPE_HARDWARE, 10ULL << 32 | PERF_COUNT_HW_INSTRUCTIONS);
	put_names(4, names);
	assert_int_equal(read_file(), 0);
	events_settle(&header.events, arch_host());
	assert_int_equal(header.events.n_numbers, 2);
	assert_int_equal(header.events.list[1].number, 0);
	assert_int_equal(header.events.list[3].number, 1);
	assert_title(0, "cycles:P");
	assert_title(1, "instructions");
	close_file();
}

/* A recording that was killed has no names. */
static void test_cycles_of_several_pmus_without_names(void **state)
{
	begin_file(136, 3);
	set_type(0, PERF_TYPE_HARDWARE, 10ULL << 32 | PERF_COUNT_HW_CPU_CYCLES);
	set_type(1, PERF_TYPE_HARDWARE, 4ULL << 32 | PERF_COUNT_HW_CPU_CYCLES);
	set_type(2, PERF_TYPE_HARDWARE, 4ULL << 32 | PERF_COUNT_HW_CACHE_MISSES);
	assert_int_equal(read_file(), 0);
	events_settle(&header.events, arch_host());
	assert_int_equal(header.events.n_numbers, 2);
	assert_title(0, "cycles");
	assert_title(1, "cache-misses");
	close_file();
}

/* Events specific to a PMU have that PMU's type. */
static void test_named_events_of_several_pmus_are_one(void **state)
{
	static const char *const names[] = { "cpu_core/mem-loads/u", "cpu_atom/mem-loads/u",
					     "ibs_op//", "ibs_fetch//", "cpu_core/other/" };

	begin_file(136, 5);
	set_type(0, PERF_TYPE_RAW, 0x1cd);
	set_type(1, 10, 0x5d0);
	set_type(2, 11, 0);
	set_type(3, 12, 0);
	set_type(4, PERF_TYPE_RAW, 0x2cd);
	put_names(5, names);
	assert_int_equal(read_file(), 0);
	events_settle(&header.events, arch_host());
	assert_int_equal(header.events.n_numbers, 4);
	assert_title(0, "mem-loads:u");
	assert_title(1, "ibs_op//");
	assert_title(2, "ibs_fetch//");
	assert_title(3, "cpu_core/other/"); /* of only one PMU */
	close_file();
}

/* perf record -e cycles -e cycles, with one PMU that has it only once. */
static void test_the_same_event_twice_is_two(void **state)
{
	begin_file(136, 5);
	set_type(0, PERF_TYPE_HARDWARE, 4ULL << 32);
	set_type(1, PERF_TYPE_HARDWARE, 10ULL << 32);
	set_type(2, PERF_TYPE_HARDWARE, 4ULL << 32);
	set_type(3, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	set_type(4, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	assert_int_equal(read_file(), 0);
	events_settle(&header.events, arch_host());
	assert_int_equal(header.events.n_numbers, 4);
	assert_int_equal(header.events.list[1].number, 0);
	assert_int_equal(header.events.list[2].number, 1);
	close_file();
}

/* Records without id belong to the first event. */
static void test_records_without_ids(void **state)
{
	const struct {
		struct perf_event_header header;
		uint64_t words[4];
	} record = { { PERF_RECORD_COMM, 0, sizeof(record) }, { 1, 2, 3, 4 } };
	struct perf_event_attr attr = make_attr(0);

	begin_file(sizeof(attr), 2);
	attr.sample_id_all = 0;
	memcpy(file + ATTRS_AT, &attr, sizeof(attr));
	assert_int_equal(read_file(), 0);
	assert_ptr_equal(events_of_record(&header.events, &record.header), &header.events.list[0]);
	close_file();
}

static void test_a_fixed_period_is_no_rate(void **state)
{
	struct perf_event_attr attr = make_attr(0);

	attr.freq = 0;
	attr.sample_period = 12345;
	attr.use_clockid = 1;
	attr.clockid = 1;
	begin_file(sizeof(attr), 1);
	memcpy(file + ATTRS_AT, &attr, sizeof(attr));
	assert_int_equal(read_file(), 0);
	assert_int_equal(header.events.list[0].period, 12345);
	assert_int_equal(header.events.list[0].rate, 0);
	assert_true(header.events.list[0].is_clockid);
	assert_int_equal(header.events.list[0].clockid, 1);
	close_file();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attrs_of_other_sizes),
		cmocka_unit_test(test_attrs_of_impossible_sizes),
		cmocka_unit_test(test_several_attrs_are_distinguished_by_ids),
		cmocka_unit_test(test_a_single_attr_owns_all_records),
		cmocka_unit_test(test_no_attrs_at_all),
		cmocka_unit_test(test_the_dummy_event_has_no_samples),
		cmocka_unit_test(test_registers_are_those_of_the_machine),
		cmocka_unit_test(test_a_dummy_alone_is_the_event),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_names_of_other_events_are_ignored),
		cmocka_unit_test(test_damaged_names),
		cmocka_unit_test(test_cycles_of_several_pmus_are_one),
		cmocka_unit_test(test_cycles_of_several_pmus_without_names),
		cmocka_unit_test(test_named_events_of_several_pmus_are_one),
		cmocka_unit_test(test_the_same_event_twice_is_two),
		cmocka_unit_test(test_records_without_ids),
		cmocka_unit_test(test_a_fixed_period_is_no_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
