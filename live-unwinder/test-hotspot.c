/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Methods of Java become frames inside of those that execute them; the walk tells their callers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/script/script-walk.h"
#include "live-unwinder/script-merge.h"
#include "live-unwinder/script/hotspot-code.h"
#include "live-unwinder/script/hotspot-walk.h"
#include "live-unwinder/script/made-calls.h"

enum {
	PROCESS = 7,
	TYPE = 0x7000,
	OTHER_TYPE = 0x7100,
	IDENTITY = 0x11, /* of all methods, */
	CODE_IDENTITY = 0x33,
	METHODS = 0x10000, /* where they lie, */
	CODE = 0x20000,	   /* and code: its object, */
	BEGIN = 0x20100,   /* and instructions, */
	RARE = 0x20400,	   /* and those for rare cases */
	PCS = 0x30000,
	SCOPES = 0x38000,
	METADATA = 0x3a000,
	CONST_SIZE = 56,
	CODE_SIZE = 72,
	INTERPRETED = 0x50000, /* code of the interpreter that has frames */
	INTERPRETED_END = 0x51000,
	STACK = 0x7000,
	FRAME = 0x100,
	N_FRAMES = 6,
	MAPPING = 5,
};

/* Where the object of code has each site, as a pointer. */
enum {
	AT_METHOD = 0,
	AT_BEGIN = 8,
	AT_PCS = 16,
	AT_PCS_END = 24,
	AT_SCOPES = 32,
	AT_SCOPES_END = 40,
	AT_METADATA = 48,
	AT_METADATA_END = 56,
	AT_RARE = 64
};

#define POINTER(place)                                                                             \
	{                                                                                          \
		.pointer = (place), .further = -1, .offset = -1, .offset_size = 0                  \
	}

static struct hotspot_fields fields;

static const struct hotspot_fields usual_fields = {
	.frame_from = { INTERPRETED },
	.frame_to = { INTERPRETED_END },
	.method_type = TYPE,
	.method_archived = OTHER_TYPE,
	.const_size = CONST_SIZE,
	.code_begin = POINTER(AT_BEGIN),
	.rare = { .pointer = -1, .further = AT_RARE, .offset = -1, .offset_size = 0 },
	.pcs = POINTER(AT_PCS),
	.pcs_end = POINTER(AT_PCS_END),
	.scopes = POINTER(AT_SCOPES),
	.scopes_end = POINTER(AT_SCOPES_END),
	.metadata = POINTER(AT_METADATA),
	.metadata_end = POINTER(AT_METADATA_END),
	.excluded = 1,
};

static struct code_table codes;
static uint64_t n_records;
static struct script_stack stack;

static struct {
	char bytes[8192];
	size_t size;
	uint16_t n;
} walk;

static struct {
	struct wire_frame frames[N_FRAMES + SCRIPT_FRAMES_MAX];
	uint64_t pointers[N_FRAMES];
	struct unwinding unwinding;
} c;

static uint64_t method(uint64_t number)
{
	return METHODS + number * 0x100;
}

static uint64_t add_record(uint64_t address, uint64_t identity, const void *bytes, size_t size)
{
	const struct wire_memory record = { .process = PROCESS,
					    .number = ++n_records,
					    .address = address,
					    .identity = identity,
					    .bytes = { bytes, size } };
	enum hotspot_object object = hotspot_object_of(&fields, &record);

	assert_int_equal((object == HOTSPOT_OBJECT_CODE ? code_table_keep
							: code_table_add)(&codes, &record, object),
			 0);
	return n_records;
}

/* Methods 1 to 4 have these numbers, too. */
static void add_methods(void)
{
	for (uint64_t i = 1; i <= 4; i++) {
		const uint64_t object[] = { i % 2 ? TYPE : OTHER_TYPE, 0 };

		assert_int_equal(add_record(method(i), IDENTITY, object, sizeof(object)), i);
	}
}

/*
 * Code of method 1. A call that returns to offset 0x20 was made by 1 at bytecode 3. Method 2 is
 * inlined into 1 at bytecode 5, and 3 into 2 at 7: calls return to 0x40 (of 3, at 9) and 0x60 (of
 * 2, at 8). Behind there is only 1.
 */
