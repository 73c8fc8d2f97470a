/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frame-dump/record-text.h"

static void check(enum wire_record_id id, const void *view, const char *expected)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	record_text_print(out, wire_type(id), view);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void test_numbers_and_names(void **state)
{
	struct wire_process process = {
		.process = UINT64_MAX,
		.time = 5,
		.pid = UINT32_MAX,
		.origin = WIRE_origin_FORKED,
		.parent = 7,
		.name = wire_string("a b", 64),
		.began = 4,
		.own_pid = 1,
		.memory = 9,
	};
	struct wire_mapping mapping = {
		.mapping = 1,
		.flags = WIRE_mapping_flags_DELETED,
		.process = 2,
		.time = 3,
		.start = 0xffffffff81000000,
		.length = 0x1000,
		.offset = 0,
		.image = 4,
	};

	check(WIRE_RECORD_process, &process,
	      "process process=18446744073709551615 time=5 pid=4294967295 origin=forked parent=7 "
	      "name=\"a b\" began=4 own_pid=1 memory=9\n");
	check(WIRE_RECORD_mapping, &mapping,
	      "mapping mapping=1 flags=deleted process=2 time=3 start=0xffffffff81000000 "
	      "length=0x1000 offset=0x0 image=4\n");
	process.origin = 99; /* from a later version */
	process.name = wire_string("", 64);
	check(WIRE_RECORD_process, &process,
	      "process process=18446744073709551615 time=5 pid=4294967295 origin=99 parent=7 "
	      "name=\"\" began=4 own_pid=1 memory=9\n");
	mapping.flags = 0;
	mapping.start = 0;
	check(WIRE_RECORD_mapping, &mapping,
	      "mapping mapping=1 flags=- process=2 time=3 start=0x0 length=0x1000 offset=0x0 "
	      "image=4\n");
	mapping.flags = 0x80000001;
	check(WIRE_RECORD_mapping, &mapping,
	      "mapping mapping=1 flags=deleted+0x80000000 process=2 time=3 start=0x0 "
	      "length=0x1000 offset=0x0 image=4\n");
	mapping.flags = 0x60;
	check(WIRE_RECORD_mapping, &mapping,
	      "mapping mapping=1 flags=0x60 process=2 time=3 start=0x0 length=0x1000 offset=0x0 "
	      "image=4\n");
}

static void test_a_text_stays_on_its_line_and_in_its_quotes(void **state)
{
	struct wire_thread thread = { .name = wire_string("\"x\\\" pid=\n\033[31m\xff→", 64) };

	check(WIRE_RECORD_thread, &thread,
	      "thread process=0 time=0 tid=0 name=\"\\\"x\\\\\\\" pid=\\\\u{a}\\\\u{1b}[31m\\\\x{ff}→\"\n");
}

static void test_blobs_are_reported_by_size_and_checksum(void **state)
{
	struct wire_image_id id = { .image = 3, .build_id = { "123456789", 9 } };

	check(WIRE_RECORD_image_id, &id,
	      "image_id image=3 build_id=9:cbf43926 file_id=\"\" segments=[] go_build_id=\"\"\n");
	id.build_id = (struct wire_blob){ "", 0 };
	strcpy(id.file_id, "026a2d6a60ee6b4eb8ec85adf2e76f4d");
	check(WIRE_RECORD_image_id, &id,
	      "image_id image=3 build_id=0:00000000 "
	      "file_id=\"026a2d6a60ee6b4eb8ec85adf2e76f4d\" segments=[] go_build_id=\"\"\n");
}

