/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The form of sample.walk: lists, each with its head and its elements, and each element with its
 * window behind it. Little-endian, without gaps.
 */
#pragma once

#include <stdint.h>

enum { WALK_LISTS_MAX = 8 };

enum { WALK_CHUNK_SIZE = 4096 /* bytes of what belongs to made code, in a record of its own */ };

/*
 * What begins the bytes of a `memory` record whose address is odd: one more than that of what has a
 * text, of which a part lies behind. So many bytes of it are in front, it has so many in all, and
 * so many each character.
 */
struct walk_source_part {
	uint32_t offset, size, unit, reserved;
};

struct walk_list_head {
	uint16_t list, window, n; /* its number, bytes of each window, elements */
	uint16_t end;		  /* enum wire_walk_end */
};

struct walk_element {
	uint64_t address;
	uint64_t identity; /* of its object; 0: it has none, or it could not be read */
};

/* Where the frame of made code is. */
enum walk_where {
	WALK_WHERE_UNKNOWN,
	WALK_WHERE_CALL, /* all of it is there, and a call returns to it: it is not the innermost */
	WALK_WHERE_FRAME,	 /* all of it is there */
	WALK_WHERE_UNSAVED,	 /* but its caller's frame pointer is in the register */
	WALK_WHERE_AT_SP,	 /* there is none: the return address is on top of the stack, */
	WALK_WHERE_BEHIND_SAVED, /* or behind the saved frame pointer */
};

/*
 * The window of a frame of made code, whose address is its stack pointer. Behind it are three
 * words: what it executes, and the address and the identity of the object of its code.
 */
struct walk_call {
	uint64_t fp;
	uint64_t next_pc, next_sp, next_fp; /* of what has called it */
	/* Of the interpreter: the method, and where in it. Of the innermost: the bytes of code in
	 * front of the instruction, and from there on. */
	uint64_t what[2];
	uint32_t kind;	/* enum walk_call_kind */
	uint32_t where; /* enum walk_where */
};

enum walk_call_kind {
	WALK_CALL_OTHER,
	WALK_CALL_INTERPRETED,
	WALK_CALL_ENTRY,
	WALK_CALL_COMPILED,
};

/*
 * Of made code that has a stack for itself: the window of a return address on it, whose place is
 * the element's address. The first element is what the code executes; its address is the stack
 * pointer, or where the thread's own stack is while the code is out of its own. 0: another thread
 * executes a function of C for it.
 */
struct walk_return {
	uint64_t pc;
	uint64_t object; /* the address of what describes the function; 0: no function has it */
	uint64_t line;	 /* what the table of lines says of the place; 0: nothing */
};

/* The window of the only element of the second list: bounds of that stack, as its owner has them.
 */
struct walk_bounds {
	uint64_t top; /* as it was when it was left; old while code is executed on it */
	uint64_t low, high;
	uint64_t other;		     /* where the thread's own stack begins below the code */
	uint64_t code_from, code_to; /* of the function that is executed; 0: it is in none */
};

/* The third list has windows of code, from one window in front of where it is executed on. */
enum { WALK_CODE_WINDOW = 128 };