static void add_code(void)
{
	static const uint32_t pcs[][4] = {
		{ -1, 0 },   { 0x20, 1 },  { 0x40, 10 },     { 0x60, 13 },
		{ 0x80, 1 }, { 0xa0, 16 }, { INT32_MAX, 0 },
	};
	/* Of each scope: where its caller's is, its method, and one more than its bytecode. One
	 * more for each, as no byte is 0. */
	static const uint8_t scopes[] = {
		0,	1 + 0, 1 + 1,  1 + 4, /* 1: method 1 at 3 */
		1 + 0,	1 + 1, 1 + 6,	      /* 4: 1 at 5, which calls */
		1 + 4,	1 + 2, 1 + 8,	      /* 7: 2 at 7, which calls */
		1 + 7,	1 + 3, 1 + 10,	      /* 10: 3 at 9 */
		1 + 4,	1 + 2, 1 + 9,	      /* 13: 2 at 8 */
		1 + 16, 1 + 1, 1 + 9,	      /* 16: damaged, as it is its own caller */
	};
	static const uint64_t metadata[] = { METHODS + 0x100, METHODS + 0x200, METHODS + 0x300 };
	const uint64_t callees[] = {
		method(1), IDENTITY, method(2), IDENTITY, method(3), IDENTITY
	};
	const uint64_t object[CODE_SIZE / 8] = {
		METHODS + 0x100, /* its own method */
		[AT_BEGIN / 8] = BEGIN,
		[AT_PCS / 8] = PCS,
		[AT_PCS_END / 8] = PCS + sizeof(pcs),
		[AT_SCOPES / 8] = SCOPES,
		[AT_SCOPES_END / 8] = SCOPES + sizeof(scopes),
		[AT_METADATA / 8] = METADATA,
		[AT_METADATA_END / 8] = METADATA + sizeof(metadata),
		[AT_RARE / 8] = RARE - CODE,
	};

	add_record(METADATA + 1, CODE_IDENTITY, callees, sizeof(callees));
	add_record(PCS, CODE_IDENTITY, pcs, sizeof(pcs));
	add_record(SCOPES, CODE_IDENTITY, scopes, sizeof(scopes));
	add_record(METADATA, CODE_IDENTITY, metadata, sizeof(metadata));
	add_record(CODE, CODE_IDENTITY, object, sizeof(object));
}

static int find(uint64_t offset, enum hotspot_at at,
		struct hotspot_scope scopes[HOTSPOT_SCOPES_MAX])
{
	const struct hotspot_code code = { &fields, &codes, PROCESS, CODE, CODE_IDENTITY };

	return hotspot_code_find(&code, BEGIN + offset, at, scopes);
}

/* Checks the methods at an offset of code, innermost first, and where they are; 0: not known. */
static void check_scopes(uint64_t offset, enum hotspot_at at, int n, const uint64_t (*wanted)[2])
{
	struct hotspot_scope scopes[HOTSPOT_SCOPES_MAX];

	assert_int_equal(find(offset, at, scopes), n);
	for (int i = 0; i < n; i++) {
		assert_int_equal(scopes[i].method, method(wanted[i][0]));
		assert_int_equal(scopes[i].identity, IDENTITY);
		assert_int_equal(scopes[i].place, wanted[i][1]);
	}
}

static void test_calls_of_inlined_methods(void **state)
{
	check_scopes(0x20, HOTSPOT_AT_CALL_OF_METHOD, 1, (const uint64_t[][2]){ { 1, 4 } });
	check_scopes(0x40, HOTSPOT_AT_CALL_OF_METHOD, 3,
		     (const uint64_t[][2]){ { 3, 10 }, { 2, 8 }, { 1, 6 } });
	check_scopes(0x60, HOTSPOT_AT_CALL_OF_METHOD, 2,
		     (const uint64_t[][2]){ { 2, 9 }, { 1, 6 } });
	/* Calls that are not described are of the method that the code was made of, or inlined. */
	check_scopes(0x44, HOTSPOT_AT_CALL, 1, (const uint64_t[][2]){ { 1, 0 } });
	/* Methods are not called so. */
	check_scopes(0x44, HOTSPOT_AT_CALL_OF_METHOD, -1, NULL);
	/* Code that is about to be left for good is of any of them. */
	check_scopes(RARE - BEGIN, HOTSPOT_AT_CALL_OF_METHOD, -1, NULL);
}

