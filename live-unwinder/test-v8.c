/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of JavaScript become frames inside of those that execute them, as far as it is known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/stream/script-place.h"
#include "common/stream/v8-pieces.h"
#include "live-unwinder/script/v8-code.h"
#include "live-unwinder/script/v8-walk.h"
#include "live-unwinder/scripts.h"

enum {
	PROCESS = 7,
	MAPPING = 5,
	IDENTITY = 99,
	WINDOW = 104,
	/* What V8 12.4 has. */
	FUNCTION_SIZE = 72,
	FUNCTION_TYPE = 0x112,
	TYPE_AT = 12,
	CODE_SIZE = 64,
	CODE_TYPE = 0xce,
	DATA_OWN = 64,
	ITEMS = 16,
	BASELINE = 10,
	OPTIMIZED = 12,
	/* Functions; the last one that is known is V8's own. */
	FUNCTION = 0x100000,
	STEP = 0x1000,
	N_FUNCTIONS = 5,
	BUILTIN = 5,
	UNKNOWN = 6,
	/* Objects of code, with their numbers, and what they are of. */
	OF_OPTIMIZED = 0x200000,
	OF_BASELINE = 0x300000,
	OF_UNKNOWN = 0x400000,
	OPTIMIZED_NUMBER = 10,
	BASELINE_NUMBER = 11,
	OWN = 1,
	FIRST_INLINED = 2,
	SECOND_INLINED = 3,
	BYTECODE = 0x500001,
	LENGTH = 0x100,
	ONE_INLINED_AT = 0x50,
	TWO_INLINED_AT = 0x60,
	OWN_AGAIN_AT = 0x80,
	RARE_AT = 0xf0, /* from here on it is not known */
	/* Code. */
	IMAGE = 3,
	INTERPRETER = 0x10000000,
	IMAGE_SIZE = 0x100000,
	C = 0x20000000,
	JIT = 0x30000000,
	JIT_BASELINE = 0x30001000,
	STACK = 0x70000000,
	FRAME_SIZE = 0x100,
	N_C = 6,
};

static const char layout[] =
	"frame.function=48 frame.bytecode=32 frame.instruction=80 frame.code=88 function.size=72 "
	"function.data=8 function.type=274 map.type=12 code.size=64 code.start=40 "
	"code.length=52 code.kind=48 code.data=8 code.type=206 code.baseline=10 data.count=24 "
	"data.own=64 items=16";

/* Where a frame of the interpreter is. */
#define INTERPRETED(frame) ((uint64_t)INTERPRETER + 0x10 * (frame))

static const struct script_loop no_loop = { -1, -1, -1, -1 };

/* Bytes that are being made. */
struct bytes {
	char at[8192];
	size_t n;
};

static struct bytes record, table, walk;
static uint16_t n_elements;
static struct scripts scripts;
static struct process_table processes;
static struct v8_fields fields;
static struct script_stack stack;
static struct wire_frame frames[N_C + SCRIPT_FRAMES_MAX];
static uint64_t pointers[N_C];
static struct unwinding unwinding;

static void put(struct bytes *to, const void *bytes, size_t n)
{
	assert_true(to->n + n <= sizeof(to->at));
	memcpy(to->at + to->n, bytes, n);
	to->n += n;
}

static void put_word(struct bytes *to, uint64_t word)
{
	put(to, &word, sizeof(word));
}

/* The piece of an object behind another one. */
static void put_piece(const void *bytes, size_t n)
{
	static const char zeros[8];

	put_word(&record, n);
	put(&record, bytes, n);
	put(&record, zeros, -n % 8);
}

static void put_map(uint16_t type)
{
	char map[16] = { 0 };

	memcpy(map + TYPE_AT, &type, sizeof(type));
	put_piece(map, sizeof(map));
}

/* An array of V8: its number of items is the upper half of the second word. */
static void put_array(const void *items, size_t n, size_t item_size)
{
	static struct bytes array;

	array.n = 0;
	put_word(&array, 0);
	put_word(&array, (uint64_t)n << 32);
	put(&array, items, n * item_size);
	put_piece(array.at, array.n);
}

/* Seven bits a byte, of which the first one is the sign (src/codegen/source-position-table.cc). */
static void put_number(int64_t number)
{
	uint64_t bits = (uint64_t)number << 1 ^ (uint64_t)(number >> 63);

	for (; bits > 0x7f; bits >>= 7)
		put(&table, &(char){ (char)(bits | 0x80) }, 1);
	put(&table, &(char){ (char)bits }, 1);
}

