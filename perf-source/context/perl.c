/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where Perl 5 has the calls of its thread: arrays of contexts (PERL_CONTEXT), one for each stack
 * (PERL_SI), from the interpreter structure on, to which a key of the thread leads. In builds
 * without threads its members are variables. A context tells where its caller was (COP); where the
 * innermost one is, the interpreter does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/script/perl-pieces.h"
#include "perf-source/context/runtime.h"
#include "perf-source/image/interpreter-loop.h"

enum {
	PERL_5 = 5,
	CONTEXTS_MAX = 512,
	WORD = 8,
	/* PERL_SI (cop.h). */
	STACK_CONTEXTS = 8,
	STACK_PREVIOUS = 16,
	STACK_LAST = 32,
	STACK_TYPE = 44,
	/* PERL_CONTEXT: its type, and words of contexts that are blocks. */
	CONTEXT_SIZE = 104,
	CONTEXT_WINDOW = 80,
	CONTEXT_COP = 16,
	CONTEXT_RETURN = 48,
	CONTEXT_SUB = 72,
	CONTEXT_TYPES = 0xf,
	CONTEXT_OF_SUB = 9,
	/* Those of subs (9) and evals (11), and hardly any others. */
	CONTEXT_CALLS = 0x9,
	/* A window around the interpreter's own COP, where a context has that of its caller. */
	CURRENT_WINDOW = 32,
	/* SV, and CV as one of a type (sv.h). */
	VALUE_SIZE = 24,
	VALUE_BODY = 0,
	VALUE_TYPE_WORD = 8, /* the upper half of it has flags, of which a byte is the type */
	TYPE_OF_SUB = 13,
	/* XPVCV (cv.h). */
	SUB_SIZE = 104,
	SUB_STASH = 32,
	SUB_START = 40,
	SUB_ROOT = 48,
	SUB_NAME = 56, /* a GV, or a HEK */
	SUB_FILE = 64,
	SUB_FLAGS = 92,
	/* XPVGV. */
	GLOB_SIZE = 48,
	GLOB_NAME = 32,
	GLOB_STASH = 40,
	/* struct xpvhv_aux (hv.h): of the names; 0: it has one, else an array of them. */
	NAMES_COUNT = 28,
	NAMES_SIZE = 32,
	/* Up to 5.34 they are behind the table of the package, elsewhere part of its body. */
	STASH_TABLE = 16,
	STASH_LAST = 24,
	STASH_NAMES = 32,
	KEY_READ = 8 + 192, /* a HEK: its head, and so many characters */
	/* COP. */
	COP_SIZE = 56,
	COP_LINE = 36,
	COP_FILE = 48,
	FILE_READ = 256,
	/* Code of a function that is looked at. */
	CODE_READ = 128,
	CALL = 0xe8,
	JMP = 0xe9,
	BETWEEN_MAX = 4, /* bytes */
};

/*
 * How large the interpreter structure is (intrpvar.h), and where it has what is executed; where
 * PL_ppaddr has what executes `eval {}`; and where a package's body has its names.
 */
struct perl_layout {
	uint8_t minor;
	uint16_t size, cop, stack, enter_try;
	uint16_t names; /* 0: they are behind its table */
};

static const struct perl_layout layouts[] = {
	{ 32, 3792, 224, 240, 347, 0 },		  { 36, 3768, 208, 224, 347, STASH_NAMES },
	{ 38, 3896, 208, 224, 350, STASH_NAMES }, { 40, 3768, 208, 224, 350, STASH_NAMES },
	{ 42, 3768, 208, 224, 354, STASH_NAMES }, { 44, 3776, 208, 224, 354, STASH_NAMES },
};

static const struct perl_layout *find_layout(const struct loaded_image *image,
					     char ret[RUNTIME_VERSION_SIZE])
{
	static const char *const names[] = { "PL_revision", "PL_version", "PL_subversion" };
	uint8_t numbers[3];
	GElf_Sym symbol;

	for (size_t i = 0; i < sizeof(numbers); i++)
		if (!loaded_image_find_symbol(image, names[i], &symbol) ||
		    !loaded_image_read(image, symbol.st_value, &numbers[i], 1))
			return NULL;
	snprintf(ret, RUNTIME_VERSION_SIZE, "%u.%u.%u", numbers[0], numbers[1], numbers[2]);
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (numbers[0] == PERL_5 && layouts[i].minor == numbers[1])
			return &layouts[i];
	return NULL;
}

