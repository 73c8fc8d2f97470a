/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where BEAM, Erlang's virtual machine with a JIT compiler, has what its processes execute. Each
 * has a stack of its own in its heap, with return addresses between terms. A table of modules leads
 * to functions and lines (erts/emulator/beam/beam_ranges.c), whose names are numbers of atoms; the
 * code of what reads it is checked.
 */
#include <stdio.h>
#include <string.h>

#include "perf-source/context/runtime.h"
#include "perf-source/image/first-load.h"
#include "perf-source/image/interpreter-loop.h"

enum {
	WORD = 8,
	RETURNS_MAX = 512,
	/* ErtsSchedulerData (erl_process.h): its registers, which lie where the C stack begins. */
	SCHEDULER_REGISTERS = 0,
	SCHEDULER_PROCESS = 0xa8,
	PROCESS_TOP = 0x58,
	UNNOTED = 2048, /* bytes of a stack that a process may have used since it noted its top */
	/* struct ranges, of each version of the table. */
	VERSION_SIZE = 32,
	/* BeamCodeHeader and BeamCodeLineTab (beam_code.h). */
	HEADER_N_FUNCTIONS = 0,
	HEADER_LINES = 0x48,
	LINES_FILES = 0,
	LINES_SIZE = 8,
	LINES_WORDS = 0x10,
	LINES_PLACES = 0x18,
	FILE_SHIFT = 24,
	/* ErtsCodeInfo: module, function, arity. */
	FUNCTION_MODULE = 16,
	FUNCTION_NAME = 24,
	FUNCTION_ARITY = 32,
	FUNCTION_SIZE = 40,
	/* IndexTable (index.h) of atoms, and Atom (atom.h). */
	ATOMS = 0x78,
	ATOM_SHIFT = 6,
	ATOM_BITS = 10,
	ATOM_LENGTH = 24,
	ATOM_NAME = 32,
	ATOM_SIZE = 40,
	NAME_READ = 256,
	/* A file's name is a list of characters, each with the next one in front of it. */
	TERM_TAG = 3, /* erl_term.h */
	CELL = 16,
	FILE_READ = 96 * CELL,
	CODE_READ = 512,
};

/* Bytes in structures. */
struct beam_layout {
	uint8_t release;
	uint8_t functions;	/* BeamCodeHeader */
	uint8_t heap, heap_end; /* Process */
};

static const struct beam_layout layouts[] = {
	{ 25, 0x60, 0x80, 0x88 },
	{ 27, 0x88, 0xc0, 0xc8 },
};

static bool read_variable(const struct loaded_image *image, const char *name, void *ret,
			  size_t size)
{
	GElf_Sym variable;

	return loaded_image_find_symbol(image, name, &variable) &&
	       loaded_image_read(image, variable.st_value, ret, size);
}

/* By what etp-commands, which Erlang has for its own debuggers, go by. */
static const struct beam_layout *find_layout(const struct loaded_image *image,
					     char ret_version[RUNTIME_VERSION_SIZE])
{
	char release[3] = "";
	unsigned int number;
	uint32_t has_compiler;

	if (!read_variable(image, "etp_otp_release", release, sizeof(release) - 1) ||
	    sscanf(release, "%2u", &number) != 1)
		return NULL;
	snprintf(ret_version, RUNTIME_VERSION_SIZE, "%u", number);
	if (!read_variable(image, "etp_beamasm", &has_compiler, sizeof(has_compiler)) ||
	    !has_compiler)
		return NULL;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].release == number)
			return &layouts[i];
	return NULL;
}

/* The variable to which an instruction of `size` bytes refers by the distance in its last four. */
static uint64_t variable_of(uint64_t address, const uint8_t *instruction, size_t size)
{
	int32_t distance;

	memcpy(&distance, instruction + size - sizeof(distance), sizeof(distance));
	return address + size + (int64_t)distance;
}

/*
 * Where the table of modules is: what looks a module up begins with `mov VERSION(%rip),%r8d` and
 * `lea TABLE(%rip),%r9`.
 */