static void test_between_calls_only_the_own_method_is_known(void **state)
{
	check_scopes(0x30, HOTSPOT_AT_ANY, 1, (const uint64_t[][2]){ { 1, 0 } });
	check_scopes(0x50, HOTSPOT_AT_ANY, 1, (const uint64_t[][2]){ { 1, 0 } });
	check_scopes(0x200, HOTSPOT_AT_ANY, 1, (const uint64_t[][2]){ { 1, 0 } });
}

static void test_all_are_known_if_all_code_is_described(void **state)
{
	fields.dense = 1;
	check_scopes(0x30, HOTSPOT_AT_ANY, 3,
		     (const uint64_t[][2]){ { 3, 10 }, { 2, 8 }, { 1, 6 } });
	check_scopes(0x50, HOTSPOT_AT_ANY, 2, (const uint64_t[][2]){ { 2, 9 }, { 1, 6 } });
}

static void test_damaged_and_absent_code(void **state)
{
	struct hotspot_scope scopes[HOTSPOT_SCOPES_MAX];

	assert_int_equal(find(0xa0, HOTSPOT_AT_CALL_OF_METHOD, scopes), -1);
	fields.code_method = AT_BEGIN; /* it is made of another one than the first that it names */
	assert_int_equal(find(0x44, HOTSPOT_AT_ANY, scopes), -1);
	fields = usual_fields;
	fields.code_begin.pointer = CODE_SIZE; /* not recorded */
	assert_int_equal(find(0x40, HOTSPOT_AT_CALL_OF_METHOD, scopes), -1);
	fields = usual_fields;
	fields.scopes.further = AT_PCS; /* elsewhere */
	assert_int_equal(find(0x40, HOTSPOT_AT_CALL_OF_METHOD, scopes), -1);
	fields = usual_fields;
	fields.pcs.further = AT_PCS; /* then only the code's own method is known */
	assert_int_equal(find(0x40, HOTSPOT_AT_CALL, scopes), 1);
	assert_int_equal(find(0x40, HOTSPOT_AT_CALL_OF_METHOD, scopes), -1);
	fields.pcs_end = fields.pcs; /* nothing is described: nothing can be inlined */
	assert_int_equal(find(0x40, HOTSPOT_AT_CALL_OF_METHOD, scopes), 1);
}

/* Adds an element of the list. */
static void add_element(uint64_t sp, uint64_t pc, struct walk_call call)
{
	const struct walk_element head = {
		.address = sp,
		.identity = call.kind == WALK_CALL_INTERPRETED ? IDENTITY : 0,
	};
	const uint64_t code[] = { pc, call.kind == WALK_CALL_COMPILED ? CODE : 0, CODE_IDENTITY };

	memcpy(walk.bytes + walk.size, &head, sizeof(head));
	walk.size += sizeof(head);
	memcpy(walk.bytes + walk.size, &call, sizeof(call));
	walk.size += sizeof(call);
	memcpy(walk.bytes + walk.size, code, sizeof(code));
	walk.size += sizeof(code);
	walk.n++;
}

/* Where a frame of the stack begins. */
static uint64_t pointer(size_t frame)
{
	return STACK + frame * FRAME;
}

/* A frame of the interpreter, which executes byte `place` of a method, and was called by the next.
 */
static void add_interpreted(size_t frame, uint64_t pc, uint64_t number, uint64_t place,
			    enum walk_where where)
{
	c.frames[frame].address = pc;
	add_element(pointer(frame), pc,
		    (struct walk_call){
			    .fp = pointer(frame) + 0x80,
			    .next_pc = c.frames[frame + 1].address,
			    .next_sp = pointer(frame + 1),
			    .next_fp = pointer(frame + 1) + 0x80,
			    .what = { method(number), CONST_SIZE + place },
			    .kind = WALK_CALL_INTERPRETED,
			    .where = where,
		    });
}