/* Addresses of what leads to the interpreter, as linked. 0: there is none. */
struct perl_places {
	uint64_t key;	     /* the thread's, in builds with threads; */
	uint64_t stack, cop; /* or variables */
};

/* Whether the interpreter structure is as large as it is known, and has the stack where it is. */
static bool is_as_known(const struct loaded_image *image, const struct perl_layout *layout)
{
	uint8_t code[CODE_READ];
	uint32_t operand = layout->stack;
	GElf_Sym size, reader;
	uint16_t number;

	return loaded_image_find_symbol(image, "PL_interp_size", &size) &&
	       loaded_image_read(image, size.st_value, &number, sizeof(number)) &&
	       number == layout->size &&
	       loaded_image_find_symbol(image, "Perl_caller_cx", &reader) &&
	       loaded_image_read(image, reader.st_value, code, sizeof(code)) &&
	       memmem(code, sizeof(code), &operand, sizeof(operand));
}

static bool find_places(const struct loaded_image *image, const struct perl_layout *layout,
			struct perl_places *ret)
{
	GElf_Sym key, stack, cop, reader;

	*ret = (struct perl_places){ 0 };
	if (loaded_image_find_symbol(image, "PL_thr_key", &key)) {
		ret->key = key.st_value;
		return is_as_known(image, layout);
	}
	if (!loaded_image_find_symbol(image, "PL_curstackinfo", &stack) ||
	    !loaded_image_find_symbol(image, "PL_curcop", &cop) ||
	    !loaded_image_find_symbol(image, "Perl_caller_cx", &reader) ||
	    !loaded_image_refers_to(image, &reader, &stack, 0))
		return false;
	ret->stack = stack.st_value;
	ret->cop = cop.st_value;
	return true;
}

/* Where `lea` behind `at` leads: 48 8d, a register, and a distance. 0: it is something else. */
static uint64_t address_loaded(const uint8_t *code, uint64_t address)
{
	int32_t distance;

	if (code[0] != 0x48 || code[1] != 0x8d || (code[2] & 0xc7) != 0x05)
		return 0;
	memcpy(&distance, code + 3, sizeof(distance));
	return address + 7 + distance;
}

/* Where a call or jump leads that follows within a few bytes; 0: none does. */
static uint64_t find_target(const uint8_t *code, uint64_t address)
{
	for (size_t i = 0; i < BETWEEN_MAX; i++) {
		int32_t distance;

		memcpy(&distance, code + i + 1, sizeof(distance));
		if (code[i] == CALL || code[i] == JMP)
			return address + i + 1 + sizeof(distance) + distance;
	}
	return 0;
}

/* The function that executes `eval {}`. Before the image is relocated there is none. */
static enum runtime_state find_enter_try(const struct loaded_image *image,
					 const struct perl_layout *layout, uint64_t *ret)
{
	GElf_Sym functions;

	if (!loaded_image_find_symbol(image, "PL_ppaddr", &functions) ||
	    !loaded_image_read(image, functions.st_value + layout->enter_try * WORD, ret,
			       sizeof(*ret)))
		return RUNTIME_OTHER_BUILD;
	*ret -= image->bias;
	return *ret < image->elf->low || *ret >= image->elf->high ? RUNTIME_NOT_YET : RUNTIME_KNOWN;
}

/*
 * Finds docatch(), which nothing exports: `eval {}` hands itself to it, to be executed in another
 * activation of the loop, if what has called Perl is to catch no errors.
 */
static bool find_catcher(const struct loaded_image *image, uint64_t enter_try,
			 struct interpreter_loop *ret)
{
	uint8_t code[CODE_READ];

	if (!loaded_image_read(image, enter_try, code, sizeof(code)))
		return false;
	for (size_t i = 0; i + 7 + BETWEEN_MAX + sizeof(uint32_t) < sizeof(code); i++)
		if (address_loaded(code + i, enter_try + i) == enter_try)
			return interpreter_loop_find_at(
				image, find_target(code + i + 7, enter_try + i + 7), ret);
	return false;
}

static uint16_t word(int offset)
{
	return 1U << (offset / WORD);
}

/* What a word of a piece leads to. */
static struct walk_text behind(enum perl_sub_piece of, uint16_t pointer, uint16_t size)
{
	return (struct walk_text){ .of = 1 + of, .pointer = pointer, .size = size };
}

