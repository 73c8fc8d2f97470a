/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#include "common/file/zstd-input.h"
#include "common/file/zstd-output.h"

enum { PIECE = 300 * 1000, PIECES = 20, TABLE_HEAD = 8, TABLE_END = 9, MAGIC_SIZE = 4 };

static char *content, *read_back;
static int fd;

static int set_up(void **state)
{
	uint32_t chance = 1;

	content = malloc(PIECE * PIECES);
	read_back = malloc(PIECE * PIECES);
	fd = memfd_create("compressed", MFD_CLOEXEC);
	if (!content || !read_back || fd < 0)
		return -1;
	/* Half of it cannot be made smaller. */
	for (size_t i = 0; i < (size_t)PIECE * PIECES; i++) {
		chance = chance * 1664525 + 1013904223;
		content[i] = i / PIECE % 2 ? chance >> 24 : i / 100;
	}
	return 0;
}

static int tear_down(void **state)
{
	free(content);
	free(read_back);
	return close(fd);
}

static void append(const struct iovec *piece)
{
	assert_int_equal(write(fd, piece->iov_base, piece->iov_len), piece->iov_len);
}

/* Each piece is of three parts, one of them empty. */
static void add(struct zstd_output *output, size_t i)
{
	char *at = content + i * PIECE;
	const struct iovec parts[] = { { at, 1000 + i },
				       { at, 0 },
				       { at + 1000 + i, PIECE - 1000 - i } };
	struct iovec piece;

	assert_int_equal(zstd_output_add(output, parts, 3, &piece), 0);
	append(&piece);
}

static void compress_all(int level)
{
	struct zstd_output output;
	struct iovec piece;

	assert_int_equal(zstd_output_init(&output, level, PIECE), 0);
	for (size_t i = 0; i < PIECES; i++)
		add(&output, i);
	assert_int_equal(zstd_output_end(&output, &piece), 0);
	append(&piece);
	assert_int_equal(output.n_bytes, lseek(fd, 0, SEEK_END));
	zstd_output_deinit(&output);
}

/* Reads up to `limit` bytes in steps of some size; returns their number, or -errno. */
static ssize_t read_all(size_t step, size_t limit)
{
	char first[ZSTD_INPUT_MAGIC_SIZE];
	struct zstd_input input;
	size_t all = 0;
	ssize_t n;

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(read(fd, first, sizeof(first)), sizeof(first));
	assert_true(zstd_input_is(first, sizeof(first)));
	assert_int_equal(zstd_input_init(&input, first, sizeof(first)), 0);
	do {
		size_t left = limit - all;

		n = left ? zstd_input_read(&input, fd, read_back + all, left < step ? left : step)
			 : 0;
		all += n > 0 ? n : 0;
	} while (n > 0);
	zstd_input_deinit(&input);
	return n < 0 ? n : (ssize_t)all;
}

static void test_what_is_compressed_is_read_back(void **state)
{
	static const int levels[] = { 1, 3, ZSTD_OUTPUT_LEVEL_MAX };
	static const size_t steps[] = { 1, 4096, PIECE * PIECES };

	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		compress_all(levels[i]);
		assert_true(lseek(fd, 0, SEEK_END) < PIECE * PIECES * 6LL / 10);
		memset(read_back, 0, PIECE * PIECES);
		assert_int_equal(read_all(steps[i], PIECE * PIECES), PIECE * PIECES);
		assert_memory_equal(read_back, content, PIECE * PIECES);
	}
}

static void test_no_reader_waits_for_more(void **state)
{
	struct zstd_output output;

	assert_int_equal(zstd_output_init(&output, 1, PIECE), 0);
	for (size_t i = 0; i < PIECES; i++) {
		add(&output, i);
		assert_int_equal(read_all(PIECE, PIECE * PIECES), (i + 1) * PIECE);
		assert_memory_equal(read_back, content, (i + 1) * PIECE);
		lseek(fd, 0, SEEK_END);
	}
	zstd_output_deinit(&output);
}

static uint32_t number_at(const char *at)
{
	uint32_t number;

	memcpy(&number, at, sizeof(number));
	return number;
}

