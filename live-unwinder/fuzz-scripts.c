/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile lists of interpreters. An input is a language, the fields of its runtime (two bytes
 * each), how many objects are known (a byte), these (address and identity, 16 bytes each; if they
 * are what their bytes say, also two bytes for their size, and so many bytes), and then a walk.
 * Frames of the script are put between those of C, which stay in their order; of V8 the second one
 * may be removed.
 */
#include "common/script/script-place.h"
#include "live-unwinder/script-merge.h"
#include "live-unwinder/script/dotnet-calls.h"
#include "live-unwinder/script/luajit-calls.h"
#include "live-unwinder/script/script-reader.h"
#include "live-unwinder/v8/v8-builtins.h"
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
	IMAGE = 3, /* the interpreter's, which has the code of some frames */
	IMAGE_SIZE = 20,
	COMPILED = 23, /* a frame that may be one of compiled code, */
	MADE = 12,     /* and one that is, by how it was left */
	RBX = 3,
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

/* Likewise, but for one. */
static void take_v8(struct fuzz_input *input, struct v8_fields *fields)
{
	int64_t *numbers = (int64_t *)fields, own;

	take_numbers(input, numbers, sizeof(*fields) / sizeof(int64_t));
	own = fields->data_own;
	for (size_t i = 0; i < sizeof(*fields) / sizeof(int64_t); i++)
		numbers[i] &= INT16_MAX;
	fields->data_own = own;
}

static void take_ruby(struct fuzz_input *input, struct ruby_fields *fields)
{
	take_numbers(input, (int64_t *)fields, sizeof(*fields) / sizeof(int64_t));
	fields->frame_pc &= INT16_MAX;
	fields->frame_sp &= INT16_MAX;
	fields->frame_iseq &= INT16_MAX;
	fields->frame_flags &= INT16_MAX;
}

static void take_lua(struct fuzz_input *input, struct lua_fields *fields)
{
	int64_t *numbers = (int64_t *)fields;

	take_numbers(input, numbers, sizeof(*fields) / sizeof(int64_t));
	for (size_t i = 0; i < sizeof(*fields) / sizeof(int64_t); i++)
		numbers[i] &= INT16_MAX;
	fields->call_c &= 31;
	fields->call_fresh &= 31;
}

static void take_perl(struct fuzz_input *input, struct perl_fields *fields)
{
	int64_t *numbers = (int64_t *)fields;

	take_numbers(input, numbers, sizeof(*fields) / sizeof(int64_t));
	for (size_t i = 0; i < sizeof(*fields) / sizeof(int64_t); i++)
		numbers[i] &= INT16_MAX;
}

static void take_beam(struct fuzz_input *input, struct beam_fields *fields)
{
	int64_t *numbers = (int64_t *)fields;

	take_numbers(input, numbers, sizeof(*fields) / sizeof(int64_t));
	for (size_t i = 0; i < sizeof(*fields) / sizeof(int64_t); i++)
		numbers[i] &= INT16_MAX;
}

/* Sites may lack anything, and records of methods have the type that objects here have. */
static void take_hotspot(struct fuzz_input *input, struct hotspot_fields *fields)
{
	take_numbers(input, (int64_t *)fields, sizeof(*fields) / sizeof(int64_t));
	fields->method_type = TYPE;
	fields->const_size &= INT16_MAX;
	fields->excluded &= 1;
}

static void take_luajit(struct fuzz_input *input, struct luajit_fields *fields)
{
	int64_t *numbers = (int64_t *)fields;

	take_numbers(input, numbers, sizeof(*fields) / sizeof(int64_t));
	for (size_t i = 0; i < sizeof(*fields) / sizeof(int64_t); i++)
		numbers[i] &= INT16_MAX;
}

static void take_fields(struct fuzz_input *input, struct runtime_fields *fields)
{
	uint8_t language;

	fuzz_take(input, &language, sizeof(language));
	fields->language = language % SCRIPT_LANGUAGES_MAX;
	if (fields->language == SCRIPT_PHP)
		take_php(input, &fields->php);
	else if (fields->language == SCRIPT_V8)
		take_v8(input, &fields->v8);
	else if (fields->language == SCRIPT_RUBY)
		take_ruby(input, &fields->ruby);
	else if (fields->language == SCRIPT_LUA)
		take_lua(input, &fields->lua);
	else if (fields->language == SCRIPT_LUAJIT)
		take_luajit(input, &fields->luajit);
	else if (fields->language == SCRIPT_BEAM)
		take_beam(input, &fields->beam);
	else if (fields->language == SCRIPT_PERL)
		take_perl(input, &fields->perl);
	else if (fields->language == SCRIPT_HOTSPOT)
		take_hotspot(input, &fields->hotspot);
	else if (fields->language == SCRIPT_DOTNET)
		take_numbers(input, &fields->dotnet.code_size, 1);
	else
		take_cpython(input, &fields->cpython);
}

