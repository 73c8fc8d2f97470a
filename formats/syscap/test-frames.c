/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the file back byte by byte, by the layout in Sysprof's sysprof-capture-types.h rather than
 * the structures of frames.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "formats/syscap/frames.h"

enum {
	HEADER = 256,
	TIMESTAMP = 1,
	SAMPLE = 2,
	MAP = 3,
	PROCESS = 4,
	EXIT = 6,
	JITMAP = 7,
	CTRDEF = 8,
	CTRSET = 9,
	METADATA = 11,
	LOG = 12,
	FILE_CHUNK = 13,
};

static char dir[] = "/tmp/stackpipe-test-XXXXXX";
static char path[64];
static struct output output;
static struct syscap syscap;
static unsigned char *file; /* its whole content, after closing */
static size_t size;

static const struct syscap_time when = { 0x1122334455667788, 0x01020304, 0x0506 };

static int set_up(void **state)
{
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/file", dir);
	file = NULL;
	if (output_open(&output, path, OUTPUT_FILE_NEW) < 0)
		return -1;
	return syscap_begin(&syscap, &output, 1000, 86400 * 1000000000ULL);
}

static int tear_down(void **state)
{
	output_close(&output);
	free(file);
	unlink(path);
	return rmdir(dir);
}

static void read_back(void)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	assert_int_equal(output_close(&output), 0);
	fstat(fd, &status);
	size = status.st_size;
	file = malloc(size);
	assert_int_equal(read(fd, file, size), size);
}

static uint64_t number(size_t at, size_t n_bytes)
{
	uint64_t value = 0;

	assert_true(at + n_bytes <= size);
	for (size_t i = n_bytes; i-- > 0;)
		value = value << 8 | file[at + i];
	return value;
}

/* Checks a frame's type, size and time; returns its end. */
static size_t check_frame(size_t at, uint32_t type, size_t expected_size)
{
	assert_int_equal(number(at, 2), expected_size);
	assert_int_equal(number(at, 2) % 8, 0);
	assert_true(number(at, 2) < 65536);
	assert_true(at + number(at, 2) <= size);
	assert_int_equal(number(at + 2, 2), when.cpu);
	assert_int_equal(number(at + 4, 4), when.pid);
	assert_int_equal(number(at + 8, 8), when.time);
	assert_int_equal(number(at + 16, 4), type);
	assert_int_equal(number(at + 20, 4), 0);
	return at + expected_size;
}

static void check_zero(size_t from, size_t to)
{
	for (; from < to; from++)
		assert_int_equal(file[from], 0);
}

static void test_the_header(void **state)
{
	syscap_set_end_time(&syscap, 5000); /* must do nothing in an empty file */
	assert_int_equal(output_flush(&output), 0);
	syscap_set_end_time(&syscap, 9000);
	read_back();
	assert_int_equal(size, HEADER);
	assert_int_equal(number(0, 4), 0xFDCA975E);
	assert_int_equal(file[4], 1); /* version */
	assert_int_equal(file[5], 1); /* little-endian */
	assert_int_equal(number(6, 2), 0);
	assert_string_equal((char *)file + 8, "1970-01-02T00:00:00Z");
	assert_int_equal(number(72, 8), 1000);
	assert_int_equal(number(80, 8), 9000);
	assert_int_equal(number(88, 8), 0);
	check_zero(96, 216);
	assert_string_equal((char *)file + 216, "stackpipe.state"); /* the last file's name */
	check_zero(216 + strlen("stackpipe.state"), HEADER);
}

static void test_samples(void **state)
{
	uint64_t addresses[SYSCAP_ADDRESSES_MAX];

	for (size_t i = 0; i < SYSCAP_ADDRESSES_MAX; i++)
		addresses[i] = 0xffff000000000000 + i;
	assert_int_equal(syscap_put_sample(&syscap, when, 99, addresses, 3), 0);
	assert_int_equal(syscap_put_sample(&syscap, when, 98, addresses, SYSCAP_ADDRESSES_MAX), 0);
	assert_int_equal(syscap_put_sample(&syscap, when, 97, addresses, 0), 0);
	read_back();
	assert_int_equal(check_frame(HEADER, SAMPLE, 56), HEADER + 56);
	assert_int_equal(number(HEADER + 24, 2), 3);
	assert_int_equal(number(HEADER + 26, 2), 0);
	assert_int_equal(number(HEADER + 28, 4), 99);
	assert_true(number(HEADER + 32 + 16, 8) == addresses[2]);
	check_frame(HEADER + 56, SAMPLE, 32 + 8 * SYSCAP_ADDRESSES_MAX);
	assert_int_equal(number(HEADER + 56 + 24, 2), SYSCAP_ADDRESSES_MAX);
	assert_int_equal(check_frame(HEADER + 88 + 8 * SYSCAP_ADDRESSES_MAX, SAMPLE, 32), size);
}

