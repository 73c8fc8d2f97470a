/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of CPython become frames between those of C, or none if a rule does not hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/script/script-place.h"
#include "live-unwinder/script-merge.h"
#include "live-unwinder/script/cpython-trait.h"
#include "live-unwinder/script/cpython-walk.h"

enum {
	PROCESS = 7,
	MAPPING = 5,
	TYPE = 0x1000,
	CODE = 0x100000, /* of code object 1; the others follow in these steps: */
	CODE_STEP = 0x1000,
	CODE_BYTES = 192,
	IDENTITY = 99,
	WORDS = 10, /* of each frame */
	FRAME = 8 * WORDS,
	FRAMES = 0x5020, /* where a thread's frames begin */
	WINDOW = 72,
	CFRAME_WINDOW = 24,
	OWNED_BY_THREAD = 0,
	OWNED_BY_GENERATOR = 1,
	OWNED_BY_C = 3,
	FRAME_SIZE = 0x100,
	STACK = 0x7000,
	N_C = 6,
};

/* Of 3.13, where C's frames have a frame of their own in the list. */
static const struct cpython_fields fields_3_13 = {
	.object = 16,
	.text_kind = 2,
	.frame_copy = -1,
	.frame_code = 0,
	.frame_previous = 8,
	.frame_instruction = 56,
	.frame_owner = 70,
	.frame_entry = -1,
	.cframe_frame = -1,
	.cframe_previous = -1,
	.code_bytes = CODE_BYTES,
	.code_framesize = 16,
	.frame_size = 72,
	.code_type = TYPE,
};

static const struct script_loop no_loop = { -1, -1, -1, -1 };

/* A walk that is being made. */
static struct {
	char bytes[8192];
	size_t size, head; /* where the current list begins */
} made;

static void put(const void *bytes, size_t size)
{
	memcpy(made.bytes + made.size, bytes, size);
	made.size += size;
}

static void begin_list(uint16_t list, uint16_t window, uint16_t end)
{
	const uint16_t head[] = { list, window, 0, end };

	made.head = made.size;
	put(head, sizeof(head));
}

static void count_element(void)
{
	uint16_t n;

	memcpy(&n, made.bytes + made.head + 4, sizeof(n));
	n++;
	memcpy(made.bytes + made.head + 4, &n, sizeof(n));
}

static void add_frame(uint64_t address, int code, int instruction, uint8_t owner)
{
	uint64_t words[WINDOW / 8] = { 0 };
	const uint64_t head[] = { address, owner == OWNED_BY_C ? 0 : IDENTITY };

	words[0] = code ? CODE + code * CODE_STEP : 0;
	words[7] = words[0] + CODE_BYTES + 2 * (instruction - 1);
	((uint8_t *)words)[70] = owner;
	put(head, sizeof(head));
	put(words, sizeof(words));
	count_element();
}

/* As 3.11 has it: whether C has called a frame is at 68, the owner at 69. */
static void add_frame_3_11(uint64_t address, int code, bool is_entry)
{
	add_frame(address, code, 1, OWNED_BY_THREAD);
	made.bytes[made.size - WINDOW + 68] = is_entry;
}

static void add_cframe(uint64_t address, uint64_t frame)
{
	const uint64_t words[CFRAME_WINDOW / 8] = { 0, frame, 0 };
	const uint64_t head[] = { address, 0 };

	put(head, sizeof(head));
	put(words, sizeof(words));
	count_element();
}

static struct code_table codes;
static struct script_stack stack;

static enum script_outcome read_walk(const struct cpython_fields *fields)
{
	const struct wire_sample sample = { .process = PROCESS, .walk = { made.bytes, made.size } };

	return cpython_walk_read(fields, &codes, &sample, &stack);
}

static void assert_no_frames(const struct cpython_fields *fields, enum script_outcome outcome)
{
	assert_int_equal(read_walk(fields), outcome);
	assert_int_equal(stack.n, 0);
	assert_int_equal(stack.n_segments, 0);
}

static int set_up(void **state)
{
	const uint64_t object[] = { 1, TYPE, WORDS }, other[] = { 1, TYPE + 8, WORDS };

	memset(&made, 0, sizeof(made));
	code_table_init(&codes);
	for (uint64_t i = 1; i <= 9; i++) {
		const struct wire_memory record = {
			.process = PROCESS,
			.address = CODE + i * CODE_STEP,
			.identity = IDENTITY,
			.number = i,
			.bytes = { i < 9 ? object : other, sizeof(object) },
		};

		assert_int_equal(
			code_table_add(&codes, &record, cpython_code_words(&fields_3_13, &record)),
			0);
	}
	return 0;
}

static int tear_down(void **state)
{
	code_table_deinit(&codes);
	return 0;
}