/* As scripts_take_memory() does. */
static void add_object(const struct runtime_fields *fields, const struct wire_memory *record,
		       struct code_table *codes)
{
	const struct script_reader *reader = &script_readers[fields->language];
	uint64_t trait = reader->trait(fields, record);

	fuzz_check((trait && trait == reader->kept ? code_table_keep
						   : code_table_add)(codes, record, trait) == 0);
}

/* Whether objects of a language are what their bytes say. */
static bool has_bytes(enum script_language language)
{
	return language == SCRIPT_V8 || language == SCRIPT_HOTSPOT || language == SCRIPT_PERL ||
	       language == SCRIPT_LUA || language == SCRIPT_LUAJIT || language == SCRIPT_DOTNET;
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
		void *block = NULL;
		uint16_t size;

		fuzz_take(input, &record.address, sizeof(record.address));
		fuzz_take(input, &record.identity, sizeof(record.identity));
		if (has_bytes(fields->language)) {
			fuzz_take(input, &size, sizeof(size));
			block = fuzz_take_block(input, size, &record.bytes.size);
			record.bytes.data = block;
		}
		add_object(fields, &record, codes);
		free(block);
	}
}

/* The process, with the interpreter's image; the same for all inputs. */
static struct process *get_process(void)
{
	static struct process_table processes;
	const struct wire_process process = { .process = PROCESS,
					      .pid = PROCESS,
					      .origin = WIRE_origin_SCANNED };
	const struct wire_mapping mapping = {
		.mapping = 1, .process = PROCESS, .start = 1, .length = IMAGE_SIZE, .image = IMAGE
	};

	if (!process_table_find(&processes, PROCESS)) {
		fuzz_check(process_table_add(&processes, &process) == 0);
		fuzz_check(process_table_map(&processes, &mapping) == 0);
	}
	return process_table_find(&processes, PROCESS);
}

/* How many frames of C are missing: only the second one may be. The others are in their order. */
static size_t count_removed(const struct unwinding *unwinding, const struct script_stack *stack)
{
	size_t n_c = 0, n_removed = 0;

	for (size_t i = 0; i < unwinding->n_frames; i++) {
		const struct wire_frame *frame = &unwinding->frames[i];

		if (frame->flags & WIRE_frame_flags_SCRIPT) {
			fuzz_check(script_has(frame->address) && frame->mapping == MAPPING);
			continue;
		}
		if (stack->anchoring == SCRIPT_ANCHOR_POINTER && n_c == 1 && frame->address == 2)
			n_removed++;
		fuzz_check(frame->address == n_removed + n_c++);
	}
	fuzz_check(n_c + n_removed == FRAMES);
	return n_removed;
}

/* The first half of the interpreter's code. */
static const struct v8_builtins *get_builtins(void)
{
	static struct v8_function builtin = { 0, IMAGE_SIZE / 2 };
	static struct v8_functions functions = { &builtin, 1 };
	static struct v8_builtins builtins;

	if (!builtins.by_image.n) {
		pair_map_init(&builtins.by_image, 1);
		fuzz_check(pair_map_add(&builtins.by_image, IMAGE, 0, (uintptr_t)&functions) == 0);
	}
	return &builtins;
}

/*
 * Frames of C of equal size, from address 0 on. The stack in memory is what the walk is made of.
 * The last frame of a process with a stack of its own is what the walk's first element says.
 */
static struct unwinding make_unwinding(enum script_language language,
				       const struct wire_sample *sample, enum wire_stack_end end)
{
	static struct wire_frame frames[FRAMES + SCRIPT_FRAMES_MAX];
	static uint64_t pointers[FRAMES];
	uint64_t first[3] = { 0 }; /* the element's address, its identity, and what it executes */

	for (size_t i = 0; i < FRAMES; i++) {
		pointers[i] = i * FRAME_SIZE;
		frames[i] = (struct wire_frame){ .address = i };
	}
	frames[COMPILED].flags = WIRE_frame_flags_FRAME_POINTER;
	frames[0].flags = WIRE_frame_flags_EXACT;
	if (language == SCRIPT_BEAM &&
	    sample->walk.size >= sizeof(struct walk_list_head) + sizeof(first)) {
		memcpy(first, (const char *)sample->walk.data + sizeof(struct walk_list_head),
		       sizeof(first));
		frames[FRAMES - 1].address = first[2];
		pointers[FRAMES - 1] = first[0];
	}
	return (struct unwinding){
		.arch = &arch_x86_64,
		.sample = sample,
		.process = get_process(),
		.frames = frames,
		.stack_pointers = pointers,
		.n_frames = FRAMES,
		.made = { MADE },
		.n_made = 1,
		.end = end,
		.builtins = get_builtins(),
		.last_fp = first[0],
	};
}

static void check_merge(struct script_stack *stack, const struct wire_sample *sample,
			enum wire_stack_end end)
{
	struct unwinding unwinding = make_unwinding(stack->language, sample, end);
	enum script_outcome outcome;
	size_t n_c;

