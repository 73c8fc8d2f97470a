/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pread() is wrapped (see meson.build), so that a file changes exactly while it is read. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/stream/file-id.h"

enum { LARGEST = 100000 };

static uint8_t bytes[LARGEST];
static int n_preads; /* since the last call of make_file() */
static void (*before_pread)(int fd);

ssize_t __real_pread64(int fd, void *ret, size_t size, off_t offset);
ssize_t __wrap_pread64(int fd, void *ret, size_t size, off_t offset);

ssize_t __wrap_pread64(int fd, void *ret, size_t size, off_t offset)
{
	n_preads++;
	if (before_pread)
		before_pread(fd);
	return __real_pread64(fd, ret, size, offset);
}

static int set_up(void **state)
{
	for (size_t i = 0; i < LARGEST; i++)
		bytes[i] = i * 7 + i / 251;
	return 0;
}

static int make_file(const void *data, size_t size)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	before_pread = NULL;
	n_preads = 0;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	return fd;
}

static void check(const void *data, size_t size, const char *expected)
{
	_cleanup_fd_ int fd = make_file(data, size);
	char text[FILE_ID_TEXT_SIZE];
	struct file_id id;

	assert_int_equal(file_id_of_file(fd, &id), FILE_ID_OK);
	file_id_text(&id, text);
	assert_string_equal(text, expected);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), size); /* unchanged */
	memset(&id, 0, sizeof(id));
	file_id_of_bytes(data, size, &id);
	file_id_text(&id, text);
	assert_string_equal(text, expected);
}

/* The only file of TestFileIDFromExecutableReader in OpenTelemetry's libpf/fileid_test.go. */
static void test_a_file_has_the_id_that_opentelemetry_expects(void **state)
{
	check("\x7f"
	      "ELF\x00\x01\x02\x03\x04",
	      9, "caf6e5907166ac76eef618e5f7f59cd9");
}

/*
 * Made by
 *	python3 -c 'import hashlib, struct
 *	for n in 0, 1, 9, 4095, 4096, 4097, 8191, 8192, 8193, 100000:
 *	    b = bytes(i * 7 + i // 251 & 255 for i in range(n))
 *	    ends = b[:4096] + b[len(b) - min(len(b), 4096):]
 *	    print(n, hashlib.sha256(ends + struct.pack(">Q", n)).hexdigest()[:32])'
 */
