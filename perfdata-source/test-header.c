/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Headers of perf.data files and pipes: features, build-ids, and damaged data. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "perfdata-source/test-perf-file.h"

enum {
	BUILD_ID_AT = 12,    /* in a build-id record, after header and pid */
	BUILD_ID_FIXED = 36, /* the path follows */
	MISC_SIZE = 1 << 15, /* PERF_RECORD_MISC_BUILD_ID_SIZE */
	HEADER_LAST = 256,
};

/* A text as perf writes it: its size first, padded with zeros. */
struct text {
	uint32_t size;
	char text[64];
};

static const struct text host = { 64, "elsewhere.example" }, arch = { 64, "x86_64" },
			 release = { 64, "6.1.0-test" };

static void test_features(void **state)
{
	static const uint32_t cpus[] = { 8, 6 }, zstd[] = { 0, 1, 1, 26, 528384 };
	static const uint64_t times[] = { 111222333, 444555666 };
	static const struct feature features[] = {
		{ FEATURE_HOSTNAME, &host, sizeof(host) },
		{ FEATURE_OSRELEASE, &release, sizeof(release) },
		{ FEATURE_ARCH, &arch, sizeof(arch) },
		{ FEATURE_NRCPUS, cpus, sizeof(cpus) },
		{ FEATURE_SAMPLE_TIME, times, sizeof(times) },
		{ FEATURE_DIR_FORMAT, "\1\0\0\0\0\0\0", 8 },
		{ FEATURE_COMPRESSED, zstd, sizeof(zstd) },
		{ 200, "unknown", 7 },
	};

	begin_file(136, 1);
	put_features(features, sizeof(features) / sizeof(*features));
	assert_int_equal(read_file(), 0);
	assert_string_equal(header.host, "elsewhere.example");
	assert_string_equal(header.os_release, "6.1.0-test");
	assert_string_equal(header.arch, "x86_64");
	assert_int_equal(header.n_cpus, 8);
	assert_int_equal(header.first_time, 111222333);
	assert_true(header.is_directory);
	assert_true(header.is_zstd);
	assert_int_equal(header.n_skipped, 0);
	close_file();
}

/* perf writes all ones if samples have no time. */
static void test_no_time_of_a_first_sample(void **state)
{
	static const uint64_t times[] = { UINT64_MAX, 0 };
	static const struct feature feature = { FEATURE_SAMPLE_TIME, times, sizeof(times) };

	begin_file(136, 1);
	put_features(&feature, 1);
	assert_int_equal(read_file(), 0);
	assert_int_equal(header.first_time, 0);
	close_file();
}

static void test_no_features(void **state)
{
	begin_file(136, 1);
	assert_int_equal(read_file(), 0);
	assert_string_equal(header.host, "");
	assert_int_equal(header.n_cpus, 0);
	assert_int_equal(header.first_time, 0);
	assert_false(header.is_directory);
	assert_false(header.is_zstd);
	assert_int_equal(header.n_skipped, 0);
	close_file();
}

static void test_only_zstd_is_zstd(void **state)
{
	static const uint32_t other[] = { 0, 2, 1, 26, 528384 };
	static const struct feature feature = { FEATURE_COMPRESSED, other, sizeof(other) };

	begin_file(136, 1);
	put_features(&feature, 1);
	assert_int_equal(read_file(), 0);
	assert_false(header.is_zstd);
	close_file();
}

/* Damage to the first of three features must not affect the others. */
static void assert_others_are_read(void)
{
	assert_int_equal(read_file(), 0);
	assert_string_equal(header.arch, "x86_64");
	assert_int_equal(header.n_cpus, 8);
}

static size_t put_three(const void *first, size_t size)
{
	static const uint32_t cpus[] = { 8, 6 };
	const struct feature features[] = {
		{ FEATURE_HOSTNAME, first, size },
		{ FEATURE_ARCH, &arch, sizeof(arch) },
		{ FEATURE_NRCPUS, cpus, sizeof(cpus) },
	};
	size_t table_at;

	begin_file(136, 1);
	table_at = file_size;
	put_features(features, 3);
	return table_at;
}