/* Of the source's first character, within an inlined function; 0: in the code's own. */
static uint64_t position_in(uint64_t inlining)
{
	return inlining << 31;
}

/* What a table has from an offset on; the first entry is behind an offset of -1. */
static void put_entry(int64_t offset, uint64_t position, bool is_statement)
{
	static int64_t last_offset;
	static uint64_t last_position;

	if (!table.n) {
		last_offset = -1;
		last_position = 0;
	}
	put_number(is_statement ? offset - last_offset : last_offset - offset - 1);
	put_number((int64_t)(position - last_position));
	last_offset = offset;
	last_position = position;
}

static void make_table(void)
{
	table.n = 0;
	put_entry(0, position_in(0) + 1234, true);
	put_entry(ONE_INLINED_AT, position_in(1) + 3, false);
	put_entry(TWO_INLINED_AT, position_in(2) + 99999, false);
	put_entry(OWN_AGAIN_AT, position_in(0), true);
	put_entry(RARE_AT, position_in(0), true);
}

static uint64_t address_of(uint64_t function)
{
	return FUNCTION + function * STEP;
}

struct inlining {
	uint64_t position; /* of the call */
	int32_t function, reserved;
};

/* The first one is inlined in the code's own function, and the second one in the first. */
static const struct inlining usual_inlinings[] = { { .function = 0 },
						   { .position = 1ULL << 31, .function = 1 } };

static void put_code(uint64_t start, uint8_t kind, uint64_t data)
{
	char object[CODE_SIZE] = { 0 };
	const uint32_t length = LENGTH;

	record.n = 0;
	memcpy(object + fields.code_data, &data, sizeof(data));
	memcpy(object + fields.code_start, &start, sizeof(start));
	memcpy(object + fields.code_kind, &kind, sizeof(kind));
	memcpy(object + fields.code_length, &length, sizeof(length));
	put(&record, object, sizeof(object));
	put_map(CODE_TYPE);
}

/* Makes a record of optimized code, with what `table` is. */
static void make_optimized(const struct inlining *inlinings, size_t n_inlinings)
{
	const uint64_t functions[] = { address_of(FIRST_INLINED) | 1,
				       address_of(SECOND_INLINED) | 1 };
	const uint64_t identities[] = { IDENTITY, IDENTITY };
	uint64_t data[12] = { [3] = 2ULL << 32, [DATA_OWN / 8] = address_of(OWN) | 1 };

	put_code(JIT, OPTIMIZED, 1);
	put_array(table.at, table.n, 1);
	put_piece(data, sizeof(data));
	put_array(inlinings, n_inlinings * sizeof(*inlinings), 1);
	put_array(functions, 2, sizeof(*functions));
	put_piece(&(uint64_t[]){ 0, address_of(OWN + 1) | 1 }, 16);
	put_piece(identities, sizeof(identities));
}

static void make_baseline(uint64_t bytecode)
{
	put_code(JIT_BASELINE, BASELINE, bytecode);
	for (size_t i = V8_CODE_POSITIONS; i < V8_CODE_PIECES_MAX; i++)
		put_piece("", 0);
}

static void make_function(uint64_t data)
{
	char object[FUNCTION_SIZE] = { 0 };

	record.n = 0;
	memcpy(object + fields.function_data, &data, sizeof(data));
	put(&record, object, sizeof(object));
	put_map(FUNCTION_TYPE);
}

/* Adds what `record` is. */
static void add_record(uint64_t number, uint64_t address)
{
	const struct wire_memory memory = {
		.process = PROCESS,
		.address = address,
		.identity = IDENTITY,
		.number = number,
		.bytes = { record.at, record.n },
	};

	assert_int_equal(scripts_take_memory(&scripts, &memory), 0);
}

static void add_runtime(void)
{
	const struct wire_runtime runtime = {
		.process = PROCESS,
		.image = IMAGE,
		.kind = wire_string("v8", 2),
		.layout = wire_string(layout, sizeof(layout) - 1),
	};

	assert_int_equal(scripts_take_runtime(&scripts, &runtime), 0);
	assert_non_null(runtime_table_find(&scripts.runtimes, PROCESS));
	fields = runtime_table_find(&scripts.runtimes, PROCESS)->v8;
}

