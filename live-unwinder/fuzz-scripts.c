/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile lists of interpreters. An input is a language, the fields of its runtime (two bytes
 * each), how many objects are known (a byte), these (address and identity, 16 bytes each), and then
 * a walk. Frames of the script are put between those of C, which stay in their order.
 */
#include "common/stream/script-place.h"
#include "live-unwinder/script-merge.h"
#include "live-unwinder/script/script-reader.h"
#include "tests/fuzz/fuzz.h"

enum {
	PROCESS = 7,
	TYPE = 0x1000,
	FRAMES = 40,
	FRAME_SIZE = 0x100,
	MAPPING = 5,
	FRAMESIZE_AT = 16,
	OBJECT = 16,
	LOOP = 2, /* frames whose code is of the interpreter's loop */
	LOOP_SIZE = 30,
};

static const struct script_loop loop = { LOOP, LOOP + LOOP_SIZE, -1, -1 };

static void take_numbers(struct fuzz_input *input, int64_t *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int16_t field;

		fuzz_take(input, &field, sizeof(field));
		numbers[i] = field < -1 ? -1 : field;
	}
}

static void take_cpython(struct fuzz_input *input, struct cpython_fields *fields)
{
	take_numbers(input, (int64_t *)fields, sizeof(*fields) / sizeof(int64_t));
	fields->code_type = TYPE;
	fields->code_framesize = FRAMESIZE_AT;
	fields->object = OBJECT;
	/* runtime_table_add() refuses others. */
	fields->frame_code &= INT16_MAX;
	fields->frame_previous &= INT16_MAX;
	fields->frame_instruction &= INT16_MAX;
	fields->frame_owner &= INT16_MAX;
	fields->frame_index &= INT16_MAX;
	fields->frame_state &= INT16_MAX;
}

/* runtime_table_add() refuses negative ones. */
static void take_php(struct fuzz_input *input, struct php_fields *fields)
{
	take_numbers(input, (int64_t *)fields, sizeof(*fields) / sizeof(int64_t));
	fields->frame_function &= INT16_MAX;
	fields->frame_previous &= INT16_MAX;
	fields->frame_info &= INT16_MAX;
	fields->frame_line &= INT16_MAX;
}

static void take_fields(struct fuzz_input *input, struct runtime_fields *fields)
{
	uint8_t language;

	fuzz_take(input, &language, sizeof(language));
	fields->language = language % SCRIPT_LANGUAGES_MAX;
	if (fields->language == SCRIPT_PHP)
		take_php(input, &fields->php);
	else
		take_cpython(input, &fields->cpython);
}

static void add_objects(struct fuzz_input *input, const struct runtime_fields *fields,
			struct code_table *codes)
{
	uint8_t n;

	fuzz_take(input, &n, sizeof(n));
	for (uint64_t i = 1; i <= n; i++) {
		const uint64_t object[] = { 1 + i % 2, i % 8 ? TYPE : 0, i };
		struct wire_memory record = {
			.process = PROCESS,
			.number = i,
			.bytes = { object, sizeof(object) },
		};

		fuzz_take(input, &record.address, sizeof(record.address));
		fuzz_take(input, &record.identity, sizeof(record.identity));
		fuzz_check(code_table_add(
				   codes, &record,
				   script_readers[fields->language].trait(fields, &record)) == 0);
	}
}

/*
 * Frames of C of equal size, from address 0 on. The stack in memory is what the walk is made of.
 */
static void check_merge(struct script_stack *stack, const struct wire_sample *sample,
			enum wire_stack_end end)
{
	static struct wire_frame frames[FRAMES + SCRIPT_FRAMES_MAX];
	uint64_t pointers[FRAMES];
	struct unwinding unwinding = {
		.arch = &arch_x86_64,
		.sample = sample,
		.frames = frames,
		.stack_pointers = pointers,
		.n_frames = FRAMES,
		.end = end,
	};
	enum script_outcome outcome;
	size_t n_c = 0;

	for (size_t i = 0; i < FRAMES; i++) {
		pointers[i] = i * FRAME_SIZE;
		frames[i] = (struct wire_frame){ .address = i };
	}
	outcome = script_merge(stack, &loop, MAPPING, &unwinding);
	fuzz_check(outcome == SCRIPT_WHOLE || outcome == SCRIPT_UNPLACED || outcome == SCRIPT_CUT);
	fuzz_check(outcome != SCRIPT_WHOLE || unwinding.n_frames == FRAMES + stack->n);
	fuzz_check(outcome != SCRIPT_UNPLACED || unwinding.n_frames == FRAMES);
	for (size_t i = 0; i < unwinding.n_frames; i++) {
		if (frames[i].flags & WIRE_frame_flags_SCRIPT)
			fuzz_check(script_has(frames[i].address) && frames[i].mapping == MAPPING);
		else
			fuzz_check(frames[i].address == n_c++);
	}
	fuzz_check(n_c == FRAMES);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct script_stack stack;
	struct fuzz_input input = { bytes, size };
	static const uint64_t registers[ARCH_REGISTERS_MAX];
	struct wire_sample sample = { .process = PROCESS };
	struct runtime_fields fields;
	struct code_table codes;
	enum script_outcome outcome;
	size_t n = 0;

	code_table_init(&codes);
	take_fields(&input, &fields);
	add_objects(&input, &fields, &codes);
	sample.walk.data = fuzz_take_block(&input, input.size, &sample.walk.size);
	sample.stack = sample.walk;
	sample.registers.data = registers;
	sample.registers.n = arch_x86_64.n_registers;
	stack.language = fields.language;
	outcome = script_readers[fields.language].read(&fields, &codes, &sample, &stack);
	fuzz_check(outcome < SCRIPT_UNPLACED);
	fuzz_check(outcome <= SCRIPT_LIMIT || !stack.n_segments);
	for (size_t i = 0; i < stack.n_segments; i++)
		n += stack.segments[i].n;
	fuzz_check(n == stack.n && n <= SCRIPT_FRAMES_MAX);
	check_merge(&stack, &sample, WIRE_stack_end_COMPLETE);
	check_merge(&stack, &sample, WIRE_stack_end_TRUNCATED);
	free((void *)sample.walk.data);
	code_table_deinit(&codes);
	return 0;
}