static void test_a_damaged_feature_does_not_stop_the_others(void **state)
{
	static const struct text lying = { 61, "a text longer than it is" };

	put_three(&lying, sizeof(lying) - 4);
	assert_others_are_read();
	assert_string_equal(header.host, "");
	close_file();
	for (size_t size = 0; size < 4; size++) {
		put_three(&host, size);
		assert_others_are_read();
		assert_string_equal(header.host, "");
		close_file();
	}
}

static void test_a_feature_outside_the_file_is_skipped(void **state)
{
	static const uint64_t wrong[] = { FILE_MAX, INT64_MAX, UINT64_MAX };

	for (int word = 0; word < 2; word++)
		for (size_t i = 0; i < 3; i++) {
			size_t table_at = put_three(&host, sizeof(host));

			set_word(table_at + word * 8, wrong[i]);
			assert_others_are_read();
			assert_string_equal(header.host, "");
			assert_int_equal(header.n_skipped, 1);
			close_file();
		}
}

static void test_a_truncated_feature_table_is_counted(void **state)
{
	size_t table_at = put_three(&host, sizeof(host));

	assert_int_equal(read_part(table_at + 20), 0);
	assert_int_equal(header.events.n, 1);
	assert_true(header.n_skipped > 0);
	close_file();
}

static void test_a_long_text_is_cut(void **state)
{
	struct {
		uint32_t size;
		char text[1000];
	} longest = { sizeof(longest.text), "" };

	memset(longest.text, 'x', sizeof(longest.text));
	put_three(&longest, sizeof(longest));
	assert_others_are_read();
	assert_int_equal(strlen(header.host), sizeof(header.host) - 1);
	close_file();
}

/* A build-id record as perf writes it; new versions include a size. */
static size_t make_build_id(uint8_t *at, uint16_t misc, uint8_t id_size, const char *path)
{
	size_t size = BUILD_ID_FIXED + ((strlen(path) + 8) & ~7UL);
	struct perf_event_header record = { 0, misc, size };

	memset(at, 0, size);
	memcpy(at, &record, sizeof(record));
	memset(at + BUILD_ID_AT, 0xb1, BUILD_ID_BYTES);
	at[BUILD_ID_AT + BUILD_ID_BYTES] = id_size;
	strcpy((char *)at + BUILD_ID_FIXED, path);
	return size;
}

static void read_build_ids(const void *bytes, size_t size)
{
	const struct feature feature = { FEATURE_BUILD_ID, bytes, size };

	begin_file(136, 1);
	put_features(&feature, 1);
	assert_int_equal(read_file(), 0);
}

static void assert_build_id(const char *path, size_t size)
{
	const struct header_build_id *found = header_find_build_id(&header, path);

	assert_non_null(found);
	assert_int_equal(found->size, size);
	assert_int_equal(found->bytes[0], 0xb1);
}

static void test_build_ids_with_and_without_a_size(void **state)
{
	uint8_t bytes[1024];
	size_t size;

	size = make_build_id(bytes, PERF_RECORD_MISC_KERNEL, 0, "[kernel.kallsyms]");
	size += make_build_id(bytes + size, PERF_RECORD_MISC_USER, 7, "/old");
	size += make_build_id(bytes + size, PERF_RECORD_MISC_USER | MISC_SIZE, 8, "/short");
	size += make_build_id(bytes + size, PERF_RECORD_MISC_USER | MISC_SIZE, 20, "/usual");
	size += make_build_id(bytes + size, PERF_RECORD_MISC_USER | MISC_SIZE, 255, "/lying");
	read_build_ids(bytes, size);
	assert_int_equal(header.n_build_ids, 5);
	assert_build_id("[kernel.kallsyms]", 20);
	assert_build_id("/old", 20);
	assert_build_id("/short", 8);
	assert_build_id("/usual", 20);
	assert_build_id("/lying", 20);
	assert_true(header_find_build_id(&header, "[kernel.kallsyms]")->is_kernel);
	assert_false(header_find_build_id(&header, "/usual")->is_kernel);
	assert_null(header_find_build_id(&header, "/other"));
	assert_int_equal(header.n_skipped, 0);
	close_file();
}