static void add_process(void)
{
	const struct wire_process process = { .process = PROCESS,
					      .pid = PROCESS,
					      .origin = WIRE_origin_SCANNED,
					      .name = wire_string("node", 4) };
	const struct wire_mapping mapping = { .mapping = 1,
					      .process = PROCESS,
					      .start = INTERPRETER,
					      .length = IMAGE_SIZE,
					      .image = IMAGE };

	assert_int_equal(process_table_add(&processes, &process), 0);
	assert_int_equal(process_table_map(&processes, &mapping), 0);
}

/* Frames of C, without any of V8. */
static void make_c(void)
{
	for (size_t i = 0; i < N_C; i++) {
		frames[i] = (struct wire_frame){ .address = C + i };
		pointers[i] = STACK + i * FRAME_SIZE;
	}
	frames[0].flags = WIRE_frame_flags_EXACT;
	unwinding = (struct unwinding){
		.process = process_table_find(&processes, PROCESS),
		.frames = frames,
		.stack_pointers = pointers,
		.n_frames = N_C,
		.end = WIRE_stack_end_COMPLETE,
	};
}

static void begin_walk(void)
{
	walk.n = 8;
	n_elements = 0;
}

static int set_up(void **state)
{
	memset(&processes, 0, sizeof(processes));
	memset(&scripts, 0, sizeof(scripts));
	scripts_init(&scripts);
	add_runtime();
	add_process();
	for (uint64_t i = 1; i <= N_FUNCTIONS; i++) {
		make_function(i == BUILTIN ? 2 : BYTECODE);
		add_record(i, address_of(i));
	}
	make_table();
	make_optimized(usual_inlinings, 2);
	add_record(OPTIMIZED_NUMBER, OF_OPTIMIZED);
	make_baseline(BYTECODE);
	add_record(BASELINE_NUMBER, OF_BASELINE);
	make_c();
	begin_walk();
	return 0;
}

static int tear_down(void **state)
{
	scripts_deinit(&scripts);
	process_table_deinit(&processes);
	return 0;
}

/* The frame pointer of a frame. */
static uint64_t pointer_of(size_t frame)
{
	return STACK + (frame + 1) * FRAME_SIZE - 16;
}

/* Adds a frame of the list: of a function (0: none), with the object of its code (0: none). */
static void add_element(uint64_t address, uint64_t function, uint64_t instruction, uint64_t code)
{
	uint64_t window[WINDOW / 8] = {
		[4] = BYTECODE, [6] = address_of(function), [10] = instruction,
		[11] = code,	[12] = code ? IDENTITY : 0,
	};

	put_word(&walk, address);
	put_word(&walk, function ? IDENTITY : 0);
	put(&walk, window, sizeof(window));
	n_elements++;
}

/* The list begins with a frame without a function, as if JavaScript had called C++. */
static void begin_below_c(void)
{
	begin_walk();
	add_element(STACK + 8, 0, 0, 0);
}

/* Makes a C frame one of the interpreter, and adds it to the list. */
static void add_interpreted(size_t frame, uint64_t function)
{
	frames[frame].address = INTERPRETED(frame);
	add_element(pointer_of(frame), function, frames[frame].address, 0);
}

/* Makes a C frame one of a compiler's code. */
static void set_compiled(size_t frame, uint64_t address)
{
	frames[frame].address = address;
	if (frame)
		frames[frame].flags = WIRE_frame_flags_FRAME_POINTER;
}

static void add_compiled(size_t frame, uint64_t function, uint64_t address, uint64_t code)
{
	set_compiled(frame, address);
	add_element(pointer_of(frame), function, address, code);
}

static enum script_outcome read_until(uint16_t end)
{
	const uint16_t head[] = { 0, WINDOW, n_elements, end };
	const struct wire_sample sample = { .process = PROCESS, .walk = { walk.at, walk.n } };

	memcpy(walk.at, head, sizeof(head));
	return v8_walk_read(&fields, &scripts.codes, &sample, &stack);
}

static enum script_outcome read_walk(void)
{
	return read_until(WIRE_walk_end_END);
}

static enum script_outcome merge(void)
{
	stack.language = SCRIPT_V8;
	stack.image = IMAGE;
	return script_merge(&stack, &no_loop, MAPPING, &unwinding);
}