static void test_processes_and_their_ends(void **state)
{
	assert_int_equal(syscap_put_process(&syscap, when, "seven77"), 0);
	assert_int_equal(syscap_put_process(&syscap, when, "eight888"), 0);
	assert_int_equal(syscap_put_process(&syscap, when, ""), 0);
	assert_int_equal(syscap_put_exit(&syscap, when), 0);
	read_back();
	check_frame(HEADER, PROCESS, 32);
	assert_string_equal((char *)file + HEADER + 24, "seven77");
	check_frame(HEADER + 32, PROCESS, 40); /* the terminator needs another eight bytes */
	assert_string_equal((char *)file + HEADER + 32 + 24, "eight888");
	check_zero(HEADER + 32 + 32, HEADER + 72);
	check_frame(HEADER + 72, PROCESS, 32);
	assert_int_equal(check_frame(HEADER + 104, EXIT, 24), size);
}

static void test_maps(void **state)
{
	size_t next;

	assert_int_equal(syscap_put_map(&syscap, when, 0x1000, 0x2000, 0x3000, 42, "/bin/a", NULL),
			 0);
	assert_int_equal(syscap_put_map(&syscap, when, 0x1000, 0x2000, 0x3000, 42, "/bin/a",
					"0123456789abcdef"),
			 0);
	read_back();
	assert_int_equal(number(HEADER + 24, 8), 0x1000);
	assert_int_equal(number(HEADER + 32, 8), 0x2000);
	assert_int_equal(number(HEADER + 40, 8), 0x3000);
	assert_int_equal(number(HEADER + 48, 8), 42);
	assert_string_equal((char *)file + HEADER + 56, "/bin/a");
	next = check_frame(HEADER, MAP, 64);
	/* The build-id follows the path's terminator: "@" and hex digits. */
	assert_int_equal(check_frame(next, MAP, 56 + 32), size);
	assert_string_equal((char *)file + next + 56, "/bin/a");
	assert_string_equal((char *)file + next + 56 + 7, "@0123456789abcdef");
}

static void test_jitmaps(void **state)
{
	assert_int_equal(syscap_put_jitmap(&syscap, when, SYSCAP_JITMAP_MARK | 7, "a name"), 0);
	read_back();
	assert_int_equal(check_frame(HEADER, JITMAP, 48), size);
	assert_int_equal(number(HEADER + 24, 4), 1);
	assert_true(number(HEADER + 28, 8) == (SYSCAP_JITMAP_MARK | 7));
	assert_string_equal((char *)file + HEADER + 36, "a name");
}