/* Two segments: 1 called 2, C in between, 3 called 4. */
static void make_two_segments(void)
{
	begin_list(0, WINDOW, WIRE_walk_end_END);
	add_frame(FRAMES + 3 * FRAME, 4, 9, OWNED_BY_THREAD);
	add_frame(FRAMES + 2 * FRAME, 3, 8, OWNED_BY_THREAD);
	add_frame(STACK + 1 * FRAME_SIZE + 8, 0, 0, OWNED_BY_C);
	add_frame(FRAMES + 1 * FRAME, 2, 7, OWNED_BY_THREAD);
	add_frame(FRAMES + 0 * FRAME, 1, 0, OWNED_BY_THREAD);
	add_frame(STACK + 4 * FRAME_SIZE + 8, 0, 0, OWNED_BY_C);
}

static void test_segments_are_read(void **state)
{
	make_two_segments();
	assert_int_equal(read_walk(&fields_3_13), SCRIPT_WHOLE);
	assert_int_equal(stack.n, 4);
	assert_int_equal(stack.places[0], script_place(4, 9));
	assert_int_equal(stack.places[3], script_place(1, 0));
	assert_int_equal(stack.n_segments, 2);
	assert_int_equal(stack.segments[0].n, 2);
	assert_int_equal(stack.segments[1].anchor, STACK + 4 * FRAME_SIZE + 8);
}

static void test_activations_of_3_11(void **state)
{
	struct cpython_fields fields = fields_3_13;

	fields.frame_owner = 69;
	fields.frame_entry = 68;
	fields.cframe_frame = 8;
	fields.cframe_previous = 16;
	begin_list(0, WINDOW, WIRE_walk_end_END);
	add_frame_3_11(FRAMES + 1 * FRAME, 2, true);
	add_frame_3_11(FRAMES + 0 * FRAME, 1, true);
	begin_list(1, CFRAME_WINDOW, WIRE_walk_end_END);
	add_cframe(STACK + 8, FRAMES + 1 * FRAME);
	add_cframe(STACK + FRAME_SIZE + 8, FRAMES + 0 * FRAME);
	assert_no_frames(&fields, SCRIPT_TORN); /* that of the thread state is missing */
	add_cframe(0x50, 0);
	assert_int_equal(read_walk(&fields), SCRIPT_WHOLE);
	assert_int_equal(stack.n_segments, 2);
	assert_int_equal(stack.segments[0].anchor, STACK + 8);
	made.bytes[made.size - CFRAME_WINDOW + 8] ^= 1; /* it has a frame */
	assert_no_frames(&fields, SCRIPT_TORN);
	made.bytes[made.size - CFRAME_WINDOW + 8] ^= 1;
	made.bytes[made.size - 2 * CFRAME_WINDOW - 16 + 8] ^= 1; /* another one than the list's */
	assert_no_frames(&fields, SCRIPT_TORN);
}

static void test_a_last_frame_that_c_has_not_called(void **state)
{
	begin_list(0, WINDOW, WIRE_walk_end_END);
	add_frame(FRAMES + 0 * FRAME, 1, 1, OWNED_BY_THREAD);
	assert_no_frames(&fields_3_13, SCRIPT_TORN);
}

static void test_objects_that_are_no_code(void **state)
{
	begin_list(0, WINDOW, WIRE_walk_end_END);
	add_frame(FRAMES + 0 * FRAME, 9, 1, OWNED_BY_THREAD);
	add_frame(STACK, 0, 0, OWNED_BY_C);
	assert_no_frames(&fields_3_13, SCRIPT_TORN);
}

static void test_instructions_of_other_code(void **state)
{
	begin_list(0, WINDOW, WIRE_walk_end_END);
	add_frame(FRAMES + 0 * FRAME, 1, -1, OWNED_BY_THREAD);
	add_frame(STACK, 0, 0, OWNED_BY_C);
	assert_no_frames(&fields_3_13, SCRIPT_TORN);
}

static void test_code_that_is_not_known(void **state)
{
	begin_list(0, WINDOW, WIRE_walk_end_END);
	add_frame(FRAMES, 10, 1, OWNED_BY_THREAD);
	add_frame(STACK, 0, 0, OWNED_BY_C);
	assert_no_frames(&fields_3_13, SCRIPT_UNKNOWN);
}

/* A frame that is linked already, but has the caller of an earlier call. */
static void test_callers_that_are_left_out(void **state)
{
	begin_list(0, WINDOW, WIRE_walk_end_END);
	add_frame(FRAMES + 2 * FRAME, 3, 1, OWNED_BY_THREAD);
	add_frame(FRAMES, 1, 1, OWNED_BY_THREAD);
	add_frame(STACK, 0, 0, OWNED_BY_C);
	assert_no_frames(&fields_3_13, SCRIPT_TORN);
	made.size = 0;
	begin_list(0, WINDOW, WIRE_walk_end_END);
	add_frame(FRAMES + 2 * FRAME, 3, 1, OWNED_BY_THREAD);
	add_frame(0x30000, 2, 1, OWNED_BY_GENERATOR); /* it has no caller */
	add_frame(STACK, 0, 0, OWNED_BY_C);
	assert_no_frames(&fields_3_13, SCRIPT_TORN);
}