/* Each frame of the table is decompressed alone, the last one first. */
static void test_frames_are_in_a_table(void **state)
{
	size_t size, n, at, end = PIECE * PIECES;
	const char *bytes, *table;

	compress_all(1);
	size = lseek(fd, 0, SEEK_END);
	bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(bytes != MAP_FAILED);
	assert_int_equal(number_at(bytes + size - MAGIC_SIZE), 0x8f92eab1);
	assert_int_equal(bytes[size - MAGIC_SIZE - 1], 0);
	n = number_at(bytes + size - TABLE_END);
	assert_in_range(n, 4, PIECE * PIECES / ZSTD_OUTPUT_FRAME + 1);
	at = size - TABLE_END - n * sizeof(struct zstd_output_frame) - TABLE_HEAD;
	table = bytes + at;
	assert_int_equal(number_at(table), 0x184d2a5e);
	assert_int_equal(number_at(table + 4), size - at - TABLE_HEAD);
	for (size_t i = n; i-- > 0;) {
		struct zstd_output_frame frame;

		memcpy(&frame, table + TABLE_HEAD + i * sizeof(frame), sizeof(frame));
		at -= frame.compressed;
		end -= frame.decompressed;
		assert_int_equal(
			ZSTD_decompress(read_back, PIECE * PIECES, bytes + at, frame.compressed),
			frame.decompressed);
		assert_memory_equal(read_back, content + end, frame.decompressed);
	}
	assert_int_equal(at, 0);
	assert_int_equal(end, 0);
	munmap((void *)bytes, size);
}

static void test_a_stream_that_ends_early_is_read_so_far(void **state)
{
	compress_all(1);
	assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) / 2), 0);
	assert_in_range(read_all(PIECE, PIECE * PIECES), PIECE * 8, PIECE * 12);
	assert_memory_equal(read_back, content, PIECE * 8);
}

static void test_damage_is_found(void **state)
{
	char byte;

	for (off_t at = 5; at < 1000000; at += 77777) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		compress_all(1);
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 0x55;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		assert_int_equal(read_all(PIECE, PIECE * PIECES), -EBADMSG);
	}
}

static void compress_whole(int window_log)
{
	ZSTD_CCtx *encoder = ZSTD_createCCtx();
	size_t room = ZSTD_compressBound(PIECE * PIECES), n;
	char *bytes = malloc(room);

	assert_non_null(bytes);
	assert_non_null(encoder);
	ZSTD_CCtx_setParameter(encoder, ZSTD_c_windowLog, window_log);
	/* Without its size in advance, a frame asks for all of its window. */
	ZSTD_CCtx_setParameter(encoder, ZSTD_c_contentSizeFlag, 0);
	n = ZSTD_compress2(encoder, bytes, room, content, PIECE * PIECES);
	assert_false(ZSTD_isError(n));
	assert_int_equal(write(fd, bytes, n), n);
	ZSTD_freeCCtx(encoder);
	free(bytes);
}

static void test_memory_is_limited(void **state)
{
	/* A frame without a size, of a window of 2^(10 + 14) bytes (RFC 8878, 3.1.1.1). */
	static const unsigned char large[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x00, 14 << 3, 0x01, 0, 0 };

	compress_whole(ZSTD_INPUT_WINDOW_LOG_MAX);
	assert_int_equal(read_all(PIECE, PIECE * PIECES), PIECE * PIECES);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(write(fd, large, sizeof(large)), sizeof(large));
	assert_int_equal(read_all(PIECE, PIECE * PIECES), -EBADMSG);
}

/* However often there is nothing to read, what comes later is read. */
static void test_a_reader_may_come_too_early(void **state)
{
	struct zstd_output output;
	struct zstd_input input;
	struct iovec piece;
	char byte;
	int ends[2];

	assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	assert_int_equal(zstd_output_init(&output, 1, PIECE), 0);
	assert_int_equal(zstd_input_init(&input, NULL, 0), 0);
	for (size_t i = 0; i < 3; i++) {
		const struct iovec part = { content + i, 1 };

		for (size_t k = 0; k < 100; k++)
			assert_int_equal(zstd_input_read(&input, ends[0], &byte, 1), -EAGAIN);
		assert_int_equal(zstd_output_add(&output, &part, 1, &piece), 0);
		assert_int_equal(write(ends[1], piece.iov_base, piece.iov_len), piece.iov_len);
		assert_int_equal(zstd_input_read(&input, ends[0], &byte, 1), 1);
		assert_int_equal(byte, content[i]);
	}
	zstd_input_deinit(&input);
	zstd_output_deinit(&output);
	close(ends[0]);
	close(ends[1]);
}

static void test_nothing_is_a_table_without_frames(void **state)
{
	struct zstd_output output;
	struct iovec piece;

	assert_int_equal(zstd_output_init(&output, 1, PIECE), 0);
	assert_int_equal(zstd_output_end(&output, &piece), 0);
	assert_int_equal(piece.iov_len, TABLE_HEAD + TABLE_END);
	zstd_output_deinit(&output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_is_compressed_is_read_back, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_no_reader_waits_for_more, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_frames_are_in_a_table, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_stream_that_ends_early_is_read_so_far,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damage_is_found, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_memory_is_limited, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_reader_may_come_too_early, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_nothing_is_a_table_without_frames, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
