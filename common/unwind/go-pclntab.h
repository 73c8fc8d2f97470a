/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a Go program tells its own runtime of its functions, in the section .gopclntab, which stays
 * when a program is stripped: where each begins, its name, and how far the stack pointer is below
 * the return address at each instruction. (Go: src/runtime/symtab.go, src/internal/abi/symtab.go
 * and, of tables by instruction, runtime.step().) Every byte of it may be hostile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/elf/dwarf-cursor.h"

enum go_pclntab_outcome {
	GO_PCLNTAB_OK = 0,
	GO_PCLNTAB_E_NONE,    /* there is none that could be read: no Go program */
	GO_PCLNTAB_E_BAD,     /* its parts lie nowhere, or it is of another kind of machine */
	GO_PCLNTAB_E_VERSION, /* before Go 1.18, or newer than we know */
	GO_PCLNTAB_E_TEXT,    /* nobody says where its code lies */
};

struct go_pclntab {
	const uint8_t *bytes; /* borrowed */
	size_t size;
	uint64_t text; /* address, as linked, that functions are counted from */
	uint64_t n;    /* of functions, by address */
	uint64_t names_at, names_end, instructions_at, functions_at; /* the last name ends before */
	uint8_t flags_at; /* in what is told of a function */
	uint8_t quantum;  /* bytes of the shortest instruction */
};

enum {
	GO_FUNCTION_TOP_FRAME = 1,    /* nobody calls it */
	GO_FUNCTION_WRITES_STACK = 2, /* it goes to another stack: no table tells of that */
};

struct go_function {
	uint64_t start, end; /* addresses as linked; end: where the next begins */
	const char *name;    /* in the table */
	uint8_t flags;
	uint32_t stack_at; /* of its table of the stack pointer; 0: none */
};

/*
 * Reads the head. `module_text` is what .go.module says of the place of the code, where the table
 * does not (since Go 1.26), 0: nothing.
 */
enum go_pclntab_outcome go_pclntab_read(const void *bytes, size_t size, uint64_t module_text,
					struct go_pclntab *ret);

/* The i-th function; false: it contradicts itself, or begins before the one before it. */
bool go_pclntab_function(const struct go_pclntab *table, uint64_t i, struct go_function *ret);

/* Goes through the instructions of one function: from `start` up to `pc` holds `depth`. */
struct go_stack_walk {
	struct dwarf_cursor cursor;
	uint64_t start, pc, limit;
	int64_t depth; /* bytes from the stack pointer up to the return address */
	uint8_t quantum;
	bool is_first;
};

struct go_stack_walk go_stack_walk_begin(const struct go_pclntab *table,
					 const struct go_function *function);
/* Goes on to the next depth; false: there is none, or it makes no sense. */
bool go_stack_walk_next(struct go_stack_walk *walk);

/* Where the code of a function ends, before any padding; its `end`, if no table tells that. */
uint64_t go_function_code_end(const struct go_pclntab *table, const struct go_function *function);
