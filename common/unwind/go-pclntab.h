/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads .gopclntab, the table of functions that a Go program has for its runtime and keeps when it
 * is stripped: where each begins, its name, and for each instruction how far the stack pointer is
 * below the return address, and the source line. (Go: src/runtime/symtab.go, src/internal/abi/
 * symtab.go and, for tables by instruction, runtime.step().) Any byte may be hostile.
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
	GO_PCLNTAB_E_TEXT,    /* all but the address of its code was read: go-module.h has it */
};

enum { GO_VALUES_MAX = 1 << 16 }; /* per table by instruction, in a search for one of them */

struct go_pclntab {
	const uint8_t *bytes; /* borrowed */
	size_t size;
	uint64_t address; /* of the table, as linked */
	uint64_t text;	  /* address, as linked, that functions are relative to; 0: unknown */
	uint64_t n;	  /* functions, sorted by address */
	/* Offsets of the parts, which follow each other. */
	uint64_t names_at, units_at, files_at, instructions_at, functions_at;
	bool is_1_18;	 /* of Go 1.18 or 1.19, else newer */
	uint8_t quantum; /* bytes of the shortest instruction */
};

enum {
	GO_FUNCTION_TOP_FRAME = 1,    /* a top frame for the runtime; some have callers */
	GO_FUNCTION_WRITES_STACK = 2, /* it switches stacks, which no table describes */
};

struct go_function {
	uint64_t start, end; /* addresses as linked; end: where the next begins */
	const char *name;    /* in the table */
	uint8_t flags;
	/* Tables by instruction; 0: none. */
	uint32_t stack_at; /* bytes from the stack pointer up to the return address */
	uint32_t file_at;  /* numbers of files, for go_file_name() */
	uint32_t line_at;
	uint32_t unit;	   /* of the compiler, for go_file_name() */
	uint64_t data_at;  /* offset of the lists of further tables and of data */
	uint32_t n_tables; /* their lengths */
	uint8_t n_data;
};

/* Reads the header of a table that lies at `address`. */
enum go_pclntab_outcome go_pclntab_read(const void *bytes, size_t size, uint64_t address,
					struct go_pclntab *ret);

/* Reads the i-th function; false: it contradicts itself, or begins before the one before it. */
bool go_pclntab_function(const struct go_pclntab *table, uint64_t i, struct go_function *ret);

/* Finds the function around an address; false: none. */
bool go_pclntab_find(const struct go_pclntab *table, uint64_t address, struct go_function *ret);

enum {
	GO_TABLE_INLINED = 2, /* PCDATA_InlTreeIndex: numbers of calls in GO_DATA_INLINED */
	GO_DATA_INLINED = 3,  /* FUNCDATA_InlTree: the calls inlined into the function */
};

/* The place of a further table by instruction; 0: none. */
uint32_t go_function_table(const struct go_pclntab *table, const struct go_function *function,
			   uint32_t kind);

/* Where a function's data begins, relative to that of its module (go-module.h); false: none. */
bool go_function_data(const struct go_pclntab *table, const struct go_function *function,
		      uint32_t kind, uint32_t *ret);

/* A name in the table; NULL: outside of it. */
const char *go_name(const struct go_pclntab *table, uint32_t at);
/* The name of a file by its number in a function's unit; NULL: none. */
const char *go_file_name(const struct go_pclntab *table, const struct go_function *function,
			 uint32_t number);

/* Walks a table by instruction of one function: `value` holds from `start` up to `pc`. */
struct go_walk {
	struct dwarf_cursor cursor;
	uint64_t start, pc, limit;
	int64_t value; /* -1: none */
	uint8_t quantum;
	bool is_first;
};

struct go_walk go_walk_begin(const struct go_pclntab *table, const struct go_function *function,
			     uint32_t at);
/* Advances to the next value; false: there is none, or the table is malformed. */
bool go_walk_next(struct go_walk *walk);

/* As above, for stack depths, which are never negative. */
bool go_stack_walk_next(struct go_walk *walk);

/* The value for an instruction, -1 without a table; false: unknown. */
bool go_value_at(const struct go_pclntab *table, const struct go_function *function, uint32_t at,
		 uint64_t pc, int64_t *ret);

/* Where a function's code ends, before any padding; its `end` if it has no table. */
uint64_t go_function_code_end(const struct go_pclntab *table, const struct go_function *function);