static void add_compiled(size_t frame, uint64_t offset, enum walk_where where)
{
	c.frames[frame].address = BEGIN + offset;
	add_element(pointer(frame), BEGIN + offset,
		    (struct walk_call){ .next_pc = c.frames[frame + 1].address,
					.next_sp = pointer(frame + 1),
					.kind = WALK_CALL_COMPILED,
					.where = where });
}

static void add_entry(size_t frame)
{
	add_element(pointer(frame), c.frames[frame].address,
		    (struct walk_call){ .next_pc = 1,
					.next_sp = pointer(frame + 1),
					.kind = WALK_CALL_ENTRY,
					.where = WALK_WHERE_CALL });
}

static struct wire_sample sample_of_walk(void)
{
	const struct walk_list_head head = {
		.window = sizeof(struct walk_call) + 3 * sizeof(uint64_t),
		.n = walk.n,
		.end = WIRE_walk_end_END,
	};

	memcpy(walk.bytes, &head, sizeof(head));
	return (struct wire_sample){ .process = PROCESS, .walk = { walk.bytes, walk.size } };
}

static enum script_outcome read_walk(void)
{
	const struct wire_sample sample = sample_of_walk();

	return hotspot_walk_read(&fields, &codes, &sample, &stack);
}

static enum script_outcome merge(void)
{
	static const struct script_loop no_loop = { -1, -1, -1, -1 };

	stack.language = SCRIPT_HOTSPOT;
	return script_merge(&stack, &no_loop, MAPPING, &c.unwinding);
}

static uint64_t address_of(uint64_t number, uint64_t place)
{
	return script_start(SCRIPT_HOTSPOT) + script_place(number, place);
}

static int set_up(void **state)
{
	fields = usual_fields;
	n_records = 0;
	code_table_init(&codes);
	add_methods();
	add_code();
	memset(&walk, 0, sizeof(walk));
	walk.size = sizeof(struct walk_list_head);
	memset(&c, 0, sizeof(c));
	for (size_t i = 0; i < N_FRAMES; i++) {
		c.frames[i].address = 0x1000 + i;
		c.pointers[i] = pointer(i);
	}
	c.unwinding = (struct unwinding){ .frames = c.frames,
					  .stack_pointers = c.pointers,
					  .n_frames = N_FRAMES,
					  .end = WIRE_stack_end_COMPLETE };
	return 0;
}

static int tear_down(void **state)
{
	code_table_deinit(&codes);
	return 0;
}

static void test_methods_are_inside_of_frames_that_execute_them(void **state)
{
	add_interpreted(0, INTERPRETED + 4, 4, 2, WALK_WHERE_FRAME);
	add_compiled(1, 0x60, WALK_WHERE_CALL);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(c.unwinding.n_frames, N_FRAMES + 3);
	assert_int_equal(c.frames[0].address, address_of(4, 3));
	assert_int_equal(c.frames[1].address, INTERPRETED + 4);
	assert_int_equal(c.frames[2].address, address_of(2, 9));
	assert_int_equal(c.frames[3].address, address_of(1, 6));
	assert_int_equal(c.frames[4].address, BEGIN + 0x60);
}

static void test_an_unknown_method_has_a_place_without_a_name(void **state)
{
	add_interpreted(0, INTERPRETED + 4, 9, 2, WALK_WHERE_FRAME);
	add_compiled(1, 0x20, WALK_WHERE_CALL);
	assert_int_equal(read_walk(), SCRIPT_PARTLY);
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(c.frames[0].address, address_of(0, 0));
	assert_int_equal(c.frames[2].address, address_of(1, 4));
}

static void test_the_interpreter_counts_where_it_has_a_frame(void **state)
{
	add_interpreted(0, INTERPRETED_END, 4, 2, WALK_WHERE_FRAME);
	assert_int_equal(read_walk(), SCRIPT_TORN);
	assert_int_equal(stack.n_segments, 0);
}

static void test_a_frame_that_has_called_c_has_the_pointer_within(void **state)
{
	/* It is the second one of the stack; what it has noted is a little above its stack pointer,
	 * and no instruction of its own. */
	add_interpreted(1, INTERPRETED_END, 4, 2, WALK_WHERE_CALL);
	c.pointers[1] -= 16;
	c.frames[1].address++;
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(c.frames[1].address, address_of(4, 3));
}

