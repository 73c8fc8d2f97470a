/* SPDX-License-Identifier: GPL-3.0-or-later */
/* This process publishes contexts as OTEP 4719 says, and a real helper reads them. */
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

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/proc/proc.h"
#include "perf-source/context/context-reader.h"

static struct header {
	char signature[8];
	uint32_t version, payload_size;
	uint64_t published;
	const void *payload;
} header;

/* Exported, as OTEP 4947 says. */
__attribute__((visibility("default"))) __thread void *otel_thread_ctx_v1;

static struct context_reader reader;

static void publish(const void *payload, size_t size)
{
	static uint64_t time = 1000;

	header = (struct header){ "OTEL_CTX", 2, size, time++, payload };
}

static int tear_down(void **state)
{
	assert_true(context_reader_end(&reader));
	return 0;
}

/* The first executable mapping of this program. */
static void find_program(struct proc_maps *maps, struct context_image *ret)
{
	char path[4096];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(size > 0);
	path[size] = 0;
	assert_int_equal(proc_read_maps(getpid(), maps), 0);
	for (size_t i = 0; i < maps->n; i++)
		if (!strcmp(maps->list[i].path, path)) {
			ret->start = maps->list[i].start;
			ret->offset = maps->list[i].offset;
			return;
		}
	fail();
}

static int read_published(const struct context_image *images, size_t n)
{
	_cleanup_fd_ int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	const struct context_hints hints = { { (uintptr_t) "none", (uintptr_t)&header }, 2 };
	int r;

	assert_true(memory >= 0);
	assert_int_equal(context_reader_begin(&reader, memory, &hints, images, n), 0);
	while ((r = context_reader_look(&reader)) == -EAGAIN)
		;
	return r;
}

static void test_what_is_published_is_read(void **state)
{
	static char large[WIRE_PROCESS_CONTEXT_MAX];

	publish("payload", 7);
	assert_int_equal(read_published(NULL, 0), 0);
	assert_int_equal(reader.answer->error, 0);
	assert_int_equal(reader.answer->published, header.published);
	assert_int_equal(reader.answer->payload_size, 7);
	assert_memory_equal(reader.answer->payload, "payload", 7);
	assert_int_equal(reader.answer->place.kind, CONTEXT_PLACE_UNKNOWN);
	context_reader_end(&reader);

	memset(large, 'x', sizeof(large));
	publish(large, sizeof(large));
	assert_int_equal(read_published(NULL, 0), 0);
	assert_memory_equal(reader.answer->payload, large, sizeof(large));
}

static int error_of(void)
{
	int error;

	assert_int_equal(read_published(NULL, 0), 0);
	error = reader.answer->error;
	context_reader_end(&reader);
	return error;
}

static void test_what_is_no_context_is_refused(void **state)
{
	publish("payload", 7);
	header.signature[7] = 'Y';
	assert_int_equal(error_of(), -ENOENT);
	publish("payload", 7);
	header.version = 1;
	assert_int_equal(error_of(), -ENOENT);
	publish("payload", 7);
	header.published = 0;
	assert_int_equal(error_of(), -EAGAIN);
	publish("payload", WIRE_PROCESS_CONTEXT_MAX + 1);
	assert_int_equal(error_of(), -E2BIG);
	publish((void *)16, 7);
	assert_int_equal(error_of(), -EAGAIN);
	publish("payload", 7);
	assert_int_equal(error_of(), 0);
}

/* The distance between the variable and the thread pointer, as the compiler sees it. */
static void test_the_variable_of_the_program_is_found(void **state)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = { 0 };
	_cleanup_fd_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct context_image image = { fd };

	find_program(&maps, &image);
	publish("", 0);
	assert_int_equal(read_published(&image, 1), 0);
	assert_int_equal(reader.answer->place.kind, CONTEXT_PLACE_STATIC);
	assert_ptr_equal((char *)__builtin_thread_pointer() + reader.answer->place.offset,
			 &otel_thread_ctx_v1);
}

static void test_files_that_are_no_elf_are_skipped(void **state)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = { 0 };
	_cleanup_fd_ int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	_cleanup_fd_ int text = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	_cleanup_fd_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct context_image images[] = { { null }, { text }, { fd } };

	find_program(&maps, &images[2]);
	publish("", 0);
	assert_int_equal(read_published(images, 3), 0);
	assert_int_equal(reader.answer->place.kind, CONTEXT_PLACE_STATIC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, tear_down)
		TEST(test_what_is_published_is_read),
		TEST(test_what_is_no_context_is_refused),
		TEST(test_the_variable_of_the_program_is_found),
		TEST(test_files_that_are_no_elf_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