static bool find_modules(const struct loaded_image *image, uint64_t function, uint64_t version,
			 uint64_t *ret)
{
	static const uint8_t loads[] = { 0x44, 0x8b, 0x05 }, refers[] = { 0x4c, 0x8d, 0x0d };
	enum { SIZE = 7 };
	uint8_t code[2 * SIZE];

	if (!loaded_image_read(image, function, code, sizeof(code)) ||
	    memcmp(code, loads, sizeof(loads)) != 0 ||
	    memcmp(code + SIZE, refers, sizeof(refers)) != 0 ||
	    variable_of(function, code, SIZE) != version)
		return false;
	*ret = variable_of(function + SIZE, code + SIZE, SIZE);
	return true;
}

static bool has(const uint8_t code[CODE_READ], const uint8_t *bytes, size_t size)
{
	return memmem(code, CODE_READ, bytes, size);
}

/*
 * Whether what looks a function up reads a module as the layout has it: `lea N(%r8),%r9` for its
 * functions, and `mov N(%r8),%rsi` for its lines, whose first place is at `0x18(%rsi)`.
 */
static bool is_as_laid_out(const uint8_t code[CODE_READ], const struct beam_layout *layout)
{
	const uint8_t functions[] = { 0x4d, 0x8d, 0x48, layout->functions },
		      far_functions[] = { 0x4d, 0x8d, 0x88, layout->functions, 0, 0, 0 },
		      lines[] = { 0x49, 0x8b, 0x70, HEADER_LINES },
		      place[] = { 0x48, 0x2b, 0x46, LINES_PLACES };

	return (has(code, functions, sizeof(functions)) ||
		has(code, far_functions, sizeof(far_functions))) &&
	       has(code, lines, sizeof(lines)) && has(code, place, sizeof(place));
}

struct beam_places {
	uint64_t key, version, modules, atoms; /* variables, as linked */
	uint64_t stack_end;
};

/* Its first call is that of what looks a module up. */
static bool find_tables(const struct loaded_image *image, const struct beam_layout *layout,
			struct beam_places *ret)
{
	enum { CALL = 0xe8, CALL_SIZE = 5 };
	uint8_t code[CODE_READ];
	const uint8_t *call;
	GElf_Sym lookup, version, atoms;

	if (!loaded_image_find_symbol(image, "erts_lookup_function_info", &lookup) ||
	    !loaded_image_find_symbol(image, "the_active_code_index", &version) ||
	    !loaded_image_find_symbol(image, "erts_atom_table", &atoms) ||
	    !loaded_image_read(image, lookup.st_value, code, sizeof(code)) ||
	    !is_as_laid_out(code, layout))
		return false;
	ret->version = version.st_value;
	ret->atoms = atoms.st_value;
	call = memchr(code, CALL, sizeof(code) - CALL_SIZE);
	return call &&
	       find_modules(image, variable_of(lookup.st_value + (call - code), call, CALL_SIZE),
			    ret->version, &ret->modules);
}

static enum runtime_state find_places(const struct loaded_image *image,
				      const struct beam_layout *layout, struct beam_places *ret)
{
	GElf_Sym reader;

	if (!loaded_image_find_symbol(image, "erts_get_scheduler_data", &reader) ||
	    first_load_find(image, &reader, &ret->key) != FIRST_LOAD_FOUND ||
	    !find_tables(image, layout, ret) ||
	    !read_variable(image, "beam_normal_exit", &ret->stack_end, sizeof(ret->stack_end)))
		return RUNTIME_OTHER_BUILD;
	return ret->stack_end ? RUNTIME_KNOWN : RUNTIME_NOT_YET;
}

/* Leads to a member of the scheduler, which is the value of a key. */
static struct walk_root in_scheduler(uint64_t key, int member)
{
	return (struct walk_root){
		.base = WALK_BASE_THREAD_KEY,
		.start = key,
		.n_loads = 2,
		.loads = { member, 0 },
		.self = -1,
	};
}

/* An atom, and its name behind it. */
static void add_name(struct walk_object *object, size_t i, struct walk_text atom)
{
	atom.size = ATOM_SIZE;
	object->texts[i] = atom;
	object->texts[i + 1] =
		(struct walk_text){ .of = i + 1, .pointer = ATOM_NAME, .size = NAME_READ };
}