static void test_files_of_all_sizes(void **state)
{
	static const struct {
		size_t size;
		const char *id;
	} files[] = {
		{ 0, "af5570f5a1810b7af78caf4bc70a660f" },
		{ 1, "52807a4607ea5debf0b7d4ccb452f4af" },
		{ 9, "5f39068e75fa19f3f56f2c6ec5df2429" },
		{ 4095, "2163b454a35d188200935087260408c1" },
		{ 4096, "7e9a755dfdcc88b11037ffaf0aff0527" },
		{ 4097, "5572f2aa5f6a81f41fb41a983e79f37a" },
		{ 8191, "16476651edaf7f518d0e91fe3951efb1" },
		{ 8192, "8410e712063d5774fece43c81468ebfd" },
		{ 8193, "0956c4bd6d1f58aac7773020b516cb78" },
		{ 100000, "2532969ecc7ea2bc39ad77617f516956" },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		check(bytes, files[i].size, files[i].id);
}

static void cut_before_the_end_is_read(int fd)
{
	if (n_preads == 2)
		assert_int_equal(ftruncate(fd, 50000), 0);
}

static void cut_a_little_before_the_end_is_read(int fd)
{
	if (n_preads == 2)
		assert_int_equal(ftruncate(fd, LARGEST - 1), 0);
}

static void cut_before_anything_is_read(int fd)
{
	assert_int_equal(ftruncate(fd, 0), 0);
}

static void append_before_the_end_is_read(int fd)
{
	if (n_preads == 2)
		assert_int_equal(write(fd, "x", 1), 1);
}

/* Writes later, so that the mtime differs however coarse the clock is. */
static void write_before_the_end_is_read(int fd)
{
	if (n_preads != 2)
		return;
	assert_int_equal(usleep(20000), 0);
	assert_int_equal(pwrite(fd, "x", 1, 0), 1);
}

static void test_a_file_changing_while_read_has_no_id(void **state)
{
	static void (*const changes[])(int fd) = {
		cut_before_the_end_is_read,   cut_a_little_before_the_end_is_read,
		cut_before_anything_is_read,  append_before_the_end_is_read,
		write_before_the_end_is_read,
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		_cleanup_fd_ int fd = make_file(bytes, LARGEST);
		struct file_id id, untouched;

		memset(&id, 0x55, sizeof(id));
		untouched = id;
		before_pread = changes[i];
		assert_int_equal(file_id_of_file(fd, &id), FILE_ID_E_CHANGED);
		assert_memory_equal(&id, &untouched, sizeof(id));
		before_pread = NULL;
		assert_int_equal(file_id_of_file(fd, &id), FILE_ID_OK);
	}
}

static void test_only_regular_files_have_an_id(void **state)
{
	_cleanup_fd_ int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	_cleanup_fd_ int no_reading = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	struct file_id id;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(file_id_of_file(ends[0], &id), FILE_ID_E_NOT_REGULAR);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(file_id_of_file(directory, &id), FILE_ID_E_NOT_REGULAR);
	assert_int_equal(file_id_of_file(zeros, &id), FILE_ID_E_NOT_REGULAR);
	assert_int_equal(file_id_of_file(no_reading, &id), -EBADF);
	assert_int_equal(file_id_of_file(-1, &id), -EBADF);
}

/*
 * The first is TestFileIDFromKernelBuildID in OpenTelemetry's libpf/fileid_test.go. The others:
 *	python3 -c 'h = 0x6c62272e07bb014262b821756295c58d
 *	for c in BUILD_ID: h = (h ^ ord(c)) * 0x1000000000000000000013b & (1 << 128) - 1
 *	print("%032x" % h)'
 */
static void test_kernels_are_emitted_by_their_build_ids(void **state)
{
	static const struct {
		const char *build_id;
		size_t size;
		const char *id;
	} kernels[] = {
		{ "\xf8\xe1\xcf\x0f\x60\x55\x80\x98\xed\xae\xc1\x64\xac\x77\x49\xdf", 16,
		  "026a2d6a60ee6b4eb8ec85adf2e76f4d" },
		{ "\x4a\x5a\x9b\x0a\xff\xb6\x6c\x43\x7a\xbc\xd4\x55\xd2\x73\x8a\xf8\x79\x98\x5f\xa9",
		  20, "f99945f128008c497a95ba7df2d509b6" },
	};

	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		char text[FILE_ID_TEXT_SIZE];
		struct file_id id;

		assert_true(file_id_of_kernel(kernels[i].build_id, kernels[i].size, &id));
		file_id_text(&id, text);
		assert_string_equal(text, kernels[i].id);
		/* kallsyms/kallsyms.go requires 16 characters of text, i.e. 8 bytes. */
		assert_true(file_id_of_kernel(kernels[i].build_id, 8, &id));
		assert_false(file_id_of_kernel(kernels[i].build_id, 7, &id));
		assert_false(file_id_of_kernel("", 0, &id));
	}
}

/* TestFileIDSprintf in OpenTelemetry's libpf/fileid_test.go has these halves. */
static void test_the_short_form_is_the_first_half(void **state)
{
	struct file_id id;

	assert_true(file_id_parse("600DCAFE4A110000F2BF38C493F5FB92", &id));
	assert_true(file_id_short(&id) == 6921411395851452416);
	assert_true(file_id_parse("4f2cd0431db840e2aac77460f5c07783", &id));
	assert_true(file_id_short(&id) == 5705163814651576546);
}

static void test_text_and_back(void **state)
{
	static const char *const others[] = {
		"",
		"600dcafe4a11000",
		"600dcafe4a110000f2bf38c493f5fb9",
		"600dcafe4a110000f2bf38c493f5fb922",
		"600dcafe4a110000f2bf38c493f5fb9g",
		"600dcafe4a110000f2bf38c493f5fb9 ",
		"0x0dcafe4a110000f2bf38c493f5fb92",
		"-00dcafe4a110000f2bf38c493f5fb92",
		"600dcafe4a110000f2bf38c493f5fb9\xe9",
	};
	char text[FILE_ID_TEXT_SIZE];
	struct file_id id, untouched;

	assert_true(file_id_parse("600DCAFE4A110000F2bf38c493f5fb92", &id));
	file_id_text(&id, text);
	assert_string_equal(text, "600dcafe4a110000f2bf38c493f5fb92");
	untouched = id;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(file_id_parse(others[i], &id));
	assert_memory_equal(&id, &untouched, sizeof(id));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_file_has_the_id_that_opentelemetry_expects),
		cmocka_unit_test(test_files_of_all_sizes),
		cmocka_unit_test(test_a_file_changing_while_read_has_no_id),
		cmocka_unit_test(test_only_regular_files_have_an_id),
		cmocka_unit_test(test_kernels_are_emitted_by_their_build_ids),
		cmocka_unit_test(test_the_short_form_is_the_first_half),
		cmocka_unit_test(test_text_and_back),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