/* A name (HEK): its hash, its length, and its characters. */
static struct walk_text key_at(enum perl_sub_piece of, uint16_t pointer)
{
	struct walk_text key = behind(of, pointer, KEY_READ);

	key.words = word(0);
	return key;
}

/* The names of a package. */
static struct walk_text names_of(const struct perl_layout *layout, enum perl_sub_piece stash)
{
	struct walk_text names = behind(stash, VALUE_BODY, layout->names + NAMES_SIZE);

	if (layout->names)
		return names;
	names.pointer = STASH_TABLE;
	names.table_entry = WORD;
	names.table_owner = VALUE_BODY;
	names.table_last = STASH_LAST;
	return names;
}

/* A sub has a glob, which has its name and its package; or it has its name, and a package. */
static struct walk_object sub(const struct perl_layout *layout)
{
	return (struct walk_object){
		.pointer_mask = UINT64_MAX,
		.words = word(VALUE_BODY),
		.pointer = CONTEXT_SUB,
		.size = VALUE_SIZE,
		.type_at = VALUE_TYPE_WORD,
		.type_mask = 0xffULL << 32,
		.type = (uint64_t)TYPE_OF_SUB << 32,
		.kind_at = 0,
		.kind_mask = CONTEXT_TYPES,
		.kind = CONTEXT_OF_SUB,
		.texts = {
			[PERL_SUB_BODY] = { .pointer = VALUE_BODY,
					    .size = SUB_SIZE,
					    .words = word(SUB_STASH) | word(SUB_START) |
						     word(SUB_ROOT) | word(SUB_NAME) |
						     word(SUB_FILE) },
			[PERL_SUB_GLOB] = key_at(PERL_SUB_BODY, SUB_NAME),
			[PERL_SUB_GLOB_BODY] = { .of = 1 + PERL_SUB_GLOB,
						 .pointer = VALUE_BODY,
						 .size = GLOB_SIZE,
						 .words = word(GLOB_NAME) | word(GLOB_STASH) },
			[PERL_SUB_GLOB_NAME] = key_at(PERL_SUB_GLOB_BODY, GLOB_NAME),
			[PERL_SUB_GLOB_STASH] = behind(PERL_SUB_GLOB_BODY, GLOB_STASH, VALUE_SIZE),
			[PERL_SUB_GLOB_STASH_BODY] = names_of(layout, PERL_SUB_GLOB_STASH),
			[PERL_SUB_GLOB_STASH_NAME] =
				behind(PERL_SUB_GLOB_STASH_BODY, layout->names, KEY_READ),
			[PERL_SUB_GLOB_STASH_NAMES] =
				behind(PERL_SUB_GLOB_STASH_NAME, 0, KEY_READ),
			[PERL_SUB_STASH] = behind(PERL_SUB_BODY, SUB_STASH, VALUE_SIZE),
			[PERL_SUB_STASH_BODY] = names_of(layout, PERL_SUB_STASH),
			[PERL_SUB_STASH_NAME] = behind(PERL_SUB_STASH_BODY, layout->names, KEY_READ),
			[PERL_SUB_STASH_NAMES] = behind(PERL_SUB_STASH_NAME, 0, KEY_READ),
			[PERL_SUB_FILE] = behind(PERL_SUB_BODY, SUB_FILE, FILE_READ),
		},
	};
}

/* A COP: line and file, which is a text, or, without threads, the name of a glob. */
static struct walk_object position(const struct perl_places *places)
{
	struct walk_object position = {
		.pointer_mask = UINT64_MAX,
		.words = word(0) | word(8) | word(16) | word(COP_LINE) | word(COP_FILE),
		.pointer = CONTEXT_COP,
		.size = COP_SIZE,
		.kind_at = 0,
		.kind_mask = CONTEXT_CALLS,
		.kind = CONTEXT_CALLS,
	};

	if (places->key) {
		position.texts[0] = (struct walk_text){ .pointer = COP_FILE,
							.size = FILE_READ,
							.words = word(0) };
		return position;
	}
	position.texts[PERL_COP_GLOB] =
		(struct walk_text){ .pointer = COP_FILE, .size = VALUE_SIZE };
	position.texts[PERL_COP_GLOB_BODY] = (struct walk_text){ .of = 1 + PERL_COP_GLOB,
								 .pointer = VALUE_BODY,
								 .size = GLOB_SIZE,
								 .words = word(GLOB_NAME) };
	position.texts[PERL_COP_GLOB_NAME] = (struct walk_text){ .of = 1 + PERL_COP_GLOB_BODY,
								 .pointer = GLOB_NAME,
								 .size = KEY_READ,
								 .words = word(0) };
	return position;
}