/* A record's size locates the next record. */
static void test_damaged_build_ids_leave_those_before_them(void **state)
{
	static const uint16_t sizes[] = { 0, 7, 35, 36, 45, UINT16_MAX };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint8_t bytes[128];
		size_t first = make_build_id(bytes, PERF_RECORD_MISC_USER, 0, "/first");
		size_t size = first + make_build_id(bytes + first, 0, 0, "/second");

		memcpy(bytes + first + 6, &sizes[i], 2);
		read_build_ids(bytes, size);
		assert_int_equal(header.n_build_ids, 1);
		assert_build_id("/first", 20);
		assert_true(header.n_skipped > 0);
		close_file();
	}
}

/* Its path is only terminated by the end of the record. */
static void test_a_path_without_an_end(void **state)
{
	uint8_t bytes[64];
	size_t size = make_build_id(bytes, PERF_RECORD_MISC_USER, 0, "/program");

	memset(bytes + BUILD_ID_FIXED, 'p', size - BUILD_ID_FIXED);
	read_build_ids(bytes, size);
	assert_int_equal(header.n_build_ids, 1);
	assert_int_equal(strlen(header.build_ids[0].path), size - BUILD_ID_FIXED);
	close_file();
}

static void test_many_build_ids(void **state)
{
	static uint8_t bytes[1000 * 64];
	size_t size = 0;
	char path[32];

	for (int i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "/lib/%d", i);
		size += make_build_id(bytes + size, PERF_RECORD_MISC_USER, 0, path);
	}
	read_build_ids(bytes, size);
	assert_int_equal(header.n_build_ids, 1000);
	assert_build_id("/lib/0", 20);
	assert_build_id("/lib/999", 20);
	close_file();
}

static void test_other_files_are_refused(void **state)
{
	begin_file(136, 1);
	memcpy(file, "2ELIFREP", 8);
	assert_outcome(PERFDATA_E_BYTE_ORDER);
	memcpy(file, "PERFFILE", 8); /* perf.data format of 2009 */
	assert_outcome(PERFDATA_E_NOT_PERF);
	memcpy(file, "PERFILE3", 8);
	assert_outcome(PERFDATA_E_NOT_PERF);
	memcpy(file, "PERFILE2", 8);
	assert_outcome(0);
	for (file_size = 0; file_size < 16; file_size++)
		assert_outcome(PERFDATA_E_NOT_PERF);
}

static void test_sizes_of_the_header(void **state)
{
	static const uint64_t sizes[] = { 0, 8, 15, 17, 72, 103, 105, 112, UINT64_MAX };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		begin_file(136, 1);
		set_word(8, sizes[i]);
		assert_outcome(PERFDATA_E_DAMAGED);
	}
}

static void test_every_truncation_of_the_head(void **state)
{
	size_t table_at = put_three(&host, sizeof(host)), data_at = table_at - DATA_SIZE;

	for (size_t size = 16; size < data_at; size++) {
		assert_int_equal(read_part(size), PERFDATA_E_CUT);
		close_file();
	}
	for (size_t size = data_at; size < file_size; size++) { /* what is present can be read */
		assert_int_equal(read_part(size), 0);
		assert_int_equal(header.events.n, 1);
		assert_true(header.n_skipped > 0);
		close_file();
	}
}

static void test_sections_outside_of_the_file(void **state)
{
	static const uint64_t wrong[] = { FILE_MAX, INT64_MAX, UINT64_MAX - 7, UINT64_MAX };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		begin_file(136, 1);
		set_word(24, wrong[i]); /* attrs */
		assert_outcome(PERFDATA_E_CUT);

		begin_file(136, 1);
		set_word(32, wrong[i]); /* size of attrs; all-zero attrs are not counted */
		assert_true(read_file() > 0);
		close_file();

		begin_file(136, 1);
		set_word(40, wrong[i]); /* data */
		assert_true(read_file() > 0);
		close_file();

		begin_file(136, 1);
		set_word(ATTRS_AT + 136, wrong[i]); /* ids */
		assert_outcome(PERFDATA_E_CUT);

		begin_file(136, 1);
		set_word(ATTRS_AT + 144, wrong[i]);
		assert_true(read_file() > 0);
		close_file();
	}
	begin_file(136, 1);
	set_word(40, HEADER_SIZE - 1);
	assert_outcome(PERFDATA_E_DAMAGED);
	begin_file(136, 1);
	set_word(48, UINT64_MAX);
	assert_outcome(PERFDATA_E_DAMAGED);
}

