/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Thread contexts as programs lay them out, and the records that they become. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/stream/test-process-contexts.h"
#include "common/wire/wire-reader.h"
#include "live-unwinder/trace-contexts.h"

enum { PROCESS = 7, OTHER = 8, VALID_AT = 24, FLAGS_AT, SIZE_AT, ATTRIBUTES_AT = 28 };

static const struct stage_program program = { .name = "test", .role = STAGE_FILTER };
static struct stage stage;
static struct trace_contexts contexts;
static char bytes[WIRE_THREAD_CONTEXT_MAX];

static void publish(uint64_t process, const char *schema)
{
	static const char *const keys[] = { "route", "user", NULL };
	struct test_message message = { 0 };
	struct wire_process_context record = { .process = process };

	test_put_threads(&message, schema, keys);
	record.payload = (struct wire_blob){ message.bytes, message.size };
	assert_int_equal(trace_contexts_publish(&contexts, &stage, &record), 0);
}

static int set_up(void **state)
{
	const struct wire_hello hello = { 0 };

	stage = (struct stage){ .program = &program, .quiet = true };
	contexts = (struct trace_contexts){ 0 };
	assert_int_equal(wire_writer_init(&stage.writer, memfd_create("output", MFD_CLOEXEC)), 0);
	assert_int_equal(stage_put(&stage, WIRE_RECORD_hello, &hello), 0);
	publish(PROCESS, "tls_v1");
	return 0;
}

static int tear_down(void **state)
{
	trace_contexts_deinit(&contexts);
	close(stage.writer.fd);
	wire_writer_deinit(&stage.writer);
	counters_deinit(&stage.counters);
	return 0;
}

/* A context with a trace, a span and attributes; the size is that of all. */
static size_t make(char span, const char *attributes, size_t size)
{
	memset(bytes, 0, sizeof(bytes));
	memset(bytes, 0xab, WIRE_TRACE_ID_SIZE);
	bytes[WIRE_TRACE_ID_SIZE] = span;
	bytes[VALID_AT] = 1;
	bytes[FLAGS_AT] = 3;
	bytes[SIZE_AT] = size;
	memcpy(bytes + ATTRIBUTES_AT, attributes, size);
	return ATTRIBUTES_AT + size;
}

static uint64_t find_in(uint64_t process, enum wire_context_state context_state, size_t size)
{
	const struct wire_sample sample = {
		.process = process,
		.thread_context = { bytes, size },
		.context_state = context_state,
	};
	uint64_t number;

	assert_int_equal(trace_contexts_find(&contexts, &stage, &sample, &number), 0);
	return number;
}

static uint64_t find(size_t size)
{
	return find_in(PROCESS, WIRE_context_state_READ, size);
}

static bool is(const struct wire_raw *raw, enum wire_record_id id, void *ret)
{
	return raw->header->type == id &&
	       wire_decode(wire_type(id), raw->header, raw->header->size, 0, ret) == WIRE_OK;
}

/* All that was emitted, as text: number, digits of trace and span, flags, attributes. */
static const char *emitted(void)
{
	static char text[4096];
	struct wire_trace_attribute attribute;
	struct wire_trace_context context;
	struct wire_reader reader;
	struct wire_raw raw;
	size_t n = 0;

	text[0] = 0;
	assert_int_equal(wire_writer_flush(&stage.writer), 0);
	lseek(stage.writer.fd, 0, SEEK_SET);
	assert_int_equal(wire_reader_init(&reader, stage.writer.fd), 0);
	while (!reader.at_end) {
		assert_int_equal(wire_reader_fill(&reader), 0);
		while (wire_reader_next(&reader, &raw) == WIRE_OK) {
			if (is(&raw, WIRE_RECORD_trace_context, &context))
				n += sprintf(text + n, "%s%d %zu/%zu %d", n ? "; " : "",
					     (int)context.number, strlen(context.trace_id),
					     strlen(context.span_id), (int)context.flags);
			if (is(&raw, WIRE_RECORD_trace_attribute, &attribute))
				n += sprintf(text + n, " %.*s=%.*s", (int)attribute.key.size,
					     attribute.key.data, (int)attribute.value.size,
					     attribute.value.data);
		}
	}
	wire_reader_deinit(&reader);
	return text;
}

static uint64_t counted(const char *name)
{
	return *counters_get(&stage.counters, "thread-contexts", name);
}

static void test_a_context_is_emitted_once(void **state)
{
	assert_int_equal(find(make(1, "\0\2/a\1\3bob", 9)), 1);
	assert_int_equal(find(make(2, "\0\2/a", 4)), 2);
	assert_int_equal(find(make(1, "\0\2/a\1\3bob", 9)), 1);
	assert_string_equal(emitted(), "1 32/16 3 route=/a user=bob; 2 32/16 3 route=/a");
	assert_int_equal(counted("read"), 3);
}

