/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#include "perfdata-source/records.h"

enum {
	FILE_MAX = 4 * 1024 * 1024,
	PAYLOAD_MAX = UINT16_MAX - 8,
	RECORD_MARK = 3, /* a type without meaning to the reader */
};

/* The file being assembled. */
static uint8_t file[FILE_MAX];
static size_t file_size;

static void put(const void *bytes, size_t size)
{
	assert_true(size <= FILE_MAX - file_size);
	memcpy(file + file_size, bytes, size);
	file_size += size;
}

static void put_header(uint32_t type, uint16_t size)
{
	put(&(struct perf_event_header){ type, 0, size }, 8);
}

static void put_record(uint32_t type, const void *bytes, size_t size)
{
	put_header(type, 8 + size);
	put(bytes, size);
}

/* An identifiable record. */
struct mark {
	struct perf_event_header header;
	uint64_t number;
};

static struct mark mark(uint64_t number)
{
	return (struct mark){ { RECORD_MARK, 0, sizeof(struct mark) }, number };
}

static void put_mark(uint64_t number)
{
	struct mark record = mark(number);

	put(&record, sizeof(record));
}

/* The same in the format of newer perf versions: size first, then padding. */
static void put_compressed2(const void *bytes, uint64_t size)
{
	static const uint8_t padding[7] = { 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee };
	size_t n_padding = -size & 7;

	put_header(RECORD_COMPRESSED2, 16 + size + n_padding);
	put(&size, sizeof(size));
	put(bytes, size);
	put(padding, n_padding);
}

static ZSTD_CCtx *encoder;
static uint8_t compressed[PAYLOAD_MAX];

/* Like perf: one stream for the whole file, flushed after each record. */
static size_t compress(const void *bytes, size_t size)
{
	ZSTD_inBuffer in = { bytes, size, 0 };
	ZSTD_outBuffer out = { compressed, sizeof(compressed), 0 };

	assert_int_equal(ZSTD_compressStream2(encoder, &out, &in, ZSTD_e_flush), 0);
	return out.pos;
}

static int set_up(void **state)
{
	file_size = 0;
	encoder = ZSTD_createCCtx();
	return encoder ? 0 : -1;
}

static int tear_down(void **state)
{
	ZSTD_freeCCtx(encoder);
	return 0;
}

/* A reader of the first `size` bytes of the file in a block of exact size, for sanitizers. */
struct reader {
	struct input input;
	struct records records;
	struct perf_event_header header;
	const uint8_t *bytes;
};

static void open_bytes(struct reader *reader, size_t size)
{
	uint8_t *copy = malloc(size + !size);

	memcpy(copy, file, size);
	reader->input = (struct input){
		.fd = -1,
		.is_seekable = true,
		.is_our_own = true,
		.map = (const char *)copy,
		.map_size = size,
		.left = UINT64_MAX,
	};
	records_init(&reader->records, &reader->input);
}

static void close_bytes(struct reader *reader)
{
	records_deinit(&reader->records);
	free((void *)reader->input.map);
}

static int next(struct reader *reader)
{
	return records_next(&reader->records, &reader->header, &reader->bytes);
}

static void assert_mark(struct reader *reader, uint64_t number)
{
	struct mark record;

	assert_int_equal(next(reader), 0);
	memcpy(&record, reader->bytes, sizeof(record));
	assert_int_equal(reader->header.type, RECORD_MARK);
	assert_int_equal(record.number, number);
}

/* A file of marks from 0 on must give these marks and end. */
static void assert_marks(uint64_t n)
{
	struct reader reader;

	open_bytes(&reader, file_size);
	for (uint64_t i = 0; i < n; i++)
		assert_mark(&reader, i);
	assert_int_equal(next(&reader), PERFDATA_END);
	assert_int_equal(next(&reader), PERFDATA_END);
	close_bytes(&reader);
}

