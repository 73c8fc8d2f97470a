/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output streams: data arrive unchanged, and a full disk is reported. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/file/gzip.h"
#include "common/file/read-file.h"
#include "formats/base64.h"
#include "formats/output-stream.h"
#include "formats/page-base.h"

static char path[] = "/tmp/test-output-stream-XXXXXX";

static int set_up(void **state)
{
	int fd;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	close(fd);
	return fd < 0;
}

static int tear_down(void **state)
{
	return unlink(path);
}

static void write_lines(enum output_compression compression, size_t n)
{
	struct output output;
	FILE *stream;

	memset(&output, 0, sizeof(output));
	assert_int_equal(output_open(&output, path, OUTPUT_FILE_REPLACE), 0);
	stream = output_stream_open(&output, compression);
	assert_non_null(stream);
	for (size_t i = 0; i < n; i++)
		fprintf(stream, "line %zu\n", i);
	assert_int_equal(output_stream_close(stream), 0);
	output_note_content(&output);
	assert_int_equal(output_close(&output), 0);
}

static void check_lines(const char *text, size_t n)
{
	char line[32];

	for (size_t i = 0; i < n; i++) {
		int size = snprintf(line, sizeof(line), "line %zu\n", i);

		assert_memory_equal(text, line, size);
		text += size;
	}
	assert_int_equal(*text, 0);
}

static void test_plain(void **state)
{
	_cleanup_free_ char *text = NULL;
	size_t size;

	write_lines(OUTPUT_PLAIN, 200000);
	assert_int_equal(read_file(path, 1 << 24, &text, &size), 0);
	check_lines(text, 200000);
}

static void test_compressed(void **state)
{
	_cleanup_free_ char *file = NULL, *text = NULL;
	size_t size;

	write_lines(OUTPUT_GZIP, 200000);
	assert_int_equal(read_file(path, 1 << 24, &file, &size), 0);
	assert_true(gzip_is_compressed(file, size));
	assert_int_equal(gzip_decompress(file, size, 1 << 24, &text, &size), 0);
	check_lines(text, 200000);
}

static void test_a_full_disk_is_reported(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct output output;
		FILE *stream;

		memset(&output, 0, sizeof(output));
		assert_int_equal(output_open(&output, "/dev/full", OUTPUT_FILE_REPLACE), 0);
		stream = output_stream_open(&output, i ? OUTPUT_GZIP : OUTPUT_PLAIN);
		for (size_t k = 0; k < 2000000; k++)
			fprintf(stream, "%d", rand());
		assert_int_equal(output_stream_close(stream), -ENOSPC);
		output_close(&output);
	}
}

/* The data are still in the compressor at that time. */
static void test_a_full_disk_is_reported_on_close(void **state)
{
	static const char filler[OUTPUT_BUFFER];
	struct output output;
	FILE *stream;

	assert_int_equal(output_open(&output, "/dev/full", OUTPUT_FILE_REPLACE), 0);
	stream = output_stream_open(&output, OUTPUT_GZIP);
	assert_int_equal(output_add(&output, filler, sizeof(filler)), 0);
	assert_int_equal(output_stream_close(stream), -ENOSPC);
	output_close(&output);
}

static void check_base64(const char *data, const char *expected)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	base64_put(out, data, strlen(data));
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

/* RFC 4648, 10. */
static void test_base64(void **state)
{
	check_base64("", "");
	check_base64("f", "Zg==");
	check_base64("fo", "Zm8=");
	check_base64("foo", "Zm9v");
	check_base64("foobar", "Zm9vYmFy");
}

static void write_file(const char *text)
{
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
}

static void test_only_the_data_of_a_page_is_taken(void **state)
{
	static const char before[] = "<script type=\"application/octet-stream\" id=\"data\">\n";
	char text[256], *data;
	size_t size;

	snprintf(text, sizeof(text), "<html>%sZm9v+/==</script>", before);
	write_file(text);
	assert_int_equal(page_base_read(path, &data, &size), 0);
	assert_string_equal(data, "Zm9v+/==");
	assert_int_equal(size, 8);
	free(data);
	snprintf(text, sizeof(text), "<html>%sZm9v<b>no</b></script>", before);
	write_file(text);
	assert_int_equal(page_base_read(path, &data, &size), -EBADMSG);
	write_file("nothing of ours");
	assert_int_equal(page_base_read(path, &data, &size), -EBADMSG);
	assert_int_equal(page_base_read("/nonexistent", &data, &size), -ENOENT);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_plain),
		TEST(test_compressed),
		TEST(test_a_full_disk_is_reported),
		TEST(test_a_full_disk_is_reported_on_close),
		TEST(test_base64),
		TEST(test_only_the_data_of_a_page_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