/* A function is told from others by its names, and by the file that is told with it. */
static struct walk_object function(const struct walk_numbers *atoms)
{
	struct walk_object object = {
		.pointer_mask = UINT64_MAX,
		.words = 1U << (FUNCTION_MODULE / WORD) | 1U << (FUNCTION_NAME / WORD) |
			 1U << (FUNCTION_ARITY / WORD),
		.size = FUNCTION_SIZE,
	};

	add_name(&object, 0, (struct walk_text){ .numbers = *atoms, .pointer = FUNCTION_MODULE });
	add_name(&object, 2, (struct walk_text){ .numbers = *atoms, .pointer = FUNCTION_NAME });
	object.texts[4] = (struct walk_text){ .of = WALK_OF_FOUND, .size = FILE_READ };
	return object;
}

static struct walk_program make_walk(const struct loaded_image *image,
				     const struct beam_layout *layout,
				     const struct beam_places *places)
{
	const struct walk_numbers atoms = {
		.tables = image->bias + places->atoms + ATOMS,
		.shift = ATOM_SHIFT,
		.bits = ATOM_BITS,
	};
	uint64_t key = image->bias + places->key;

	return (struct walk_program){
		.lists = { { .window = sizeof(struct walk_return),
			     .stride = WORD,
			     .limit = RETURNS_MAX,
			     .roots = { in_scheduler(key, SCHEDULER_PROCESS) } } },
		.own = { .other = in_scheduler(key, SCHEDULER_REGISTERS),
			 .top = PROCESS_TOP,
			 .low = layout->heap,
			 .high = layout->heap_end,
			 .unnoted = UNNOTED,
			 .last = places->stack_end,
			 .version = image->bias + places->version,
			 .modules = image->bias + places->modules,
			 .version_size = VERSION_SIZE,
			 .n_functions = HEADER_N_FUNCTIONS,
			 .functions = layout->functions,
			 .lines = HEADER_LINES,
			 .line_files = LINES_FILES,
			 .line_size = LINES_SIZE,
			 .line_words = LINES_WORDS,
			 .line_places = LINES_PLACES,
			 .file_mask = ~(uint64_t)TERM_TAG,
			 .file_before = FILE_READ - CELL,
			 .file_shift = FILE_SHIFT },
		.object = function(&atoms),
	};
}

/* What executes functions of C for processes that have left their scheduler. */
static bool find_dirty(const struct loaded_image *image, struct interpreter_loop *ret)
{
	static const char *const names[] = { "erts_call_dirty_nif", "erts_call_dirty_bif" };
	GElf_Sym function;

	for (size_t i = 0; i < INTERPRETER_LOOP_PARTS; i++) {
		if (!loaded_image_find_symbol(image, names[i], &function) || !function.st_size)
			return false;
		ret->parts[i].from = function.st_value;
		ret->parts[i].to = function.st_value + function.st_size;
	}
	return true;
}

enum runtime_state beam_find(const struct loaded_image *image, struct runtime *ret)
{
	const struct beam_layout *layout;
	struct beam_places places;
	struct interpreter_loop dirty;
	enum runtime_state state;
	GElf_Sym release, native;

	if (!loaded_image_find_symbol(image, "enif_make_badarg", &native))
		return RUNTIME_NONE;
	if (!loaded_image_find_symbol(image, "etp_otp_release", &release))
		return RUNTIME_OTHER_BUILD;
	layout = find_layout(image, ret->version);
	if (!layout)
		return RUNTIME_OTHER_VERSION;
	if (!find_dirty(image, &dirty))
		return RUNTIME_OTHER_BUILD;
	state = find_places(image, layout, &places);
	if (state != RUNTIME_KNOWN)
		return state;
	ret->walk = make_walk(image, layout, &places);
	snprintf(ret->layout, sizeof(ret->layout),
		 "process.top=%d stack.end=%llu function.size=%d function.arity=%d atom.size=%d "
		 "atom.length=%d",
		 PROCESS_TOP, (unsigned long long)places.stack_end, FUNCTION_SIZE, FUNCTION_ARITY,
		 ATOM_SIZE, ATOM_LENGTH);
	interpreter_loop_describe(&dirty, image->bias, ret->layout, sizeof(ret->layout));
	return RUNTIME_KNOWN;
}