/* The outcome after `n` marks. */
static void assert_outcome(uint64_t n, int outcome)
{
	struct reader reader;

	open_bytes(&reader, file_size);
	for (uint64_t i = 0; i < n; i++)
		assert_mark(&reader, i);
	assert_int_equal(next(&reader), outcome);
	close_bytes(&reader);
}

static void test_no_records(void **state)
{
	assert_marks(0);
}

static void test_plain_records(void **state)
{
	for (uint64_t i = 0; i < 1000; i++)
		put_mark(i);
	assert_marks(1000);
}

static void test_records_of_odd_sizes(void **state)
{
	struct reader reader;

	put_record(RECORD_MARK, "abc", 3);
	put_record(RECORD_MARK, "", 0);
	put_record(RECORD_MARK, compressed, UINT16_MAX - 8);
	open_bytes(&reader, file_size);
	assert_int_equal(next(&reader), 0);
	assert_int_equal(reader.header.size, 11);
	assert_memory_equal(reader.bytes + 8, "abc", 3);
	assert_int_equal(next(&reader), 0);
	assert_int_equal(reader.header.size, 8);
	assert_int_equal(next(&reader), 0);
	assert_int_equal(reader.header.size, UINT16_MAX);
	assert_int_equal(next(&reader), PERFDATA_END);
	close_bytes(&reader);
}

static void test_compressed_records(void **state)
{
	for (uint64_t i = 0; i < 300; i += 3) {
		struct mark pair[] = { mark(i), mark(i + 1) };

		put_record(RECORD_COMPRESSED, compressed, compress(pair, sizeof(pair)));
		put_mark(i + 2);
	}
	assert_marks(300);
}

static void test_compressed_records_that_are_filled_up(void **state)
{
	uint64_t n_padded = 0, n = 0;

	while (n < 300) {
		struct mark three[] = { mark(n), mark(n + 1), mark(n + 2) };
		size_t size = compress(three, sizeof(three));

		put_compressed2(compressed, size);
		n_padded += size % 8 != 0;
		n += 3;
	}
	assert_true(n_padded > 10);
	assert_marks(n);
}

/* perf compresses pieces of a ring, which may end anywhere. */
static void test_records_that_are_split_anywhere(void **state)
{
	struct mark marks[3] = { mark(0), mark(1), mark(2) };
	const uint8_t *bytes = (const uint8_t *)marks;

	for (size_t first = 0; first <= sizeof(marks); first++) {
		size_t second = first + (sizeof(marks) - first) / 2;

		file_size = 0;
		ZSTD_CCtx_reset(encoder, ZSTD_reset_session_only);
		put_record(RECORD_COMPRESSED, compressed, compress(bytes, first));
		put_record(RECORD_COMPRESSED, compressed, compress(bytes + first, second - first));
		put_compressed2(compressed, compress(bytes + second, sizeof(marks) - second));
		assert_marks(3);
	}
}

/* A plain record, such as the mark of a round, between two pieces of one record. */
static void test_a_plain_record_between_two_pieces(void **state)
{
	struct mark one = mark(1);
	const uint8_t *bytes = (const uint8_t *)&one;

	put_record(RECORD_COMPRESSED, compressed, compress(bytes, 11));
	put_mark(0);
	put_record(RECORD_COMPRESSED, compressed, compress(bytes + 11, sizeof(one) - 11));
	assert_marks(2);
}

static void test_a_piece_without_its_other_half_is_a_cut(void **state)
{
	struct mark two[] = { mark(0), mark(1) };

	put_record(RECORD_COMPRESSED, compressed, compress(two, sizeof(two) - 1));
	assert_outcome(1, PERFDATA_E_CUT);
}