static void test_arrays(void **state)
{
	const uint64_t addresses[] = { 1, UINT64_MAX };
	const struct wire_frame frames[] = {
		{ 0x1000, 7, WIRE_frame_flags_EXACT },
		{ 0xffffffff81000000, 1, WIRE_frame_flags_KERNEL | WIRE_frame_flags_EXACT },
		{ 0x2000, 0, 0 },
	};
	const struct wire_total totals[] = { { WIRE_RECORD_hello, 1 },
					     { 200, 2 },
					     { UINT64_MAX, 3 } };
	const struct wire_stack_word words[] = { { 0x7ffe0008, 1 }, { 0x7ffe0000, UINT64_MAX } };
	struct wire_sample sample = { .registers = { addresses, 2 }, .stack = { "", 0 } };
	struct wire_stack stack = { .end = WIRE_stack_end_TRUNCATED, .frames = { frames, 3 } };
	struct wire_end end = { .totals = { totals, 3 } };

	check(WIRE_RECORD_sample, &sample,
	      "sample time=0 process=0 tid=0 cpu=0 weight=0 address=0x0 abi=0 "
	      "registers=[0x1 0xffffffffffffffff] kernel=[] stack=0:00000000 event=0 "
	      "flags=- waker=0 waker_tid=0 stack_image=0 stack_offset=0 stack_size=0 "
	      "stack_parts=0 stack_cut=0 thread_context=0:00000000 context_state=0 "
	      "walk=0:00000000 walk_end=0 words=[]\n");
	sample.words = (struct wire_words){ words, 2 };
	sample.flags = WIRE_sample_flags_KERNEL_WALK;
	check(WIRE_RECORD_sample, &sample,
	      "sample time=0 process=0 tid=0 cpu=0 weight=0 address=0x0 abi=0 "
	      "registers=[0x1 0xffffffffffffffff] kernel=[] stack=0:00000000 event=0 "
	      "flags=kernel-walk waker=0 waker_tid=0 stack_image=0 stack_offset=0 stack_size=0 "
	      "stack_parts=0 stack_cut=0 thread_context=0:00000000 context_state=0 "
	      "walk=0:00000000 walk_end=0 "
	      "words=[0x7ffe0008:0x1 0x7ffe0000:0xffffffffffffffff]\n");
	check(WIRE_RECORD_stack, &stack,
	      "stack time=0 process=0 tid=0 cpu=0 weight=0 end=stack-truncated "
	      "frames=[0x1000@7:exact 0xffffffff81000000@1:kernel+exact 0x2000@0] event=0 "
	      "flags=- waker=0 waker_tid=0 n_samples=0 trace_context=0\n");
	check(WIRE_RECORD_end, &end,
	      "end time=0 flags=- totals=[hello:1 200:2 18446744073709551615:3]\n");
}

static void test_fixed_texts_end_at_their_size(void **state)
{
	static struct wire_hello hello;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	memset(hello.host, 'h', sizeof(hello.host)); /* decoders refuse such texts */
	memset(hello.stages, 's', sizeof(hello.stages));
	record_text_print(out, wire_type(WIRE_RECORD_hello), &hello);
	fclose(out);
	assert_non_null(strstr(text, "event=\"\" host=\"hhhh"));
	assert_null(strstr(text, "hs"));
	free(text);
}

static void test_every_type_is_one_line(void **state)
{
	for (size_t i = 0; i < wire_n_types; i++) {
		static union wire_view view; /* all zero, but decoders never give NULL */
		char *text;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		for (size_t k = 0; k < wire_types[i]->n_fields; k++) {
			const struct wire_field *field = &wire_types[i]->fields[k];

			if (field->kind == WIRE_STRING || field->kind == WIRE_BLOB)
				*(struct wire_string *)((char *)&view + field->offset) =
					(struct wire_string){ "", 0 };
		}
		record_text_print(out, wire_types[i], &view);
		fclose(out);
		assert_memory_equal(text, wire_types[i]->name, strlen(wire_types[i]->name));
		assert_int_equal(text[strlen(wire_types[i]->name)], ' ');
		assert_ptr_equal(strchr(text, '\n'), text + size - 1);
		free(text);
		memset(&view, 0, sizeof(view));
	}
}

static void test_unknown_record_types_are_printed(void **state)
{
	struct wire_header header = { 16, 200, 0 };
	struct wire_raw raw = { .header = &header };
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	record_text_print_unknown(out, &raw);
	fclose(out);
	assert_string_equal(text, "unknown type=200 size=16\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_and_names),
		cmocka_unit_test(test_a_text_stays_on_its_line_and_in_its_quotes),
		cmocka_unit_test(test_blobs_are_reported_by_size_and_checksum),
		cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_fixed_texts_end_at_their_size),
		cmocka_unit_test(test_every_type_is_one_line),
		cmocka_unit_test(test_unknown_record_types_are_printed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