static void test_chunks_of_files(void **state)
{
	char *data = malloc(SYSCAP_CHUNK_MAX + 100), long_path[512];
	size_t at = HEADER;

	memset(data, 'd', SYSCAP_CHUNK_MAX + 100);
	memset(long_path, 'p', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = 0;
	assert_int_equal(syscap_put_chunk(&syscap, when, "/proc/x", "abc", 3, 0), 0);
	assert_int_equal(syscap_put_chunk(&syscap, when, long_path, data, SYSCAP_CHUNK_MAX, 1), 0);
	assert_int_equal(syscap_put_chunk(&syscap, when, "/x", data, SYSCAP_CHUNK_MAX + 100, 1),
			 -EMSGSIZE);
	assert_int_equal(syscap_put_chunk(&syscap, when, "/x", data, 0, 1), 0);
	free(data);
	read_back();
	at = check_frame(at, FILE_CHUNK, 288);
	assert_int_equal(number(HEADER + 24, 2), 0);
	assert_int_equal(number(HEADER + 26, 2), 3);
	assert_string_equal((char *)file + HEADER + 28, "/proc/x");
	check_zero(HEADER + 28 + 7, HEADER + 284);
	assert_memory_equal(file + HEADER + 284, "abc\0", 4);
	assert_int_equal(number(at + 24, 2), 1);
	assert_int_equal(number(at + 26, 2), SYSCAP_CHUNK_MAX);
	assert_int_equal(strlen((char *)file + at + 28), 255);
	assert_int_equal(file[at + 284 + SYSCAP_CHUNK_MAX - 1], 'd');
	at += number(at, 2);
	assert_int_equal(check_frame(at, FILE_CHUNK, 288), size);
}

static void test_metadata_and_log(void **state)
{
	char id[64];
	size_t next;

	memset(id, 'i', sizeof(id));
	id[63] = 0;
	assert_int_equal(syscap_put_metadata(&syscap, when, id, "value"), 0);
	assert_int_equal(syscap_put_log(&syscap, when, 16, id, "text"), 0);
	read_back();
	next = check_frame(HEADER, METADATA, 72);
	assert_int_equal(strlen((char *)file + HEADER + 24), 39); /* truncated and terminated */
	assert_string_equal((char *)file + HEADER + 64, "value");
	assert_int_equal(check_frame(next, LOG, 72), size);
	assert_int_equal(number(next + 24, 2), 16);
	assert_int_equal(number(next + 26, 6), 0);
	assert_int_equal(strlen((char *)file + next + 32), 31);
	assert_string_equal((char *)file + next + 64, "text");
}

static void test_counters(void **state)
{
	const struct syscap_counter counters[] = {
		{ "category", "first", "of two", 1, -5 },
		{ "category", "second", "a description that is longer than there is room for it", 2,
		  7 },
	};
	size_t at;

	assert_int_equal(syscap_define_counters(&syscap, when, counters, 2), 0);
	assert_int_equal(syscap_set_counters(&syscap, when, counters, 2), 0);
	read_back();
	at = check_frame(HEADER, CTRDEF, 32 + 2 * 128);
	assert_int_equal(number(HEADER + 24, 2), 2);
	assert_string_equal((char *)file + HEADER + 32, "category");
	assert_string_equal((char *)file + HEADER + 64, "first");
	assert_string_equal((char *)file + HEADER + 96, "of two");
	assert_int_equal(number(HEADER + 148, 4), 1);
	assert_int_equal((int64_t)number(HEADER + 152, 8), -5);
	assert_int_equal(strlen((char *)file + HEADER + 160 + 64), 51);
	assert_int_equal(number(HEADER + 160 + 116, 4), 2);
	assert_int_equal(check_frame(at, CTRSET, 128), size);
	assert_int_equal(number(at + 24, 2), 1); /* in groups of eight */
	assert_int_equal(number(at + 32, 4), 1);
	assert_int_equal(number(at + 36, 4), 2);
	check_zero(at + 40, at + 64);
	assert_int_equal((int64_t)number(at + 64, 8), -5);
	assert_int_equal(number(at + 72, 8), 7);
	check_zero(at + 80, at + 128);
}

static void test_oversized_frames_are_refused(void **state)
{
	char *text = malloc(70000);
	uint64_t *addresses = calloc(9000, sizeof(*addresses));

	memset(text, 'x', 69999);
	text[69999] = 0;
	assert_int_equal(syscap_put_process(&syscap, when, text), -EMSGSIZE);
	assert_int_equal(syscap_put_jitmap(&syscap, when, 1, text), -EMSGSIZE);
	assert_int_equal(syscap_put_map(&syscap, when, 1, 2, 3, 4, text, NULL), -EMSGSIZE);
	assert_int_equal(syscap_put_metadata(&syscap, when, "id", text), -EMSGSIZE);
	assert_int_equal(syscap_put_log(&syscap, when, 1, "domain", text), -EMSGSIZE);
	assert_int_equal(syscap_put_sample(&syscap, when, 1, addresses, 9000), -EMSGSIZE);
	text[SYSCAP_FRAME_MAX - 24 - 1] = 0; /* fits exactly */
	assert_int_equal(syscap_put_process(&syscap, when, text), 0);
	free(text);
	free(addresses);
	read_back();
	assert_int_equal(check_frame(HEADER, PROCESS, SYSCAP_FRAME_MAX), size);
}

/* Fills the buffer except `room` bytes, as if waiting for a full disk. */
static void fill_up(int fd, size_t room)
{
	static const char filler[OUTPUT_BUFFER];

	dup2(fd, output.fd);
	output.is_seekable = false;
	output.used = output.n_units = 0;
	assert_int_equal(output_add(&output, filler, sizeof(filler) - room), 0);
}

static void test_a_full_disk_is_reported_by_each_frame(void **state)
{
	static const struct syscap_counter counter = { "category", "name", "what", 1, 2, 1 };
	_cleanup_fd_ int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	const uint64_t address = 1;

#define EMITS(call)                                                                                \
	do {                                                                                       \
		fill_up(full, 0);                                                                  \
		assert_int_equal(call, -ENOSPC);                                                   \
	} while (0)
	EMITS(syscap_put_sample(&syscap, when, 1, &address, 1));
	EMITS(syscap_put_allocation(&syscap, when, 1, 1, 1, &address, 1));
	EMITS(syscap_put_process(&syscap, when, "name"));
	EMITS(syscap_put_exit(&syscap, when));
	EMITS(syscap_put_map(&syscap, when, 1, 2, 3, 4, "path", NULL));
	EMITS(syscap_put_jitmap(&syscap, when, 1, "name"));
	EMITS(syscap_put_chunk(&syscap, when, "path", "data", 4, 1));
	EMITS(syscap_put_metadata(&syscap, when, "id", "value"));
	EMITS(syscap_put_mark(&syscap, when, 1, "group", "name", "message"));
	EMITS(syscap_put_log(&syscap, when, 1, "domain", "text"));
	EMITS(syscap_define_counters(&syscap, when, &counter, 1));
	EMITS(syscap_set_counters(&syscap, when, &counter, 1));
#undef EMITS
	output.used = 0;
}

static void test_a_full_disk_is_reported_by_an_index(void **state)
{
	_cleanup_fd_ int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	while (syscap.n_frames < SYSCAP_FRAMES_AN_INDEX - 1)
		assert_int_equal(syscap_put_exit(&syscap, when), 0);
	fill_up(full, 24); /* room for the frame before the index */
	output.is_seekable = true;
	assert_int_equal(syscap_put_exit(&syscap, when), -ENOSPC);
	output.used = 0;
}

/* Walks all frames: one index frame per SYSCAP_FRAMES_AN_INDEX, each links to the previous. */
static void test_a_large_file_has_index_frames(void **state)
{
	enum { INDEXES = 3, N = SYSCAP_FRAMES_AN_INDEX * INDEXES + 10 };
	size_t positions[INDEXES + 1] = { 0 }, n_indexes = 0, n_frames = 0;

	for (size_t i = 0; i < N; i++)
		assert_int_equal(syscap_put_exit(&syscap, when), 0);
	assert_int_equal(output_flush(&output), 0);
	syscap_set_end_time(&syscap, 77);
	read_back();
	for (size_t at = HEADER; at < size; at += number(at, 2)) {
		assert_true(number(at, 2) >= 24);
		if (number(at + 16, 4) != TIMESTAMP) {
			n_frames++;
			continue;
		}
		assert_true(n_indexes < INDEXES);
		assert_int_equal(number(at, 2), 32);
		assert_int_equal(number(at + 20, 4), 0x53504958);
		assert_int_equal(n_frames, SYSCAP_FRAMES_AN_INDEX * (n_indexes + 1));
		assert_int_equal(number(at + 24, 8), positions[n_indexes]); /* the previous one */
		positions[++n_indexes] = at;
	}
	assert_int_equal(n_frames, N);
	assert_int_equal(n_indexes, INDEXES);
	assert_int_equal(number(80, 8), 77);
	assert_int_equal(number(88, 8), positions[INDEXES]);
}

static void test_a_pipe_gets_no_index_frames(void **state)
{
	output.is_seekable = false;
	for (size_t i = 0; i < SYSCAP_FRAMES_AN_INDEX + 10; i++)
		assert_int_equal(syscap_put_exit(&syscap, when), 0);
	syscap_set_end_time(&syscap, 77);
	read_back();
	assert_int_equal(size, HEADER + 24 * (SYSCAP_FRAMES_AN_INDEX + 10));
	assert_int_equal(number(80, 8), 0);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_the_header),
		TEST(test_samples),
		TEST(test_processes_and_their_ends),
		TEST(test_maps),
		TEST(test_jitmaps),
		TEST(test_chunks_of_files),
		TEST(test_metadata_and_log),
		TEST(test_counters),
		TEST(test_oversized_frames_are_refused),
		TEST(test_a_full_disk_is_reported_by_each_frame),
		TEST(test_a_full_disk_is_reported_by_an_index),
		TEST(test_a_large_file_has_index_frames),
		TEST(test_a_pipe_gets_no_index_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