static void test_generators_and_pieces_of_frames(void **state)
{
	begin_list(0, WINDOW, WIRE_walk_end_END);
	add_frame(0x9018, 4, 1, OWNED_BY_THREAD); /* begins a piece */
	add_frame(FRAMES + FRAME, 3, 1, OWNED_BY_THREAD);
	add_frame(0x30000, 2, 1, OWNED_BY_GENERATOR);
	add_frame(FRAMES, 1, 1, OWNED_BY_THREAD);
	add_frame(STACK, 0, 0, OWNED_BY_C);
	assert_int_equal(read_walk(&fields_3_13), SCRIPT_WHOLE);
	assert_int_equal(stack.n, 4);
}

static void test_lists_that_were_not_read_to_the_end(void **state)
{
	begin_list(0, WINDOW, WIRE_walk_end_ABSENT);
	add_frame(FRAMES + 0 * FRAME, 1, 1, OWNED_BY_THREAD);
	assert_no_frames(&fields_3_13, SCRIPT_ABSENT);
	tear_down(state);
	set_up(state);
	begin_list(0, WINDOW, WIRE_walk_end_LIMIT);
	add_frame(FRAMES + 2 * FRAME, 3, 1, OWNED_BY_THREAD);
	add_frame(STACK, 0, 0, OWNED_BY_C);
	add_frame(FRAMES + 1 * FRAME, 2, 1, OWNED_BY_THREAD);
	assert_int_equal(read_walk(&fields_3_13), SCRIPT_LIMIT);
	assert_int_equal(stack.n, 1);
	assert_int_equal(stack.n_segments, 1);
}

static void test_damaged_walks(void **state)
{
	make_two_segments();
	for (size_t size = 0; size < made.size; size++) {
		const struct wire_sample sample = { .process = PROCESS,
						    .walk = { made.bytes, size } };

		assert_int_equal(cpython_walk_read(&fields_3_13, &codes, &sample, &stack),
				 SCRIPT_DAMAGED);
		assert_int_equal(stack.n, 0);
	}
}

static struct wire_frame frames[N_C + SCRIPT_FRAMES_MAX];
static uint64_t pointers[N_C];

static struct unwinding frames_of_c(enum wire_stack_end end)
{
	for (size_t i = 0; i < N_C; i++) {
		frames[i] = (struct wire_frame){ .address = 0x400000 + i };
		pointers[i] = STACK + i * FRAME_SIZE;
	}
	return (struct unwinding){
		.frames = frames, .stack_pointers = pointers, .n_frames = N_C, .end = end
	};
}

static void test_segments_are_inside_of_their_frames(void **state)
{
	static const uint64_t expected[] = { 0x400000, 4, 3, 0x400001, 0x400002,
					     0x400003, 2, 1, 0x400004, 0x400005 };
	struct unwinding unwinding = frames_of_c(WIRE_stack_end_COMPLETE);

	make_two_segments();
	read_walk(&fields_3_13);
	assert_int_equal(script_merge(&stack, &no_loop, MAPPING, &unwinding), SCRIPT_WHOLE);
	assert_int_equal(unwinding.n_frames, N_C + 4);
	for (size_t i = 0; i < unwinding.n_frames; i++) {
		uint64_t address = frames[i].address;
		bool is_script = frames[i].flags & WIRE_frame_flags_SCRIPT;

		assert_int_equal(is_script, expected[i] < 10);
		assert_int_equal(is_script ? script_place_number(address - SCRIPT_START) : address,
				 expected[i]);
	}
}

static void test_segments_that_fit_no_frame(void **state)
{
	struct unwinding unwinding = frames_of_c(WIRE_stack_end_COMPLETE);

	make_two_segments();
	read_walk(&fields_3_13);
	stack.segments[1].anchor = stack.segments[0].anchor; /* both in one */
	assert_int_equal(script_merge(&stack, &no_loop, MAPPING, &unwinding), SCRIPT_UNPLACED);
	stack.segments[1].anchor = STACK + N_C * FRAME_SIZE; /* behind all */
	assert_int_equal(script_merge(&stack, &no_loop, MAPPING, &unwinding), SCRIPT_UNPLACED);
	assert_int_equal(unwinding.n_frames, N_C);
	unwinding.end = WIRE_stack_end_NO_UNWIND_INFO; /* there may be more frames of C */
	assert_int_equal(script_merge(&stack, &no_loop, MAPPING, &unwinding), SCRIPT_CUT);
	assert_int_equal(unwinding.n_frames, N_C + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_segments_are_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_activations_of_3_11, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_last_frame_that_c_has_not_called, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_objects_that_are_no_code, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_instructions_of_other_code, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_code_that_is_not_known, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_callers_that_are_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_generators_and_pieces_of_frames, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_lists_that_were_not_read_to_the_end, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_damaged_walks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_segments_are_inside_of_their_frames, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_segments_that_fit_no_frame, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