static void test_a_frame_that_is_not_in_the_stack_has_none(void **state)
{
	add_compiled(1, 0x20, WALK_WHERE_CALL);
	add_compiled(2, 0x20, WALK_WHERE_CALL);
	c.frames[2].address++; /* another call */
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(merge(), SCRIPT_UNPLACED);
	assert_int_equal(c.unwinding.n_frames, N_FRAMES);
	c.unwinding.end =
		WIRE_stack_end_NO_UNWIND_INFO; /* of a stack that is cut, some may be true */
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(merge(), SCRIPT_CUT);
	assert_int_equal(c.unwinding.n_frames, N_FRAMES + 1);
}

static struct made_calls calls_of_walk(struct wire_sample *sample)
{
	struct runtime_fields runtime = { .language = SCRIPT_HOTSPOT };

	runtime.hotspot = fields;
	*sample = sample_of_walk();
	return made_calls_of(&runtime, NULL, sample, 0);
}

static bool finds(struct made_calls *calls, uint64_t pc, uint64_t sp, uint64_t fp, uint64_t wanted)
{
	const struct made_caller frame = { pc, sp, fp };
	struct made_caller caller;

	return made_calls_find(calls, &frame, &caller) && caller.sp == wanted;
}

static void test_callers(void **state)
{
	struct wire_sample sample;
	struct made_calls calls;

	add_compiled(0, 0x24, WALK_WHERE_FRAME);
	add_compiled(1, 0x20, WALK_WHERE_CALL);
	add_entry(2);
	add_interpreted(4, INTERPRETED_END, 4, 2, WALK_WHERE_CALL);
	calls = calls_of_walk(&sample);
	assert_true(calls.are_told);
	assert_true(finds(&calls, BEGIN + 0x24, pointer(0), 0, pointer(1)));
	assert_true(finds(&calls, BEGIN + 0x20, pointer(1), 0, pointer(2)));
	/* Other places are not known: not even near. */
	assert_false(finds(&calls, BEGIN + 0x21, pointer(1), 0, pointer(2)));
	assert_false(finds(&calls, BEGIN + 0x20, pointer(1) - 8, 0, pointer(2)));
	/* But where code has noted that it has called C++. */
	assert_true(finds(&calls, INTERPRETED, pointer(4), 0, pointer(5)));
	assert_true(finds(&calls, INTERPRETED, pointer(4) - 16, pointer(4) + 0x80, pointer(5)));
	assert_false(finds(&calls, INTERPRETED, pointer(4) - 16, pointer(4) + 0x88, pointer(5)));
	assert_false(finds(&calls, INTERPRETED, pointer(4) - 16, 0, pointer(5)));
}

static void test_without_a_walk_no_caller_is_known(void **state)
{
	const struct made_caller frame = { BEGIN, STACK, 0 };
	struct runtime_fields runtime = { .language = SCRIPT_HOTSPOT };
	struct made_calls calls =
		made_calls_of(&runtime, NULL, &(struct wire_sample){ .process = PROCESS }, 0);
	struct made_caller caller;

	assert_true(calls.are_told);
	assert_false(made_calls_find(&calls, &frame, &caller));
	runtime.language = SCRIPT_V8;
	assert_false(made_calls_of(&runtime, NULL, &(struct wire_sample){ .process = PROCESS }, 0)
			     .are_told);
	assert_false(
		made_calls_of(NULL, NULL, &(struct wire_sample){ .process = PROCESS }, 0).are_told);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_calls_of_inlined_methods),
		TEST(test_between_calls_only_the_own_method_is_known),
		TEST(test_all_are_known_if_all_code_is_described),
		TEST(test_damaged_and_absent_code),
		TEST(test_methods_are_inside_of_frames_that_execute_them),
		TEST(test_an_unknown_method_has_a_place_without_a_name),
		TEST(test_the_interpreter_counts_where_it_has_a_frame),
		TEST(test_a_frame_that_has_called_c_has_the_pointer_within),
		TEST(test_a_frame_that_is_not_in_the_stack_has_none),
		TEST(test_callers),
		TEST(test_without_a_walk_no_caller_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