static void test_what_is_being_written_does_not_count(void **state)
{
	size_t size = make(1, "", 0);

	for (int valid = 0; valid < 256; valid++) {
		bytes[VALID_AT] = valid;
		assert_int_equal(find(size) != 0, valid == 1);
	}
	assert_int_equal(counted("being-written"), 255);
}

static void test_attributes_beyond_the_size_do_not_count(void **state)
{
	size_t size = make(1, "\0\2/a\1\3bob", 9);

	bytes[SIZE_AT] = 8; /* the last one is not whole */
	assert_int_equal(find(size), 1);
	size = make(2, "\0\2/a\1\3bob", 9);
	bytes[SIZE_AT] = bytes[SIZE_AT + 1] = 0xff; /* more than was read */
	assert_int_equal(find(size), 2);
	assert_int_equal(find_in(PROCESS, WIRE_context_state_CUT, size - 1), 3);
	assert_string_equal(emitted(), "1 32/16 3 route=/a; 2 32/16 3 route=/a user=bob; "
				       "3 32/16 3 route=/a");
}

static void test_the_last_of_two_values_counts(void **state)
{
	assert_int_equal(find(make(1, "\0\2/a\0\2/b", 8)), 1);
	assert_string_equal(emitted(), "1 32/16 3 route=/b");
}

static void test_unknown_keys_and_bytes_that_are_no_text_are_refused(void **state)
{
	assert_int_equal(find(make(1, "\2\1x\377\1y\0\2a\0\1\1z", 13)), 1);
	assert_string_equal(emitted(), "1 32/16 3 user=z");
	assert_int_equal(contexts.n_attributes_refused, 3);
}

static void test_a_context_without_anything_has_no_number(void **state)
{
	size_t size = make(0, "", 0);

	memset(bytes, 0, WIRE_TRACE_ID_SIZE);
	assert_int_equal(find(size), 0);
	assert_string_equal(emitted(), "");
	size = make(0, "\1\1z", 3);
	memset(bytes, 0, WIRE_TRACE_ID_SIZE);
	assert_int_equal(find(size), 1);
	assert_string_equal(emitted(), "1 0/0 3 user=z");
}

/* Nobody has said what its bytes mean. */
static void test_processes_with_another_schema_have_none(void **state)
{
	size_t size = make(1, "", 0);

	assert_int_equal(find_in(OTHER, WIRE_context_state_READ, size), 0);
	publish(OTHER, "nodejs_v1");
	assert_int_equal(find_in(OTHER, WIRE_context_state_READ, size), 0);
	assert_int_equal(counted("unknown-schema"), 2);
	publish(OTHER, "tlsdesc_v1_dev");
	assert_int_equal(find_in(OTHER, WIRE_context_state_READ, size), 1);
	trace_contexts_forget(&contexts, OTHER);
	assert_int_equal(find_in(OTHER, WIRE_context_state_READ, size), 0);
}

static void test_equal_contexts_of_two_processes_are_two(void **state)
{
	size_t size = make(1, "", 0);

	publish(OTHER, "tls_v1");
	assert_int_equal(find_in(PROCESS, WIRE_context_state_READ, size), 1);
	assert_int_equal(find_in(OTHER, WIRE_context_state_READ, size), 2);
}

static void test_what_was_not_read_is_counted(void **state)
{
	assert_int_equal(find_in(PROCESS, WIRE_context_state_DETACHED, 0), 0);
	assert_int_equal(find_in(PROCESS, WIRE_context_state_ABSENT, 0), 0);
	assert_int_equal(find_in(PROCESS, WIRE_context_state_READ, ATTRIBUTES_AT - 1), 0);
	assert_int_equal(find_in(PROCESS, 0, 0), 0);
	assert_int_equal(counted("detached"), 1);
	assert_int_equal(counted("absent"), 1);
	assert_int_equal(counted("damaged"), 1);
}

static void test_old_contexts_make_room(void **state)
{
	size_t size = make(1, "\0\2ab", 4);

	assert_int_equal(find(size), 1);
	for (uint64_t i = 1; i <= TRACE_CONTEXTS_KNOWN_MAX; i++) {
		memcpy(bytes, &i, sizeof(i));
		assert_int_equal(find(size), i + 1);
	}
	assert_int_equal(contexts.by_use.n, TRACE_CONTEXTS_KNOWN_MAX);
	assert_int_equal(find(size), TRACE_CONTEXTS_KNOWN_MAX + 1);
	assert_int_equal(find(make(1, "\0\2ab", 4)), TRACE_CONTEXTS_KNOWN_MAX + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(test_a_context_is_emitted_once),
		TEST(test_what_is_being_written_does_not_count),
		TEST(test_attributes_beyond_the_size_do_not_count),
		TEST(test_the_last_of_two_values_counts),
		TEST(test_unknown_keys_and_bytes_that_are_no_text_are_refused),
		TEST(test_a_context_without_anything_has_no_number),
		TEST(test_processes_with_another_schema_have_none),
		TEST(test_equal_contexts_of_two_processes_are_two),
		TEST(test_what_was_not_read_is_counted),
		TEST(test_old_contexts_make_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
