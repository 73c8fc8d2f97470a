/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads which words of the thread's stack may be return addresses of managed code, and what that
 * code is (struct walk_managed).
 */
#pragma once

#include "perf-source/bpf/managed-code.h"
#include "perf-source/bpf/read-code.h"
#include "perf-source/bpf/read-own-stack.h"

enum {
	WALK_CODE_BEGIN = 32,	/* bytes of code that are part of its identity */
	WALK_TOKEN_BITS = 12,	/* of a method's number, in each of two parts */
	WALK_TYPE_SHIFT = 8,	/* of a type's number, in its flags */
	WALK_TABLE_SIZE = 16,	/* CMiniTableDef (metadata/metamodel.h); */
	WALK_TABLE_RECORD = 10, /* where it has the size of a row */
	WALK_TYPES = 2,		/* tables of ECMA-335 II.22, */
	WALK_METHODS = 6,
	WALK_NESTED = 41,
	WALK_NESTED_STEPS = 14, /* of a search for a type in the last of them */
	WALK_TYPE_NAME = 4,	/* where a row of TypeDef has its names, */
	WALK_METHOD_NAME = 8,	/* and one of MethodDef */
	WALK_WIDE = UINT16_MAX + 1,
	WALK_WORDS_AT_ONCE = 4,
};

/*
 * What is mixed into the identity of code of a heap: its header, and the begin of its description.
 * That may not be in memory before something behind it is executed; then the code is another one.
 * 0: it cannot be read.
 */
static __always_inline uint64_t walk_mix_header(const struct walk_managed *managed,
						struct walk_memory *memory, uint64_t begin,
						uint64_t hash)
{
	uint64_t header = walk_read_pointer(begin - sizeof(begin)), at = managed->header_functions;
	struct dotnet_function function;

	barrier_var(at);
	if (at > WALK_HEAD_MAX - sizeof(function) ||
	    bpf_probe_read_user(memory->head, at + sizeof(function), (const void *)header) ||
	    bpf_probe_read_user(&function, sizeof(function), (const void *)(header + at)))
		return 0;
	hash = walk_mix(hash, header);
	return walk_mix(hash, walk_read_pointer(begin + function.unwind - function.begin)) | 1;
}

/* The identity of code; 0: it cannot be read. */
__noinline uint64_t walk_managed_identity(const struct walk_managed *managed,
					  struct walk_memory *memory, uint64_t begin,
					  uint64_t method)
{
	uint64_t hash = walk_mix(5, method);

	if (!managed || !memory)
		return 0;
	for (uint32_t i = 0; i < WALK_HEAD_WORDS; i++)
		memory->head[i] = 0;
	if (!method)
		hash = walk_mix_header(managed, memory, begin, hash);
	for (uint32_t i = 0; i < WALK_CODE_BEGIN / 8; i++)
		memory->text[i] = 0;
	if (!hash || !walk_read_text((char *)memory->text, begin, WALK_CODE_BEGIN))
		return 0;
	for (uint32_t i = 0; i < WALK_HEAD_WORDS; i++)
		hash = walk_mix(hash, memory->head[i]);
	for (uint32_t i = 0; i < WALK_CODE_BEGIN / 8; i++)
		hash = walk_mix(hash, memory->text[i]);
	return hash | 1;
}

static __always_inline uint64_t walk_find_rows(const struct walk_managed *managed,
					       uint64_t metadata, uint32_t table,
					       uint16_t *ret_size)
{
	*ret_size = 0;
	bpf_probe_read_user(ret_size, sizeof(*ret_size),
			    (const void *)(metadata + managed->metadata_tables +
					   table * WALK_TABLE_SIZE + WALK_TABLE_RECORD));
	return walk_read_pointer(metadata + managed->metadata_rows + table * sizeof(uint64_t));
}

/* A row of a table of metadata, from 1 on; 0: there is none. */
static __always_inline uint64_t walk_find_row(const struct walk_managed *managed, uint64_t metadata,
					      uint32_t table, uint32_t number)
{
	uint16_t size;
	uint64_t rows = walk_find_rows(managed, metadata, table, &size);

	return rows && number ? rows + (number - 1ULL) * size : 0;
}

/* A number in a row, of two bytes or four. */
static __always_inline uint32_t walk_read_number(uint64_t at, bool is_wide)
{
	uint32_t number = 0;

	bpf_probe_read_user(&number, is_wide ? sizeof(uint32_t) : sizeof(uint16_t),
			    (const void *)at);
	return number;
}