/* More than one decoder step and more than the input buffer. */
static void test_much_from_one_record(void **state)
{
	enum { MARKS = 200000 };
	struct mark *marks = malloc(MARKS * sizeof(*marks));
	size_t n = MARKS / 20;

	for (uint64_t i = 0; i < MARKS; i++)
		marks[i] = mark(i);
	for (size_t at = 0; at < MARKS; at += n)
		put_record(RECORD_COMPRESSED, compressed, compress(marks + at, n * sizeof(*marks)));
	free(marks);
	assert_marks(MARKS);
}

/* Only bytes of a mapped file stay valid. */
static void test_bytes_of_a_mapped_file_last(void **state)
{
	struct mark one = mark(1);
	struct reader reader;
	const uint8_t *first;

	put_mark(0);
	put_record(RECORD_COMPRESSED, compressed, compress(&one, sizeof(one)));
	put_mark(2);
	open_bytes(&reader, file_size);
	assert_mark(&reader, 0);
	assert_true(reader.records.is_lasting);
	first = reader.bytes;
	assert_mark(&reader, 1);
	assert_false(reader.records.is_lasting);
	assert_mark(&reader, 2);
	assert_true(reader.records.is_lasting);
	assert_int_equal(first[8], 0);
	close_bytes(&reader);
}

static void test_a_bomb_is_refused(void **state)
{
	static const uint8_t zeros[1024 * 1024];
	ZSTD_outBuffer out = { compressed, sizeof(compressed), 0 };
	struct reader reader;

	for (size_t size = 0; size <= RECORDS_PLAIN_MAX; size += sizeof(zeros)) {
		ZSTD_inBuffer in = { zeros, sizeof(zeros), 0 };

		assert_int_equal(ZSTD_compressStream2(encoder, &out, &in, ZSTD_e_flush), 0);
	}
	put_record(RECORD_COMPRESSED, compressed, out.pos);
	open_bytes(&reader, file_size);
	assert_int_equal(next(&reader), PERFDATA_E_DAMAGED);
	assert_true(reader.records.n_allocated <= RECORDS_PLAIN_MAX);
	close_bytes(&reader);
}

/* A frame of one block with a window of 2^log bytes, one byte too short. */
static void put_frame(unsigned log)
{
	const uint8_t frame[] = { 0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3, 9, 0, 0, 'x' };

	put_record(RECORD_COMPRESSED, frame, sizeof(frame));
}

static void test_a_huge_window_is_refused(void **state)
{
	put_frame(RECORDS_WINDOW_LOG_MAX);
	assert_outcome(0, PERFDATA_E_CUT);
	file_size = 0;
	put_frame(RECORDS_WINDOW_LOG_MAX + 1);
	assert_outcome(0, PERFDATA_E_DAMAGED);
}

static void test_invalid_compressed_data_are_refused(void **state)
{
	put_mark(0);
	put_record(RECORD_COMPRESSED, "this is not zstd", 16);
	put_mark(1);
	assert_outcome(1, PERFDATA_E_DAMAGED);
}

static void test_compressed_sizes_must_fit_the_record(void **state)
{
	static const uint64_t sizes[] = { 17, 1ULL << 32, UINT64_MAX - 7, UINT64_MAX };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		file_size = 0;
		put_header(RECORD_COMPRESSED2, 32);
		put(&sizes[i], 8);
		put(compressed, 16);
		assert_outcome(0, PERFDATA_E_DAMAGED);
	}
	file_size = 0;
	put_record(RECORD_COMPRESSED2, compressed, 7); /* too short for a size */
	assert_outcome(0, PERFDATA_E_DAMAGED);
}

static void test_a_size_below_that_of_a_header_is_refused(void **state)
{
	for (uint16_t size = 0; size < 8; size++) {
		struct perf_event_header header = { RECORD_MARK, 0, size };

		file_size = 0;
		put_mark(0);
		put(&header, sizeof(header));
		put_mark(1);
		assert_outcome(1, PERFDATA_E_DAMAGED);

		file_size = 0;
		ZSTD_CCtx_reset(encoder, ZSTD_reset_session_only);
		put_mark(0);
		put_record(RECORD_COMPRESSED, compressed, compress(&header, sizeof(header)));
		assert_outcome(1, PERFDATA_E_DAMAGED);
	}
}