static struct walk_program make_walk(const struct loaded_image *image,
				     const struct perl_layout *layout,
				     const struct perl_places *places)
{
	struct walk_root root = { .base = WALK_BASE_THREAD_KEY,
				  .start = image->bias + places->key,
				  .self = -1 };
	struct walk_program walk = {
		.lists = { { .window = CONTEXT_WINDOW,
			     .next = STACK_PREVIOUS,
			     .stride = CONTEXT_SIZE,
			     .array = STACK_CONTEXTS,
			     .array_last = STACK_LAST,
			     .limit = CONTEXTS_MAX },
			   { .window = CURRENT_WINDOW, .limit = 1 } },
		.object = sub(layout),
		.beside = position(places),
	};

	if (!places->key) {
		root = (struct walk_root){ .base = WALK_BASE_ADDRESS, .n_loads = 1, .self = -1 };
		root.start = image->bias + places->stack;
		walk.lists[0].roots[0] = root;
		root.n_loads = 0;
		root.start = image->bias + places->cop - CONTEXT_COP;
		walk.lists[1].roots[0] = root;
		return walk;
	}
	root.n_loads = 2;
	root.loads[0] = layout->stack;
	walk.lists[0].roots[0] = root;
	root.n_loads = 1;
	root.loads[0] = layout->cop - CONTEXT_COP;
	walk.lists[1].roots[0] = root;
	return walk;
}

static void describe(const struct loaded_image *image, const struct perl_layout *layout,
		     const struct perl_places *places, const struct interpreter_loop *catcher,
		     const GElf_Sym *run, struct runtime *ret)
{
	uint64_t bias = image->bias;

	snprintf(ret->layout, sizeof(ret->layout),
		 "stack.array=%d stack.previous=%d stack.last=%d stack.type=%d context.size=%d "
		 "context.cop=%d context.return=%d context.sub=%d context.position=%d "
		 "interpreter.cop=%d sub.size=%d sub.body=%d sub.name=%d sub.flags=%d "
		 "sub.count=%d cop.size=%d cop.line=%d catch.from=%" PRIu64 " catch.to=%" PRIu64
		 " main.from=%" PRIu64 " main.to=%" PRIu64,
		 STACK_CONTEXTS, STACK_PREVIOUS, STACK_LAST, STACK_TYPE, CONTEXT_SIZE, CONTEXT_COP,
		 CONTEXT_RETURN, CONTEXT_SUB, CONTEXT_WINDOW, places->key ? layout->cop : -1,
		 VALUE_SIZE, SUB_SIZE, SUB_NAME, SUB_FLAGS, layout->names + NAMES_COUNT, COP_SIZE,
		 COP_LINE, bias + catcher->parts[0].from, bias + catcher->parts[0].to,
		 bias + run->st_value, bias + run->st_value + run->st_size);
}

enum runtime_state perl_find(const struct loaded_image *image, struct runtime *ret)
{
	const struct perl_layout *layout;
	struct interpreter_loop loop, catcher;
	enum runtime_state state;
	uint64_t enter_try;
	struct perl_places places;
	GElf_Sym run;

	if (!loaded_image_find_symbol(image, "Perl_runops_standard", &run))
		return RUNTIME_NONE;
	layout = find_layout(image, ret->version);
	if (!layout)
		return RUNTIME_OTHER_VERSION;
	if (!find_places(image, layout, &places))
		return RUNTIME_OTHER_BUILD;
	state = find_enter_try(image, layout, &enter_try);
	if (state != RUNTIME_KNOWN)
		return state;
	if (!find_catcher(image, enter_try, &catcher) ||
	    !loaded_image_find_symbol(image, "perl_run", &run) ||
	    !interpreter_loop_find(image, "Perl_runops_standard", &loop))
		return RUNTIME_OTHER_BUILD;
	ret->walk = make_walk(image, layout, &places);
	describe(image, layout, &places, &catcher, &run, ret);
	interpreter_loop_describe(&loop, image->bias, ret->layout, sizeof(ret->layout));
	return RUNTIME_KNOWN;
}