	outcome = script_merge(stack, &loop, MAPPING, &unwinding);
	if (stack->own_end) { /* a script ends the stack, in the place of the last frame */
		fuzz_check(outcome == SCRIPT_WHOLE && unwinding.n_frames == FRAMES + stack->n - 1);
		return;
	}
	n_c = FRAMES - count_removed(&unwinding, stack);
	fuzz_check(unwinding.n_frames <= n_c + stack->n);
	if (stack->anchoring == SCRIPT_ANCHOR_RETURN) /* of old words nothing becomes a frame */
		return;
	if (stack->anchoring == SCRIPT_ANCHOR_POINTER) {
		fuzz_check(outcome == SCRIPT_WHOLE || outcome == SCRIPT_PARTLY);
		return;
	}
	fuzz_check(outcome == SCRIPT_WHOLE || outcome == SCRIPT_UNPLACED || outcome == SCRIPT_CUT ||
		   outcome == SCRIPT_NO_FRAMES);
	fuzz_check(outcome != SCRIPT_WHOLE || unwinding.n_frames == FRAMES + stack->n);
	fuzz_check(outcome != SCRIPT_UNPLACED || unwinding.n_frames == FRAMES);
}

/* Of a list that is known to its end, and of one whose stack is cut. */
static void check_merges(const struct script_stack *stack, const struct wire_sample *sample)
{
	static struct script_stack copy; /* script_merge() forgets what it does not put */

	copy = *stack;
	check_merge(&copy, sample, WIRE_stack_end_COMPLETE);
	copy = *stack;
	check_merge(&copy, sample, WIRE_stack_end_TRUNCATED);
}

/*
 * What is executed is one of the last three instructions without links, as are the frame pointer
 * and rbx. Frames in C lead up the stack, if there are some.
 */
static void execute_luajit(const struct runtime_fields *fields, const struct wire_sample *sample,
			   uint64_t *registers, struct script_thread *thread)
{
	const int64_t *numbers = fields->luajit.torn + LUAJIT_TORN_MAX - 3;
	struct luajit_calls calls;
	struct made_caller frame, caller;

	thread->sp = 8;
	thread->told = (struct made_caller){ numbers[0], numbers[0] % 16 ? 8 : 16, numbers[1] };
	registers[arch_x86_64.sample_index[arch_x86_64.pc]] = numbers[0];
	registers[arch_x86_64.sample_index[RBX]] = numbers[2];
	calls = luajit_calls_of(&fields->luajit, &fields->loop, sample, thread->sp);
	for (frame = thread->told; luajit_calls_find(&calls, &frame, &caller); frame = caller)
		fuzz_check(caller.pc && caller.sp > frame.sp);
}

/* What is executed is the walk's first element, and the stack is what the walk is made of. */
static void execute_dotnet(const struct wire_sample *sample, struct code_table *codes)
{
	static struct image_table images;
	static struct elf_cache files = { .table = &images };
	const struct made_code_context context = { codes, &files, get_process() };
	struct made_caller frame = { 0 }, caller;
	struct dotnet_calls calls;
	uint64_t first[3];

	if (sample->walk.size < sizeof(struct walk_list_head) + sizeof(first))
		return;
	memcpy(first, (const char *)sample->walk.data + sizeof(struct walk_list_head),
	       sizeof(first));
	frame.pc = first[2];
	frame.sp = frame.fp = first[0];
	calls = dotnet_calls_of(&context, sample, frame.sp);
	for (; dotnet_calls_find(&calls, &frame, &caller); frame = caller)
		fuzz_check(caller.pc && caller.sp > frame.sp);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct script_stack stack;
	struct fuzz_input input = { bytes, size };
	static uint64_t registers[ARCH_REGISTERS_MAX];
	struct wire_sample sample = { .process = PROCESS };
	struct unwinding unwinding;
	struct script_thread thread;
	struct runtime_fields fields = { .loop = loop };
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
	stack.image = IMAGE;
	unwinding = make_unwinding(fields.language, &sample, WIRE_stack_end_COMPLETE);
	thread = (struct script_thread){
		.arch = &arch_x86_64,
		.sample = &sample,
		.last = { unwinding.frames[FRAMES - 1].address,
			  unwinding.stack_pointers[FRAMES - 1], unwinding.last_fp },
	};
	if (fields.language == SCRIPT_LUAJIT)
		execute_luajit(&fields, &sample, registers, &thread);
	if (fields.language == SCRIPT_DOTNET)
		execute_dotnet(&sample, &codes);
	outcome = script_readers[fields.language].read(&fields, &codes, &thread, &stack);
	fuzz_check(outcome < SCRIPT_UNPLACED || outcome == SCRIPT_CUT);
	fuzz_check(outcome <= SCRIPT_PARTLY || !stack.n_segments);
	for (size_t i = 0; i < stack.n_segments; i++)
		n += stack.segments[i].n;
	fuzz_check(n == stack.n && n <= SCRIPT_FRAMES_MAX);
	if (stack.n_segments)
		check_merges(&stack, &sample);
	free((void *)sample.walk.data);
	code_table_deinit(&codes);
	return 0;
}