/* perf's size excludes the padding. */
static void test_what_follows_tracing_data_is_no_record(void **state)
{
	static const uint8_t garbage[16];

	for (uint32_t size = 0; size <= sizeof(garbage); size++) {
		struct reader reader;

		file_size = 0;
		put_record(RECORD_TRACING_DATA, &size, sizeof(size));
		put(garbage, (size + 7) & ~7);
		put_mark(7);
		open_bytes(&reader, file_size);
		assert_int_equal(next(&reader), 0);
		assert_int_equal(reader.header.type, RECORD_TRACING_DATA);
		assert_mark(&reader, 7);
		close_bytes(&reader);
	}
}

static void put_auxtrace(uint64_t size)
{
	uint64_t words[5] = { size };

	put_record(RECORD_AUXTRACE, words, sizeof(words));
}

/* More than one read returns. */
static void test_what_follows_auxtrace_is_no_record(void **state)
{
	static const uint8_t garbage[2 * INPUT_BUFFER + 5];
	struct reader reader;

	put_auxtrace(sizeof(garbage));
	put(garbage, sizeof(garbage));
	put_mark(7);
	open_bytes(&reader, file_size);
	assert_int_equal(next(&reader), 0);
	assert_int_equal(reader.header.type, RECORD_AUXTRACE);
	assert_mark(&reader, 7);
	assert_int_equal(next(&reader), PERFDATA_END);
	close_bytes(&reader);
}

static void test_missing_data_after_a_record_are_a_cut(void **state)
{
	static const uint64_t sizes[] = { 17, 1ULL << 40, INT64_MAX, UINT64_MAX };
	uint32_t size = UINT32_MAX;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		file_size = 0;
		put_auxtrace(sizes[i]);
		put_mark(0);
		assert_outcome(0, PERFDATA_E_CUT);
	}
	file_size = 0;
	put_record(RECORD_TRACING_DATA, &size, sizeof(size));
	put_mark(0);
	assert_outcome(0, PERFDATA_E_CUT);
}

/* Something of every kind of record. */
static void put_mixture(void)
{
	struct mark three[] = { mark(1), mark(2), mark(3) };
	const uint8_t *bytes = (const uint8_t *)three;

	put_mark(0);
	put_record(RECORD_COMPRESSED, compressed, compress(bytes, 20));
	put_compressed2(compressed, compress(bytes + 20, sizeof(three) - 20));
	put_auxtrace(24);
	put(three, 24);
	put_mark(4);
}

/* Reads all records; returns their number and how reading ended. */
static size_t read_all(struct reader *reader, int *ret)
{
	static uint8_t copy[UINT16_MAX];
	size_t n = 0;

	while ((*ret = next(reader)) == 0) {
		memcpy(copy, reader->bytes, reader->header.size); /* every byte is readable */
		n++;
	}
	return n;
}

static void test_every_truncation_ends_cleanly(void **state)
{
	size_t n_ends = 0, n_before = 0;

	put_mixture();
	for (size_t size = 0; size <= file_size; size++) {
		struct reader reader;
		size_t n;
		int r;

		open_bytes(&reader, size);
		n = read_all(&reader, &r);
		assert_true(r == PERFDATA_END || r == PERFDATA_E_CUT);
		assert_true(n >= n_before && n <= 6);
		n_ends += r == PERFDATA_END;
		n_before = n;
		close_bytes(&reader);
	}
	assert_int_equal(n_before, 6);
	assert_int_equal(n_ends, 5); /* nothing; after 0; after 3; after AUXTRACE; after 4 */
}