/* After a killed recording the data section extends to the end of the file. */
static void test_a_recording_that_was_killed(void **state)
{
	const void *bytes;

	put_three(&host, sizeof(host));
	file_size = layout_word(file, 5) + DATA_SIZE;
	set_word(48, 0);
	assert_int_equal(read_file(), 0);
	assert_int_equal(header.n_skipped, 0);
	assert_int_equal(input_take(&input, DATA_SIZE, &bytes), 0);
	assert_int_equal(input_take(&input, 1, &bytes), PERFDATA_END);
	close_file();
}

static void test_more_events_than_there_may_be(void **state)
{
	begin_file(64, EVENTS_MAX);
	assert_int_equal(read_file(), 0);
	assert_int_equal(header.events.n, EVENTS_MAX);
	close_file();
	begin_file(64, EVENTS_MAX + 1);
	assert_outcome(PERFDATA_E_TOO_MANY_EVENTS);
}

/* Flips each bit: any outcome is allowed, but no read outside of the file. */
static void test_every_flipped_bit(void **state)
{
	size_t size;

	put_three(&host, sizeof(host));
	size = file_size;
	for (size_t bit = 0; bit < size * 8; bit++) {
		int r;

		file[bit / 8] ^= 1 << bit % 8;
		r = read_file();
		assert_true(r >= 0 && r <= PERFDATA_E_UNSUPPORTED);
		close_file();
		file[bit / 8] ^= 1 << bit % 8;
	}
}

/* Reads a pipe of these bytes; the file format cannot be read from a pipe. */
static int read_pipe(void)
{
	char path[64];
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], file, file_size), file_size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
	assert_int_equal(input_open(&input, path), 0);
	close(fds[0]);
	close(fds[1]);
	return header_read(&header, &input);
}

static void test_the_head_of_a_pipe(void **state)
{
	const void *bytes;

	begin_file(136, 1);
	set_word(8, 16);
	assert_int_equal(read_pipe(), 0);
	assert_true(header.is_pipe);
	assert_int_equal(input_take(&input, 1, &bytes), 0); /* the first record follows */
	assert_int_equal(*(const uint8_t *)bytes, file[16]);
	close_file();
	assert_int_equal(read_file(), 0); /* the same bytes in a file */
	assert_true(header.is_pipe);
	close_file();
}

static void test_a_file_that_comes_through_a_pipe(void **state)
{
	begin_file(136, 1);
	assert_int_equal(read_pipe(), -ESPIPE);
	close_file();
	set_word(8, 72);
	assert_int_equal(read_pipe(), PERFDATA_E_DAMAGED);
	close_file();
}

/* A record of exactly `size` bytes, for sanitizers. */
static struct perf_event_header *make_record(const void *payload, size_t size)
{
	struct perf_event_header *record = malloc(sizeof(*record) + size);

	*record = (struct perf_event_header){ 0, 0, sizeof(*record) + size };
	memcpy(record + 1, payload, size);
	return record;
}

static int take_attr(const void *payload, size_t size)
{
	struct perf_event_header *record = make_record(payload, size);
	int r = header_take_attr(&header, record);

	free(record);
	return r;
}

static void take_feature(uint64_t id, const void *bytes, size_t size)
{
	struct perf_event_header *record;
	uint8_t payload[256];

	memcpy(payload, &id, sizeof(id));
	memcpy(payload + 8, bytes, size);
	record = make_record(payload, 8 + size);
	header_take_feature(&header, record);
	free(record);
}

