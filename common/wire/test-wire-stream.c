/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/wire/wire-reader.h"
#include "common/wire/wire-writer.h"

static char stack[65536];

static void put_hello(struct wire_writer *writer)
{
	struct wire_hello hello = { .magic = WIRE_MAGIC, .version_major = WIRE_VERSION_MAJOR };

	assert_int_equal(wire_writer_put(writer, WIRE_RECORD_hello, &hello), 0);
}

/* Starts a child that writes `n` samples of growing stacks; `flags` are for both pipe ends. */
static int start_writing(int n, int flags, int *ret_fd)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe2(ends, flags), 0);
	pid = fork();
	if (pid == 0) {
		struct wire_writer writer;

		close(ends[0]);
		wire_writer_init(&writer, ends[1]);
		put_hello(&writer);
		for (int i = 0; i < n; i++) {
			struct wire_sample sample = { .time = i,
						      .stack = { stack, i * 37 % 65536 } };

			wire_writer_put(&writer, WIRE_RECORD_sample, &sample);
		}
		_exit(wire_writer_flush(&writer) ? 1 : 0);
	}
	close(ends[1]);
	*ret_fd = ends[0];
	return pid;
}

static void check_that_it_arrives(int flags)
{
	struct wire_reader reader;
	struct wire_hello hello;
	struct wire_raw raw;
	int fd, status, n = 0;
	pid_t pid;

	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = i * 7;
	pid = start_writing(5000, flags, &fd);
	assert_int_equal(wire_reader_init(&reader, fd), 0);
	while (wire_reader_hello(&reader, &hello) == WIRE_E_MORE)
		assert_int_equal(wire_reader_fill(&reader), 0);
	for (;;) {
		while (wire_reader_next(&reader, &raw) == WIRE_OK) {
			struct wire_sample sample;

			assert_int_equal(wire_decode(wire_type(WIRE_RECORD_sample), raw.header,
						     raw.header->size, 0, &sample),
					 WIRE_OK);
			assert_int_equal(sample.time, n);
			assert_int_equal(sample.stack.size, n * 37 % 65536);
			assert_memory_equal(sample.stack.data, stack, sample.stack.size);
			n++;
		}
		assert_int_equal(wire_reader_fill(&reader), 0);
		if (reader.at_end)
			break;
	}
	assert_int_equal(n, 5000);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	wire_reader_deinit(&reader);
	close(fd);
}

static void test_a_stream_arrives_as_it_was_written(void **state)
{
	check_that_it_arrives(0);
}

/* Processes that share an open file description share its flags, too. */
static void test_a_nonblocking_descriptor_works(void **state)
{
	check_that_it_arrives(O_NONBLOCK);
}

static void test_output_errors_are_reported_while_passing(void **state)
{
	struct wire_writer writer;
	const struct wire_header record = { .size = sizeof(record), .type = WIRE_RECORD_stats };
	const struct wire_raw raw = { .header = &record };
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC), n = 0;

	assert_int_equal(wire_writer_init(&writer, full), 0);
	while (wire_writer_pass(&writer, &raw) == 0)
		assert_true(n++ < WIRE_WRITER_SIZE);
	assert_int_equal(writer.error, -ENOSPC);
	assert_int_equal(wire_writer_pass(&writer, &raw), -ENOSPC);
	wire_writer_deinit(&writer);
	close(full);
}

/* A write-only file can be neither mapped nor read; the read reports it. */
static void test_a_file_that_cannot_be_mapped_is_read(void **state)
{
	char path[] = "/tmp/stackpipe-test-XXXXXX";
	int file = mkstemp(path), fd = open(path, O_WRONLY | O_CLOEXEC);
	struct wire_reader reader;

	assert_true(file >= 0 && fd >= 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(wire_reader_init(&reader, fd), 0);
	assert_int_equal(reader.map_size, 0);
	assert_int_equal(wire_reader_fill(&reader), -EBADF);
	wire_reader_deinit(&reader);
	close(fd);
	close(file);
}

static enum wire_outcome hello_of(const void *data, size_t size)
{
	struct wire_reader reader;
	struct wire_hello hello;
	enum wire_outcome outcome;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], data, size), size);
	close(ends[1]);
	wire_reader_init(&reader, ends[0]);
	wire_reader_fill(&reader);
	outcome = wire_reader_hello(&reader, &hello);
	wire_reader_deinit(&reader);
	close(ends[0]);
	return outcome;
}

static void test_other_input_is_reported_as_no_stream(void **state)
{
	static _Alignas(8) char record[4096];
	struct wire_hello hello = { .magic = WIRE_MAGIC, .version_major = WIRE_VERSION_MAJOR };
	size_t size = wire_encode(wire_type(WIRE_RECORD_hello), &hello, record, NULL);

	assert_int_equal(hello_of(record, size), WIRE_OK);
	assert_int_equal(hello_of(record, size - 1), WIRE_E_MORE);
	assert_int_equal(hello_of("#!/bin/sh\necho hello\n", 21), WIRE_E_MAGIC);
	assert_int_equal(hello_of("\0\0\0\0\0\0\0\0\0\0\0\0", 12), WIRE_E_MAGIC);
	record[8] ^= 1;
	assert_int_equal(hello_of(record, size), WIRE_E_MAGIC);
	record[8] ^= 1;
	((struct wire_header *)record)->size = 16; /* magic only */
	assert_int_not_equal(hello_of(record, 16), WIRE_OK);
	((struct wire_header *)record)->size = size;
	record[16] ^= 2;
	assert_int_equal(hello_of(record, size), WIRE_E_VERSION);
}

static void test_a_closed_reader_is_an_error(void **state)
{
	struct wire_writer writer;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	wire_writer_init(&writer, ends[1]);
	put_hello(&writer);
	assert_int_equal(wire_writer_flush(&writer), -EPIPE);
	assert_int_equal(wire_writer_flush(&writer), -EPIPE);
	wire_writer_deinit(&writer);
	close(ends[1]);
}

static void test_an_impossible_field_is_refused(void **state)
{
	struct wire_writer writer;
	struct wire_thread thread = { .name = { stack, 65 } };

	wire_writer_init(&writer, STDOUT_FILENO);
	assert_int_equal(wire_writer_put(&writer, WIRE_RECORD_thread, &thread), -EMSGSIZE);
	assert_int_equal(writer.n_records, 0);
	wire_writer_deinit(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_stream_arrives_as_it_was_written),
		cmocka_unit_test(test_a_nonblocking_descriptor_works),
		cmocka_unit_test(test_output_errors_are_reported_while_passing),
		cmocka_unit_test(test_a_file_that_cannot_be_mapped_is_read),
		cmocka_unit_test(test_other_input_is_reported_as_no_stream),
		cmocka_unit_test(test_a_closed_reader_is_an_error),
		cmocka_unit_test(test_an_impossible_field_is_refused),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