static void test_every_flipped_bit_comes_to_an_end(void **state)
{
	put_mixture();
	for (size_t bit = 0; bit < file_size * 8; bit++) {
		struct reader reader;
		int r;

		file[bit / 8] ^= 1 << bit % 8;
		open_bytes(&reader, file_size);
		read_all(&reader, &r);
		assert_true(r >= PERFDATA_END && r <= PERFDATA_E_DAMAGED);
		close_bytes(&reader);
		file[bit / 8] ^= 1 << bit % 8;
	}
}

/* A pipe of few bytes whose writer has closed. */
static void open_pipe(struct reader *reader)
{
	char path[64];
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], file, file_size), file_size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
	assert_int_equal(input_open(&reader->input, path), 0);
	close(fds[0]);
	close(fds[1]);
	records_init(&reader->records, &reader->input);
}

static void test_a_pipe(void **state)
{
	struct reader reader;
	int r;

	put_mixture();
	open_pipe(&reader);
	assert_mark(&reader, 0);
	assert_false(reader.records.is_lasting);
	assert_int_equal(read_all(&reader, &r), 5);
	assert_int_equal(r, PERFDATA_END);
	records_deinit(&reader.records);
	input_close(&reader.input);

	file_size--;
	open_pipe(&reader);
	assert_int_equal(read_all(&reader, &r), 5);
	assert_int_equal(r, PERFDATA_E_CUT);
	records_deinit(&reader.records);
	input_close(&reader.input);
}

/* The header holds the size of the records, so an earlier end of file is not a clean end. */
static void test_a_truncated_section_is_a_cut(void **state)
{
	struct reader reader;

	put_mark(0);
	open_bytes(&reader, file_size);
	assert_int_equal(input_seek(&reader.input, 0, file_size + sizeof(struct mark)), 0);
	assert_mark(&reader, 0);
	assert_int_equal(next(&reader), PERFDATA_E_CUT);
	close_bytes(&reader);

	open_bytes(&reader, file_size);
	assert_int_equal(input_seek(&reader.input, 0, file_size), 0);
	assert_mark(&reader, 0);
	assert_int_equal(next(&reader), PERFDATA_END);
	close_bytes(&reader);
}

/* Bytes after the section are not records. */
static void test_nothing_is_read_behind_the_section(void **state)
{
	struct reader reader;

	put_mark(0);
	put_mark(1);
	open_bytes(&reader, file_size);
	assert_int_equal(input_seek(&reader.input, 0, sizeof(struct mark)), 0);
	assert_mark(&reader, 0);
	assert_int_equal(next(&reader), PERFDATA_END);
	assert_int_equal(input_seek(&reader.input, 0, sizeof(struct mark) + 4), 0);
	assert_mark(&reader, 0);
	assert_int_equal(next(&reader), PERFDATA_E_CUT);
	close_bytes(&reader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_records),
		TEST(test_plain_records),
		TEST(test_records_of_odd_sizes),
		TEST(test_compressed_records),
		TEST(test_compressed_records_that_are_filled_up),
		TEST(test_records_that_are_split_anywhere),
		TEST(test_a_plain_record_between_two_pieces),
		TEST(test_a_piece_without_its_other_half_is_a_cut),
		TEST(test_much_from_one_record),
		TEST(test_bytes_of_a_mapped_file_last),
		TEST(test_a_bomb_is_refused),
		TEST(test_a_huge_window_is_refused),
		TEST(test_invalid_compressed_data_are_refused),
		TEST(test_compressed_sizes_must_fit_the_record),
		TEST(test_a_size_below_that_of_a_header_is_refused),
		TEST(test_what_follows_tracing_data_is_no_record),
		TEST(test_what_follows_auxtrace_is_no_record),
		TEST(test_missing_data_after_a_record_are_a_cut),
		TEST(test_every_truncation_ends_cleanly),
		TEST(test_every_flipped_bit_comes_to_an_end),
		TEST(test_a_pipe),
		TEST(test_a_truncated_section_is_a_cut),
		TEST(test_nothing_is_read_behind_the_section),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