static void test_attrs_of_a_pipe(void **state)
{
	struct {
		struct perf_event_attr attr;
		uint64_t ids[2];
	} payload = { make_attr(1), { 1001, 2001 } };

	memset(&header, 0, sizeof(header));
	events_init(&header.events);
	assert_int_equal(take_attr(&payload, sizeof(payload)), 0);
	payload.ids[0] = 1002;
	payload.attr.sample_freq = 102;
	assert_int_equal(take_attr(&payload, sizeof(payload) - 8), 0);
	assert_int_equal(header.events.n, 2);
	assert_int_equal(event_of(1001)->rate, 101);
	assert_int_equal(event_of(2001)->rate, 101);
	assert_int_equal(event_of(1002)->rate, 102);

	payload.attr.size = 64;
	assert_int_equal(take_attr(&payload, 64), 0);
	payload.attr.size = 0; /* 0 means 64 */
	assert_int_equal(take_attr(&payload, 64), 0);
	assert_int_equal(take_attr(&payload, 63), PERFDATA_E_DAMAGED);
	payload.attr.size = 63;
	assert_int_equal(take_attr(&payload, sizeof(payload)), PERFDATA_E_DAMAGED);
	payload.attr.size = UINT32_MAX;
	assert_int_equal(take_attr(&payload, sizeof(payload)), PERFDATA_E_DAMAGED);
	payload.attr.size = sizeof(payload.attr);
	for (size_t size = 0; size < sizeof(payload.attr); size++)
		assert_int_equal(take_attr(&payload, size), PERFDATA_E_DAMAGED);
	header_deinit(&header);
}

static void test_features_of_a_pipe(void **state)
{
	uint8_t bytes[128];
	size_t size = make_build_id(bytes, PERF_RECORD_MISC_USER, 0, "/program");
	struct perf_event_header *record;

	memset(&header, 0, sizeof(header));
	events_init(&header.events);
	take_feature(FEATURE_HOSTNAME, &host, sizeof(host));
	take_feature(FEATURE_ARCH, &arch, 30); /* truncated */
	take_feature(HEADER_LAST, "", 0);
	take_feature(UINT64_MAX, "", 0);
	assert_string_equal(header.host, "elsewhere.example");
	assert_string_equal(header.arch, "");
	for (size_t i = 0; i < 8; i++) {
		record = make_record(bytes, i); /* too short for a feature number */
		header_take_feature(&header, record);
		free(record);
	}

	record = make_record(bytes + sizeof(*record), size - sizeof(*record));
	header_take_build_id(&header, (const void *)record, record->size);
	assert_build_id("/program", 20);
	record->size = BUILD_ID_FIXED;
	header_take_build_id(&header, (const void *)record, record->size);
	assert_int_equal(header.n_build_ids, 1);
	assert_int_equal(header.n_skipped, 1);
	free(record);
	header_deinit(&header);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_features),
		cmocka_unit_test(test_no_time_of_a_first_sample),
		cmocka_unit_test(test_no_features),
		cmocka_unit_test(test_only_zstd_is_zstd),
		cmocka_unit_test(test_a_damaged_feature_does_not_stop_the_others),
		cmocka_unit_test(test_a_feature_outside_the_file_is_skipped),
		cmocka_unit_test(test_a_truncated_feature_table_is_counted),
		cmocka_unit_test(test_a_long_text_is_cut),
		cmocka_unit_test(test_build_ids_with_and_without_a_size),
		cmocka_unit_test(test_damaged_build_ids_leave_those_before_them),
		cmocka_unit_test(test_a_path_without_an_end),
		cmocka_unit_test(test_many_build_ids),
		cmocka_unit_test(test_other_files_are_refused),
		cmocka_unit_test(test_sizes_of_the_header),
		cmocka_unit_test(test_every_truncation_of_the_head),
		cmocka_unit_test(test_sections_outside_of_the_file),
		cmocka_unit_test(test_a_recording_that_was_killed),
		cmocka_unit_test(test_more_events_than_there_may_be),
		cmocka_unit_test(test_every_flipped_bit),
		cmocka_unit_test(test_the_head_of_a_pipe),
		cmocka_unit_test(test_a_file_that_comes_through_a_pipe),
		cmocka_unit_test(test_attrs_of_a_pipe),
		cmocka_unit_test(test_features_of_a_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