static void check_functions(const uint64_t *expected, size_t n)
{
	assert_int_equal(stack.n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(stack.places[i], script_place(expected[i], 0));
}

/* Functions by number, innermost first. */
#define CHECK_FUNCTIONS(...)                                                                       \
	check_functions((const uint64_t[]){ __VA_ARGS__ },                                         \
			sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void check_frames(const uint64_t *expected, size_t n)
{
	assert_int_equal(unwinding.n_frames, n);
	for (size_t i = 0; i < n; i++) {
		bool is_script = frames[i].flags & WIRE_frame_flags_SCRIPT;
		uint64_t place = frames[i].address - script_start(SCRIPT_V8);

		assert_int_equal(is_script, expected[i] < FUNCTION);
		assert_int_equal(is_script ? script_place_number(place) : frames[i].address,
				 expected[i]);
	}
}

/* Of all frames, innermost first: the number of a function, or the address of C's. */
#define CHECK_FRAMES(...)                                                                          \
	check_frames((const uint64_t[]){ __VA_ARGS__ },                                            \
		     sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void check_merged(enum script_outcome read, enum script_outcome merged)
{
	assert_int_equal(read_walk(), read);
	assert_int_equal(merge(), merged);
}

static void test_interpreted_frames_have_their_function(void **state)
{
	begin_below_c();
	add_interpreted(1, 2);
	add_interpreted(3, 4);
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(C, 2, INTERPRETED(1), C + 2, 4, INTERPRETED(3), C + 4, C + 5);
	assert_int_equal(frames[1].flags, WIRE_frame_flags_SCRIPT | WIRE_frame_flags_EXACT);
	assert_int_equal(frames[1].mapping, MAPPING);
}

static void test_optimized_code_has_what_it_has_inlined(void **state)
{
	begin_below_c();
	add_compiled(1, OWN, JIT + TWO_INLINED_AT + 5, OF_OPTIMIZED);
	add_compiled(2, OWN, JIT + ONE_INLINED_AT + 5, OF_OPTIMIZED);
	add_compiled(3, OWN, JIT + OWN_AGAIN_AT + 5, OF_OPTIMIZED);
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(C, SECOND_INLINED, FIRST_INLINED, OWN, JIT + TWO_INLINED_AT + 5, FIRST_INLINED,
		     OWN, JIT + ONE_INLINED_AT + 5, OWN, JIT + OWN_AGAIN_AT + 5, C + 4, C + 5);
}

/* Code may end where a call returns to, and what is behind it may be of another function. */
static void test_a_call_is_in_front_of_where_it_returns(void **state)
{
	begin_below_c();
	add_compiled(1, OWN, JIT + TWO_INLINED_AT, OF_OPTIMIZED);
	add_compiled(2, OWN, JIT + OWN_AGAIN_AT, OF_OPTIMIZED);
	add_compiled(3, OWN, JIT + RARE_AT, OF_OPTIMIZED);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CHECK_FUNCTIONS(FIRST_INLINED, OWN, SECOND_INLINED, FIRST_INLINED, OWN, OWN);
}

/* Code for rare cases has no entries of its own. */
static void test_behind_the_last_entry_nothing_is_known(void **state)
{
	begin_below_c();
	add_compiled(1, OWN, JIT + TWO_INLINED_AT + 5, OF_OPTIMIZED);
	add_compiled(2, OWN, JIT + RARE_AT + 1, OF_OPTIMIZED);
	add_compiled(3, OWN, JIT + LENGTH, OF_OPTIMIZED);
	check_merged(SCRIPT_PARTLY, SCRIPT_PARTLY);
	CHECK_FUNCTIONS(SECOND_INLINED, FIRST_INLINED, OWN);
}

static void test_what_is_executed_is_where_it_is(void **state)
{
	add_compiled(0, OWN, JIT + TWO_INLINED_AT, OF_OPTIMIZED);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CHECK_FUNCTIONS(SECOND_INLINED, FIRST_INLINED, OWN);
	begin_walk();
	add_compiled(0, OWN, JIT + TWO_INLINED_AT - 1, OF_OPTIMIZED);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CHECK_FUNCTIONS(FIRST_INLINED, OWN);
}

static void test_instructions_outside_of_their_code(void **state)
{
	static const uint64_t outside[] = { JIT - 1, JIT, JIT + LENGTH + 1 };

	for (size_t i = 0; i < sizeof(outside) / sizeof(*outside); i++) {
		begin_below_c();
		add_compiled(1, OWN, outside[i], OF_OPTIMIZED);
		assert_int_equal(read_walk(), SCRIPT_PARTLY);
		assert_int_equal(stack.n, 0);
	}
	begin_walk();
	add_compiled(0, OWN, JIT + LENGTH, OF_OPTIMIZED);
	assert_int_equal(read_walk(), SCRIPT_PARTLY);
}

/* The code has ended already, or has no frame yet: the frame is that of what called it. */
static void test_code_of_another_function_is_not_the_frames(void **state)
{
	begin_below_c();
	add_compiled(1, OWN + 1, JIT + 0x40, OF_OPTIMIZED);
	add_interpreted(3, 4);
	check_merged(SCRIPT_PARTLY, SCRIPT_PARTLY);
	CHECK_FRAMES(C, JIT + 0x40, C + 2, 4, INTERPRETED(3), C + 4, C + 5);
}

/* Up to some version the data of optimized code has it, later it leads to what has it. */
static void test_code_leads_to_its_own_function(void **state)
{
	fields.data_own = -1;
	begin_below_c();
	add_compiled(1, OWN + 1, JIT + 0x40, OF_OPTIMIZED);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CHECK_FUNCTIONS(OWN + 1);
}

static void test_baseline_code_is_of_its_bytecode(void **state)
{
	begin_below_c();
	add_compiled(1, 4, JIT_BASELINE + 0x40, OF_BASELINE);
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(C, 4, JIT_BASELINE + 0x40, C + 2, C + 3, C + 4, C + 5);
	make_baseline(BYTECODE + STEP);
	add_record(BASELINE_NUMBER + 1, OF_UNKNOWN);
	begin_below_c();
	add_compiled(1, 4, JIT_BASELINE + 0x40, OF_UNKNOWN);
	assert_int_equal(read_walk(), SCRIPT_PARTLY);
	assert_int_equal(stack.n, 0);
}

/* They are in the stack already, by their addresses. */
static void test_builtins_have_no_frame(void **state)
{
	begin_below_c();
	add_interpreted(1, BUILTIN);
	add_interpreted(2, 2);
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(C, INTERPRETED(1), 2, INTERPRETED(2), C + 3, C + 4, C + 5);
}

static void test_frames_that_the_stack_does_not_have(void **state)
{
	begin_below_c();
	add_interpreted(1, 2);
	add_element(pointer_of(2) - 8, 3, INTERPRETED(2), 0);
	add_interpreted(3, 4);
	check_merged(SCRIPT_WHOLE, SCRIPT_PARTLY);
	CHECK_FRAMES(C, 2, INTERPRETED(1), C + 2, 4, INTERPRETED(3), C + 4, C + 5);
}

static void test_frames_that_execute_something_else(void **state)
{
	begin_below_c();
	add_interpreted(1, 2);
	add_element(pointer_of(3), 4, C + 3, 0); /* the interpreter executes its own code only */
	add_compiled(4, OWN, JIT + 0x40, OF_OPTIMIZED);
	frames[1].address++;
	frames[4].address++;
	check_merged(SCRIPT_WHOLE, SCRIPT_PARTLY);
	assert_int_equal(unwinding.n_frames, N_C);
}

static void test_frames_behind_the_end_of_the_stack(void **state)
{
	begin_below_c();
	add_interpreted(1, 2);
	add_interpreted(N_C - 1, 4); /* where the last one ends is not known */
	check_merged(SCRIPT_WHOLE, SCRIPT_PARTLY);
	CHECK_FRAMES(C, 2, INTERPRETED(1), C + 2, C + 3, C + 4, INTERPRETED(5));
}

/* Of what has called C without a frame V8 has an instruction in front of the call. */
static void test_the_innermost_frame_calls_shortly_behind(void **state)
{
	add_compiled(1, OWN, JIT + 0x40, OF_OPTIMIZED);
	frames[1].address += 0x40;
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(C, OWN, JIT + 0x80, C + 2, C + 3, C + 4, C + 5);
	make_c();
	begin_walk();
	add_compiled(1, OWN, JIT + 0x40, OF_OPTIMIZED);
	frames[1].address += 0x41;
	check_merged(SCRIPT_WHOLE, SCRIPT_PARTLY);
}

/* A function that has no frame yet executes; what has called it has the frame. */
static void test_the_innermost_frame_is_that_of_one_alternative(void **state)
{
	set_compiled(0, JIT_BASELINE + 2);
	add_element(pointer_of(1), 2, JIT_BASELINE + 2, OF_UNKNOWN);
	add_interpreted(1, 2);
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(JIT_BASELINE + 2, 2, INTERPRETED(1), C + 2, C + 3, C + 4, C + 5);
	/* The other way round: what may have called it has not. */
	make_c();
	begin_walk();
	add_interpreted(0, 2);
	add_element(pointer_of(0), 2, JIT + 0x40, OF_OPTIMIZED);
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(2, INTERPRETED(0), C + 1, C + 2, C + 3, C + 4, C + 5);
}

static void test_two_alternatives_that_may_be_are_put_once(void **state)
{
	frames[0].address = INTERPRETED(0);
	add_element(pointer_of(1), 2, INTERPRETED(0), 0);
	add_interpreted(1, 2);
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(INTERPRETED(0), 2, INTERPRETED(1), C + 2, C + 3, C + 4, C + 5);
	begin_walk();
	add_element(pointer_of(1), 2, JIT_BASELINE + 2, OF_UNKNOWN);
	add_element(pointer_of(1), 2, JIT + 2, OF_UNKNOWN);
	assert_int_equal(read_walk(), SCRIPT_PARTLY);
	assert_int_equal(stack.n, 0);
}

/* A function that has called itself has no frame yet: that of its caller is where that one is. */
static void test_a_function_that_calls_itself(void **state)
{
	set_compiled(0, JIT + 0x2f);
	add_element(pointer_of(1), OWN, JIT + 0x2f, OF_OPTIMIZED);
	add_compiled(1, OWN, JIT + ONE_INLINED_AT + 5, OF_OPTIMIZED);
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(JIT + 0x2f, FIRST_INLINED, OWN, JIT + ONE_INLINED_AT + 5, C + 2, C + 3, C + 4,
		     C + 5);
}

/* On top of the stack is an old return address, as if what is executed had no frame yet. */
static void make_false_caller(uint64_t instruction, uint64_t caller)
{
	make_c();
	begin_walk();
	set_compiled(0, instruction);
	set_compiled(1, caller);
	add_element(pointer_of(1), OWN, instruction, OF_OPTIMIZED);
	add_element(pointer_of(1), OWN, caller, caller < JIT ? 0 : OF_BASELINE);
}

static void test_a_false_caller_is_removed(void **state)
{
	make_false_caller(JIT + 0x30, INTERPRETED(1));
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(OWN, JIT + 0x30, C + 2, C + 3, C + 4, C + 5);
	assert_int_equal(pointers[1], STACK + 2 * FRAME_SIZE);
}

static void test_a_caller_that_may_be_is_not(void **state)
{
	make_false_caller(JIT + 0x2f, JIT_BASELINE + 0x50); /* its frame may not be made yet */
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(JIT + 0x2f, OWN, JIT_BASELINE + 0x50, C + 2, C + 3, C + 4, C + 5);
	make_false_caller(JIT + 0x30, INTERPRETED(1));
	frames[0].address++; /* the innermost frame executes something else */
	read_walk();
	merge();
	assert_int_equal(frames[0].address, JIT + 0x31);
	assert_int_equal(frames[1].address, INTERPRETED(1));
	make_false_caller(JIT + 0x30, INTERPRETED(1));
	pointers[2]++; /* the second one has another frame */
	read_walk();
	merge();
	assert_int_equal(unwinding.n_frames, N_C);
}

/* As it ends, the frame is that of its caller, which is the same function. */
static void test_a_function_that_has_called_itself(void **state)
{
	make_false_caller(JIT + 0x30, JIT_BASELINE + 0x50);
	read_walk();
	merge();
	assert_int_equal(unwinding.n_frames, N_C);
	make_false_caller(JIT + 0x30, INTERPRETED(3)); /* what runs interpreted functions */
	add_interpreted(3, 4);
	read_walk();
	merge();
	CHECK_FRAMES(JIT + 0x30, INTERPRETED(3), C + 2, 4, INTERPRETED(3), C + 4, C + 5);
}

/* Code without unwind information, outside of the interpreter, is that of a compiler. */
static void test_compiled_code_without_a_function(void **state)
{
	begin_below_c();
	add_interpreted(1, 2);
	set_compiled(3, INTERPRETED(3));
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	assert_int_equal(unwinding.n_frames, N_C + 1);
	make_c();
	begin_below_c();
	add_interpreted(1, 2);
	set_compiled(3, JIT + 0x40);
	check_merged(SCRIPT_WHOLE, SCRIPT_PARTLY);
	CHECK_FRAMES(C, 2, INTERPRETED(1), C + 2, JIT + 0x40, C + 4, C + 5);
}

static void test_objects_that_the_stream_does_not_have(void **state)
{
	begin_below_c();
	add_interpreted(1, UNKNOWN);
	add_compiled(2, OWN, JIT + 0x40, OF_UNKNOWN);
	add_interpreted(3, 4);
	check_merged(SCRIPT_PARTLY, SCRIPT_PARTLY);
	CHECK_FRAMES(C, INTERPRETED(1), JIT + 0x40, 4, INTERPRETED(3), C + 4, C + 5);
	make_optimized(usual_inlinings, 2);
	record.at[record.n - 16]++; /* the identity of the function that is inlined first */
	add_record(OPTIMIZED_NUMBER + 2, OF_UNKNOWN);
	begin_below_c();
	add_compiled(1, OWN, JIT + TWO_INLINED_AT + 5, OF_UNKNOWN);
	assert_int_equal(read_walk(), SCRIPT_PARTLY);
	assert_int_equal(stack.n, 0);
}

static void test_walks_without_functions(void **state)
{
	begin_below_c();
	add_interpreted(1, BUILTIN);
	assert_int_equal(read_walk(), SCRIPT_NO_FRAMES);
	begin_walk();
	assert_int_equal(read_walk(), SCRIPT_NO_FRAMES);
	begin_below_c();
	add_interpreted(1, 2);
	assert_int_equal(read_until(WIRE_walk_end_LIMIT), SCRIPT_LIMIT);
	assert_int_equal(stack.n, 1);
	fields.frame_code = WINDOW - 8;
	assert_int_equal(read_walk(), SCRIPT_DAMAGED);
	assert_int_equal(stack.n_segments, 0);
}

/* How many functions are inlined at an offset of what `record` is; -1: not known. */
static int count_inlined(uint64_t offset)
{
	const struct wire_blob bytes = { record.at, record.n };
	struct v8_inlined inlined[V8_CALLS_MAX];
	struct v8_code code;

	assert_true(v8_code_read(&fields, &bytes, &code));
	return v8_code_find_inlined(&fields, &code, offset, inlined);
}

static void test_tables_that_do_not_say_what_is_inlined(void **state)
{
	static const char endless[12] = { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 };

	table.n = 0;
	put(&table, endless, sizeof(endless));
	make_optimized(usual_inlinings, 2);
	assert_int_equal(count_inlined(TWO_INLINED_AT), -1);
	table.n = 0;
	put(&table, endless, 3); /* a number that is cut */
	make_optimized(usual_inlinings, 2);
	assert_int_equal(count_inlined(TWO_INLINED_AT), -1);
	table.n = 0;
	put_entry(ONE_INLINED_AT, position_in(1), true);
	put_entry(ONE_INLINED_AT + 1, position_in(0), true);
	make_optimized(usual_inlinings, 2);
	assert_int_equal(count_inlined(ONE_INLINED_AT), 1);
	assert_int_equal(count_inlined(ONE_INLINED_AT - 1), -1); /* in front of the first entry */
}

static void test_inlinings_out_of_range(void **state)
{
	static const struct inlining beyond[] = { { .function = 0 },
						  { .position = 1ULL << 31, .function = 2 } };
	static const struct inlining negative[] = { { .function = -1 }, { .function = -1 } };

	make_optimized(usual_inlinings, 2);
	assert_int_equal(count_inlined(TWO_INLINED_AT), 2);
	make_optimized(usual_inlinings, 1);
	assert_int_equal(count_inlined(TWO_INLINED_AT), -1);
	assert_int_equal(count_inlined(ONE_INLINED_AT), 1);
	make_optimized(beyond, 2);
	assert_int_equal(count_inlined(TWO_INLINED_AT), -1);
	assert_int_equal(count_inlined(ONE_INLINED_AT), 1);
	make_optimized(negative, 2);
	assert_int_equal(count_inlined(ONE_INLINED_AT), -1);
}

static void test_inlinings_end(void **state)
{
	static const struct inlining circle[] = { { .position = 2ULL << 31 },
						  { .position = 1ULL << 31 } };
	struct inlining deep[V8_CALLS_MAX + 1] = { 0 };

	make_optimized(circle, 2);
	assert_int_equal(count_inlined(TWO_INLINED_AT), -1);
	for (uint64_t i = 0; i <= V8_CALLS_MAX; i++)
		deep[i].position = position_in(i);
	table.n = 0;
	put_entry(0, position_in(V8_CALLS_MAX), true);
	put_entry(1, position_in(V8_CALLS_MAX + 1), true);
	put_entry(2, position_in(0), true);
	make_optimized(deep, V8_CALLS_MAX + 1);
	assert_int_equal(count_inlined(0), V8_CALLS_MAX);
	assert_int_equal(count_inlined(1), -1);
}

/* What an object is; a record of other bytes is none of V8's. */
static enum v8_object object_of(const char *bytes, size_t n)
{
	char *copy = test_malloc(n ? n : 1);
	const struct wire_memory memory = { .bytes = { copy, n } };
	enum v8_object object;

	memcpy(copy, bytes, n);
	object = v8_object_of(&fields, &memory);
	test_free(copy);
	return object;
}

static void test_damaged_objects_are_none(void **state)
{
	static const char zeros[1024];

	make_optimized(usual_inlinings, 2);
	assert_int_equal(object_of(record.at, record.n), V8_CODE);
	for (size_t n = 0; n < record.n; n++)
		assert_int_equal(object_of(record.at, n), V8_NOTHING);
	make_function(BYTECODE);
	assert_int_equal(object_of(record.at, record.n), V8_FUNCTION);
	for (size_t n = 0; n < record.n; n++)
		assert_int_equal(object_of(record.at, n), V8_NOTHING);
	assert_int_equal(object_of(zeros, sizeof(zeros)), V8_NOTHING);
}

static bool is_kept(uint64_t number)
{
	struct wire_blob bytes;

	return code_table_find_bytes(&scripts.codes, number, &bytes);
}

static void test_only_bytes_of_code_are_kept(void **state)
{
	assert_true(is_kept(OPTIMIZED_NUMBER));
	assert_true(is_kept(BASELINE_NUMBER));
	assert_false(is_kept(OWN));
	make_baseline(BYTECODE);
	add_record(BASELINE_NUMBER + 1, OF_BASELINE); /* it is emitted again */
	assert_false(is_kept(BASELINE_NUMBER + 1));
	assert_true(is_kept(BASELINE_NUMBER));
}

/* What did not fit is not lost: it is emitted only once. */
static void test_kept_bytes_have_a_limit(void **state)
{
	struct script_code_view view;
	uint64_t number = 100, address = OF_UNKNOWN;

	make_baseline(BYTECODE);
	record.n = sizeof(record.at);
	while (!scripts.codes.n_forgotten)
		add_record(++number, address += STEP);
	assert_in_range(number - 100, CODE_BYTES_MAX / sizeof(record.at),
			CODE_BYTES_MAX / sizeof(record.at) + 1);
	assert_int_equal(scripts.codes.n_bytes, sizeof(record.at));
	assert_false(is_kept(OPTIMIZED_NUMBER));
	assert_true(is_kept(number));
	assert_int_equal(code_table_find(&scripts.codes, PROCESS, address, IDENTITY, &view),
			 CODE_IS_KNOWN);
	assert_int_equal(view.number, number);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_interpreted_frames_have_their_function),
		TEST(test_optimized_code_has_what_it_has_inlined),
		TEST(test_a_call_is_in_front_of_where_it_returns),
		TEST(test_behind_the_last_entry_nothing_is_known),
		TEST(test_what_is_executed_is_where_it_is),
		TEST(test_instructions_outside_of_their_code),
		TEST(test_code_of_another_function_is_not_the_frames),
		TEST(test_code_leads_to_its_own_function),
		TEST(test_baseline_code_is_of_its_bytecode),
		TEST(test_builtins_have_no_frame),
		TEST(test_frames_that_the_stack_does_not_have),
		TEST(test_frames_that_execute_something_else),
		TEST(test_frames_behind_the_end_of_the_stack),
		TEST(test_the_innermost_frame_calls_shortly_behind),
		TEST(test_the_innermost_frame_is_that_of_one_alternative),
		TEST(test_two_alternatives_that_may_be_are_put_once),
		TEST(test_a_function_that_calls_itself),
		TEST(test_a_false_caller_is_removed),
		TEST(test_a_function_that_has_called_itself),
		TEST(test_a_caller_that_may_be_is_not),
		TEST(test_compiled_code_without_a_function),
		TEST(test_objects_that_the_stream_does_not_have),
		TEST(test_walks_without_functions),
		TEST(test_tables_that_do_not_say_what_is_inlined),
		TEST(test_inlinings_out_of_range),
		TEST(test_inlinings_end),
		TEST(test_damaged_objects_are_none),
		TEST(test_only_bytes_of_code_are_kept),
		TEST(test_kept_bytes_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
