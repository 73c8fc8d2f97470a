/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads .gopclntab, the table of functions that a Go program has for its runtime and keeps when it
 * is stripped: where each begins, its name, and how far the stack pointer is below the return
 * address at each instruction. (Go: src/runtime/symtab.go, src/internal/abi/symtab.go and, for
 * tables by instruction, runtime.step().) Any byte may be hostile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/elf/dwarf-cursor.h"

enum go_pclntab_outcome {
	GO_PCLNTAB_OK = 0,
	GO_PCLNTAB_E_NONE,    /* no readable table: no Go program */
	GO_PCLNTAB_E_BAD,     /* parts outside the table, or another kind of machine */
	GO_PCLNTAB_E_VERSION, /* before Go 1.18, or newer than is supported */
	GO_PCLNTAB_E_TEXT,    /* the address of its code is not recorded */
};

struct go_pclntab {
	const uint8_t *bytes; /* borrowed */
	size_t size;
	uint64_t text; /* address, as linked, that functions are relative to */
	uint64_t n;    /* functions, sorted by address */
	uint64_t names_at, names_end, instructions_at, functions_at; /* names_end: exclusive */
	uint8_t flags_at; /* offset in the entry of a function */
	uint8_t quantum;  /* bytes of the shortest instruction */
};

enum {
	GO_FUNCTION_TOP_FRAME = 1,    /* a top frame for the runtime; some have callers */
	GO_FUNCTION_WRITES_STACK = 2, /* it switches stacks, which no table describes */
};

struct go_function {
	uint64_t start, end; /* addresses as linked; end: where the next begins */
	const char *name;    /* in the table */
	uint8_t flags;
	uint32_t stack_at; /* of its table of stack depths; 0: none */
};

/*
 * Reads the header. `module_text` is the address of the code from .go.module, for tables that lack
 * it (since Go 1.26); 0: unknown.
 */
enum go_pclntab_outcome go_pclntab_read(const void *bytes, size_t size, uint64_t module_text,
					struct go_pclntab *ret);

/* Reads the i-th function; false: it contradicts itself, or begins before the one before it. */
bool go_pclntab_function(const struct go_pclntab *table, uint64_t i, struct go_function *ret);

/* Walks the instructions of one function: `depth` holds from `start` up to `pc`. */
struct go_stack_walk {
	struct dwarf_cursor cursor;
	uint64_t start, pc, limit;
	int64_t depth; /* bytes from the stack pointer up to the return address */
	uint8_t quantum;
	bool is_first;
};

struct go_stack_walk go_stack_walk_begin(const struct go_pclntab *table,
					 const struct go_function *function);
/* Advances to the next depth; false: there is none, or the table is malformed. */
bool go_stack_walk_next(struct go_stack_walk *walk);

/* Where a function's code ends, before any padding; its `end` if it has no table. */
uint64_t go_function_code_end(const struct go_pclntab *table, const struct go_function *function);