/* The type that another one is within, by their numbers; 0: none. */
__noinline uint32_t walk_find_outer(const struct walk_managed *managed, uint64_t metadata,
				    uint32_t type)
{
	uint32_t low = 0, high = 0, half;
	uint16_t size;
	uint64_t rows;

	if (!managed)
		return 0;
	rows = walk_find_rows(managed, metadata, WALK_NESTED, &size);
	bpf_probe_read_user(
		&high, sizeof(high),
		(const void *)(metadata + managed->metadata_counts + WALK_NESTED * sizeof(high)));
	half = size / 2;
	for (uint32_t i = 0; i < WALK_NESTED_STEPS && low < high; i++) {
		uint32_t middle = low + (high - low) / 2;
		uint64_t row = rows + (uint64_t)middle * size;
		uint32_t found = walk_read_number(row, half > sizeof(uint16_t));

		if (found == type)
			return walk_read_number(row + half, half > sizeof(uint16_t));
		if (found < type)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

/* Reads the i-th of names that a row has one behind the other. */
static __always_inline void walk_read_name(const struct walk_managed *managed, uint64_t metadata,
					   uint64_t at, uint32_t i, char to[DOTNET_NAME_MAX])
{
	uint64_t names = walk_read_pointer(metadata + managed->metadata_names);
	uint32_t mask = 0;
	bool is_wide;

	bpf_probe_read_user(&mask, sizeof(mask), (const void *)(metadata + managed->metadata_mask));
	is_wide = mask >= WALK_WIDE;
	at += i * (is_wide ? sizeof(uint32_t) : sizeof(uint16_t));
	bpf_probe_read_user_str(to, DOTNET_NAME_MAX,
				(const void *)(names + walk_read_number(at, is_wide)));
}

/* What a method says of itself, and the block of methods that it is in. */
struct walk_method {
	uint64_t type, metadata;
	uint16_t token, flags, range;
};

static __always_inline void walk_read_method(const struct walk_managed *managed, uint64_t method,
					     struct walk_method *ret)
{
	uint64_t block = method - managed->block_size, assembly;
	uint8_t index = 0;

	bpf_probe_read_user(&ret->token, sizeof(ret->token),
			    (const void *)(method + managed->method_token));
	bpf_probe_read_user(&ret->flags, sizeof(ret->flags),
			    (const void *)(method + managed->method_flags));
	bpf_probe_read_user(&index, sizeof(index), (const void *)(method + managed->method_index));
	block -= index * sizeof(uint64_t);
	bpf_probe_read_user(&ret->range, sizeof(ret->range),
			    (const void *)(block + managed->block_range));
	ret->type = walk_read_pointer(block + managed->block_type);
	assembly = walk_read_pointer(walk_read_pointer(ret->type + managed->type_module) +
				     managed->module_assembly);
	ret->metadata = walk_read_pointer(assembly + managed->assembly_metadata);
}

/* Reads the name of a method, and finds its type. */
__noinline int walk_name_managed(const struct walk_managed *managed,
				 struct walk_managed_code *found, struct walk_memory *memory)
{
	struct dotnet_code *code;
	struct walk_method of = { 0 };
	uint32_t token, type = 0;
	uint64_t row;

	if (!managed || !found || !memory)
		return 0;
	found->type = 0;
	code = (void *)memory->bytes;
	walk_read_method(managed, code->method, &of);
	code->method_flags = of.flags;
	if ((of.flags & DOTNET_METHOD_KINDS) == DOTNET_METHOD_DYNAMIC)
		return bpf_probe_read_user_str(
			code->name, sizeof(code->name),
			(const void *)walk_read_pointer(code->method + managed->method_name));
	if (!of.metadata)
		return 0;
	token = (of.range & ((1 << WALK_TOKEN_BITS) - 1)) << WALK_TOKEN_BITS |
		(of.token & ((1 << WALK_TOKEN_BITS) - 1));
	row = walk_find_row(managed, of.metadata, WALK_METHODS, token);
	if (row)
		walk_read_name(managed, of.metadata, row + WALK_METHOD_NAME, 0, code->name);
	bpf_probe_read_user(&type, sizeof(type), (const void *)(of.type + managed->type_flags));
	found->metadata = of.metadata;
	found->type = type >> WALK_TYPE_SHIFT;
	return 0;
}

/* Reads the names of a type, and of those that it is within. */
__noinline int walk_name_types(const struct walk_managed *managed,
			       const struct walk_managed_code *found, struct walk_memory *memory)
{
	uint64_t metadata, row = 0;
	struct dotnet_code *code;
	uint32_t type;

	if (!managed || !found || !memory)
		return 0;
	code = (void *)memory->bytes;
	metadata = found->metadata;
	type = found->type;
	for (uint32_t i = 0; i < DOTNET_TYPES_MAX && type; i++) {
		barrier_var(i); /* Linux 6.1 refuses loops that end without a jump */
		if (i >= DOTNET_TYPES_MAX)
			break;
		row = walk_find_row(managed, metadata, WALK_TYPES, type);
		if (row)
			walk_read_name(managed, metadata, row + WALK_TYPE_NAME, 0, code->types[i]);
		type = walk_find_outer(managed, metadata, type);
	}
	if (row)
		walk_read_name(managed, metadata, row + WALK_TYPE_NAME, 1, code->name_space);
	return 0;
}

/* Reads the functions of code of a heap. Returns where their descriptions are; 0: it cannot. */
static __always_inline uint64_t walk_read_header(const struct walk_managed *managed,
						 struct dotnet_code *code, uint64_t begin)
{
	uint64_t header = walk_read_pointer(begin - sizeof(begin)), size;

	code->method = walk_read_pointer(header + managed->header_method);
	bpf_probe_read_user(&code->n_functions, sizeof(code->n_functions),
			    (const void *)(header + managed->header_count));
	size = code->n_functions < DOTNET_FUNCTIONS_MAX ? code->n_functions : DOTNET_FUNCTIONS_MAX;
	size *= sizeof(struct dotnet_function);
	barrier_var(size);
	if (!size || size > sizeof(code->functions) ||
	    bpf_probe_read_user(code->functions, size,
				(const void *)(header + managed->header_functions)))
		return 0;
	return begin + code->functions[0].unwind - code->functions[0].begin;
}

/* Reads what code is into `memory`; 0: it cannot be read. */
__noinline int walk_describe_managed(const struct walk_managed *managed,
				     const struct walk_managed_code *found,
				     struct walk_memory *memory)
{
	struct dotnet_code *code;
	uint64_t unwind;

	if (!managed || !found || !memory)
		return 0;
	for (uint32_t i = 0; i < sizeof(*code) / sizeof(uint64_t); i++)
		((uint64_t *)memory->bytes)[i] = 0;
	code = (void *)memory->bytes;
	if (found->method) {
		code->method = found->method;
		code->n_functions = 1;
		code->functions[0] = found->function;
		unwind = found->base + found->function.unwind;
	} else {
		unwind = walk_read_header(managed, code, found->begin);
	}
	walk_read_text((char *)code->unwind, unwind, sizeof(code->unwind));
	return unwind != 0;
}

/* Emits what code is, that begins at an address. 0 or -errno. */
static __always_inline long walk_emit_managed(struct walk *walk, const struct walk_maps *maps,
					      uint64_t begin, uint64_t identity)
{
	const struct walk_managed *managed = &walk->program->managed;
	struct walk_managed_code *found = &walk->work->managed;
	struct walk_memory *memory = &walk->work->memory;

	if (!walk_has_room(&walk->work->state))
		return -EAGAIN;
	walk_find_managed(managed, found, begin);
	if (found->begin != begin || !walk_describe_managed(managed, found, memory))
		return -EAGAIN;
	walk_name_managed(managed, found, memory);
	walk_name_types(managed, found, memory);
	return walk_emit(walk, memory, maps->parts, begin, identity, sizeof(struct dotnet_code));
}

/*
 * Finds what code has an address: that of a file is looked for first where it was last time, and
 * what was in no code is not looked for each time.
 */
static __always_inline void walk_find_managed_again(struct walk *walk, const struct walk_maps *maps,
						    uint64_t address)
{
	struct walk_managed_code *found = &walk->work->managed;
	uint32_t key = walk_mix(walk->work->registers.pid, address) >> 32 & (WALK_CODES - 1);
	uint64_t *known = bpf_map_lookup_elem(maps->codes, &key);

	found->begin = found->known = 0;
	if (!known || walk_is_in_none(known, address))
		return;
	if (!(*known & 1))
		found->known = *known >> 1;
	walk_find_managed(&walk->program->managed, found, address);
	if (found->begin)
		*known = found->known << 1;
	else if (*known >> 16 != address >> WALK_BLOCK || !(*known & 1))
		*known = walk_no_code(address);
}

/* Appends each of the next words that may lead into code. 1: there are no more, or no room. */
static __always_inline long walk_read_stack_words(struct walk *walk, uint32_t i)
{
	const struct walk_managed *managed = &walk->program->managed;
	struct walk_own *own = &walk->work->own;
	struct walk_state *state = &walk->work->state;
	uint64_t slot = own->from + i * WALK_WORDS_AT_ONCE * sizeof(slot);

	if (slot >= walk->work->managed.stack_end)
		return walk_stop(walk, WIRE_walk_end_END);
	if (i % (WALK_OWN_WORDS / WALK_WORDS_AT_ONCE) == 0 &&
	    bpf_probe_read_user(own->words, sizeof(own->words), (const void *)slot))
		return walk_stop(walk, WIRE_walk_end_END);
	for (uint32_t j = 0; j < WALK_WORDS_AT_ONCE; j++) {
		uint64_t word = own->words[(i * WALK_WORDS_AT_ONCE + j) % WALK_OWN_WORDS],
			 used = state->used, is_in;
		struct walk_element *element;

		barrier_var(used);
		if (used > SAMPLE_PART_MAX - WALK_RETURN_SIZE)
			return 1;
		/* Without a branch: each would double what is verified. */
		is_in = (word - managed->from < managed->to - managed->from) &
			(word - managed->not_from >= managed->not_to - managed->not_from);
		barrier_var(is_in);
		element = (void *)(walk->bytes + used);
		*element = (struct walk_element){ .address = slot + j * sizeof(slot) };
		*(struct walk_return *)(element + 1) = (struct walk_return){ .pc = word };
		state->used = used + (walk_mask(is_in) & WALK_RETURN_SIZE);
		state->n += is_in & 1;
	}
	return 0;
}

/* Keeps the next word if it is in code; the first is what the thread executes. */
static __always_inline long walk_keep_managed(struct walk *walk, const struct walk_maps *maps,
					      uint32_t i)
{
	struct walk_managed_code *found = &walk->work->managed;
	struct walk_element *element = walk_next_return(walk);
	uint64_t kept = found->kept, slot, pc;

	if (!element)
		return 1;
	slot = element->address;
	pc = ((const struct walk_return *)(element + 1))->pc;
	walk_find_managed_again(walk, maps, pc - (i > 0));
	if (i == 0)
		found->executed = found->begin;
	else if (!found->begin)
		return 0;
	barrier_var(kept);
	if (found->n_kept == WALK_ELEMENTS_MAX || kept > SAMPLE_PART_MAX - WALK_RETURN_SIZE)
		return walk_stop(walk, WIRE_walk_end_LIMIT);
	element = (void *)(walk->bytes + kept);
	*element = (struct walk_element){ .address = slot };
	*(struct walk_return *)(element + 1) =
		(struct walk_return){ pc, found->begin, found->method };
	found->kept = kept + WALK_RETURN_SIZE;
	found->n_kept++;
	return 0;
}

/* Puts the identity of the next element's code. 1: there are no more. */
static __always_inline long walk_read_managed(struct walk *walk, const struct walk_maps *maps)
{
	struct walk_element *element = walk_next_return(walk);
	const struct walk_return *window;
	uint64_t identity;

	if (!element)
		return 1;
	window = (void *)(element + 1);
	if (!window->object)
		return 0;
	identity = walk_managed_identity(&walk->program->managed, &walk->work->memory,
					 window->object, window->line);
	element->identity = identity;
	if (identity && !walk_is_emitted(walk, window->object, identity))
		walk_note(walk, window->object, identity,
			  walk_emit_managed(walk, maps, window->object, identity));
	return walk->work->state.is_lost ? 1 : 0;
}

/* Where the thread's stack ends; 0: not known. */
static __always_inline uint64_t walk_find_stack_end(const struct walk_registers *registers,
						    uint64_t sp)
{
	if (registers->thread - sp < WALK_STACK) /* it lies at the end of the stacks of others */
		return registers->thread;
	return registers->first_stack > sp ? registers->first_stack : 0;
}

/* Reads all. The first element is what the thread executes. */
static __always_inline void walk_run_managed(struct walk *walk,
					     const struct walk_callbacks *callbacks)
{
	struct walk_managed_code *found = &walk->work->managed;
	struct walk_state *state = &walk->work->state;
	uint64_t at = state->used, pc = walk->work->registers.instruction,
		 sp = walk->work->memory.part.sp;

	state->number = state->n = 0;
	state->window = sizeof(struct walk_return);
	state->end = WIRE_walk_end_LIMIT;
	state->used += sizeof(struct walk_list_head);
	state->place = found->kept = state->used;
	walk->work->own.from = sp;
	found->n_kept = found->from = found->to = 0;
	found->stack_end = walk_find_stack_end(&walk->work->registers, sp);
	if (!walk_add_return(walk, sp, &(struct walk_return){ .pc = pc }))
		bpf_loop(WALK_STACK_WORDS_MAX / WALK_WORDS_AT_ONCE, callbacks->stack_words, walk,
			 0);
	bpf_loop(state->n, callbacks->keep_managed, walk, 0);
	state->used = found->kept;
	state->n = found->n_kept;
	state->place = at + sizeof(struct walk_list_head);
	bpf_loop(state->n, callbacks->managed, walk, 0);
	walk_end_list(walk, at);
	if (found->executed && !state->is_lost)
		walk_put_executed(walk, pc);
}
