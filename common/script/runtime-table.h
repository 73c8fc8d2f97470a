/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The interpreters of a stream's processes, known from its records alone: where their structures
 * have what frames and names are made of. A forked child has its parent's.
 */
#pragma once

#include <stdbool.h>

#include "common/base/hash-table.h"
#include "common/script/script-place.h"
#include "common/wire/wire.h"

enum { RUNTIME_TABLE_MAX = 1 << 16 /* processes at one time; more are refused */ };

/* Of a code object's table of lines (CPython: Objects/lnotab_notes.txt, Objects/locations.md). */
enum cpython_line_form {
	CPYTHON_LINES_LOCATIONS, /* since 3.11 */
	CPYTHON_LINES_LNOTAB,	 /* co_lnotab, up to 3.9 */
	CPYTHON_LINES_RANGES,	 /* co_linetable of 3.10 */
};

/* Offsets in bytes in CPython's structures; -1: this version has no such field. */
struct cpython_fields {
	int64_t frame_code, frame_previous, frame_instruction, frame_owner, frame_entry;
	int64_t frame_tags; /* bits of a pointer to code that are no address; -1: none are */
	int64_t cframe_frame, cframe_previous;
	int64_t code_filename, code_qualname, code_linetable, code_firstline, code_bytes;
	int64_t code_size;			  /* of what is recorded of a code object itself */
	int64_t code_framesize;			  /* words of its frames; or, before 3.12: */
	int64_t code_stacksize, code_nlocalsplus; /* words that they have behind `frame_size` */
	int64_t frame_size;			  /* bytes */
	int64_t code_type;			  /* the address of its type */
	int64_t text;  /* behind the head of a string with ASCII characters, */
	int64_t bytes; /* and of bytes */
	/*
	 * Up to 3.10 frames are objects: the number of the last instruction, of so many bytes each
	 * (-1: they are no objects), and the state that a frame has as it is executed.
	 */
	int64_t frame_index, frame_unit, frame_state, frame_executing;
	int64_t code_lines; /* enum cpython_line_form; -1: LOCATIONS */
	/* Where a window has the address of the thread's copy of the instructions; -1: nowhere. */
	int64_t frame_copy;
	int64_t object;	   /* bytes of an object's head (PyObject), */
	int64_t text_kind; /* and bits of a string's state before those of its kind */
};

/* Likewise in PHP's. What is recorded of a function has its class's name behind it. */
struct php_fields {
	int64_t frame_function, frame_previous, frame_info;
	int64_t frame_line; /* where a window has what is executed, with its line */
	int64_t function_size, function_line;
	int64_t function_name, function_class; /* pointers; 0: it has none */
	int64_t text; /* behind the head of a string, which has its length at: */
	int64_t text_length;
	int64_t resume_from, resume_to; /* addresses of what resumes generators */
};

/* Likewise in Ruby's. Frames are of code (iseq), of which the body is recorded. */
struct ruby_fields {
	int64_t frame_pc, frame_sp, frame_iseq;
	int64_t frame_flags;	       /* where a window has what the frame is */
	int64_t body_size;	       /* of what is recorded of a body itself, */
	int64_t body_count, body_code; /* which has so many words of code, that lie there, */
	int64_t body_line,
		body_entries; /* its first line, and how many entries of its table count */
	int64_t line_shift;
	int64_t text; /* behind the head of a string, which has its length at: */
	int64_t text_length;
	int64_t text_short; /* or, of one within the head, in bits of its flags; -1: there are none
			     */
	int64_t made_words; /* of the stack, that a frame of compiled code has; -1: there is none */
};

/* Likewise in Lua's. */
struct lua_fields {
	int64_t call_proto, call_next, call_pc, call_status; /* in a window */
	int64_t proto_size; /* of what is recorded of a function itself: its code, */
	int64_t proto_code, proto_count, proto_line; /* so many instructions, and its first line */
	int64_t text; /* behind the head of a string, which has its length at one of: */
	int64_t text_short, text_long;
	int64_t text_far;	    /* the text of one that is not short lies there, */
	int64_t call_c, call_fresh; /* and bits of a call's status, counted from 0 */
};

enum { LUAJIT_TORN_MAX = 8 };

/* Likewise in LuaJIT's. */
struct luajit_fields {
	/* In a window of a frame: its function, and the code of that; what a continuation is, and
	 * where it goes on; and the link to its caller. */
	int64_t frame_function, frame_proto, frame_continuation, frame_continuation_pc, frame_link;
	int64_t thread_stack, thread_cframe; /* in that of a thread: its stack, and its C frame; */
	int64_t global_jit_base; /* and of what all share: where a running trace began */
	int64_t cframe_size;	 /* of the interpreter's frames in C */
	int64_t proto_size; /* of what is recorded of a function itself: its code is behind it; */
	int64_t proto_count, proto_line, proto_lines; /* so many instructions, and lines, */
	int64_t proto_total, proto_constants; /* and bytes in all, in which its constants are */
	int64_t text; /* behind the head of a string, which has its length at: */
	int64_t text_length;
	int64_t left; /* where code that leaves a trace goes on after it has called C */
	int64_t torn[LUAJIT_TORN_MAX]; /* instructions where a frame has no link yet */
};

/* Likewise in BEAM's. What is recorded of a function are its numbers of names, and those. */
struct beam_fields {
	int64_t process_top;   /* where a process has the top of its stack */
	int64_t stack_end;     /* the address to which the outermost function returns */
	int64_t function_size; /* of what is recorded of a function itself, */
	int64_t function_arity;
	int64_t atom_size;   /* and of an atom, */
	int64_t atom_length; /* with the length of its name, in two bytes */
};

/* Of .NET all is in the form of dotnet-code.h. */
struct dotnet_fields {
	int64_t code_size; /* of a record */
};

/* Likewise in Perl's (script/perl-sub.h). */
struct perl_fields {
	/* In a window of a stack: the array of its contexts, the next stack, its last context. */
	int64_t stack_array, stack_previous, stack_last, stack_type;
	int64_t context_size; /* in the array; and in its window: */
	int64_t context_cop, context_return, context_sub, context_position;
	int64_t interpreter_cop; /* where an interpreter has its own COP; -1: without threads */
	int64_t sub_size;	 /* of what is recorded of a sub itself, and of its body, */
	int64_t sub_body;
	int64_t sub_name, sub_flags; /* which has its name, and flags; */
	int64_t sub_count;	     /* and where a package has the number of its names */
	int64_t cop_size, cop_line;
	/* Addresses of what executes more of a segment, and of what executes the main program. */
	int64_t catch_from, catch_to, main_from, main_to;
};

/* Likewise in V8's (v8-pieces.h). Types are those of maps. */
struct v8_fields {
	/* In a window: function, bytecode, what is executed, and its code with its identity. */
	int64_t frame_function, frame_bytecode, frame_instruction, frame_code;
	int64_t function_size; /* of what is recorded of a function itself, */
	int64_t function_data; /* which is the address of an object if it is JavaScript */
	int64_t function_script;
	int64_t script_line;	/* of its first line; -1: not known */
	int64_t scope_position; /* where a scope says where it begins; -1: behind its names */
	int64_t scope_flags;	/* of which four bits are its kind, */
	int64_t scope_function; /* which is this one if it is that of a function */
	int64_t map_type, function_type;
	int64_t code_size;   /* of what is recorded of code itself: */
	int64_t code_start;  /* where it has the address of its instructions; */
	int64_t code_within; /* or so many bytes behind its begin they are: one of both is -1 */
	int64_t code_length, code_kind, code_data, code_type;
	int64_t code_steps;    /* 1: steps of its table have a bit more; else a sign */
	int64_t code_baseline; /* the kind whose `data` is bytecode; more than that: optimized */
	/* Of the data of optimized code: how many functions are inlined, in the upper half of a
	 * word, and its own one (-1: a piece leads to it). */
	int64_t data_count, data_own;
	int64_t items; /* behind the head of an array */
};

/*
 * Where the object of made code (recorded with so many bytes) says that something is: at a pointer
 * of it, or at the object itself, and so much further as two numbers say; -1: it has no such one.
 */
struct script_site {
	int64_t pointer, further, offset, offset_size;
};

enum { HOTSPOT_RANGES_MAX = 16 };

/* Likewise in HotSpot's (hotspot-pieces.h). */
struct hotspot_fields {
	/* Addresses of the interpreter's code that has a frame. */
	int64_t frame_from[HOTSPOT_RANGES_MAX], frame_to[HOTSPOT_RANGES_MAX];
	int64_t method_type, method_archived; /* the first word of a method is one of these, */
	int64_t method_size;		      /* and of what is recorded of it itself; */
	int64_t method_const;
	int64_t const_size; /* in front of its bytecode, */
	int64_t const_code; /* whose size is here, in two bytes; */
	int64_t const_flags;
	int64_t text; /* behind the head of a name, which has its length at: */
	int64_t text_length;
	int64_t code_method; /* where the object of code has the address of its own method */
	/* Instructions, from `rare` on only those that leave the code for good; and descriptions.
	 */
	struct script_site code_begin, rare, pcs, pcs_end, scopes, scopes_end, metadata,
		metadata_end;
	int64_t dense;	  /* 1: all instructions are described, and not only calls */
	int64_t excluded; /* bytes that no number has (UNSIGNED5) */
};

/* Addresses of an interpreter's loop, and of a part of it elsewhere; 0 and 0, or -1: none. */
struct script_loop {
	int64_t from, to, other_from, other_to;
};

struct runtime_fields {
	enum script_language language;
	uint64_t image; /* that holds the interpreter */
	struct script_loop loop;
	union {
		struct cpython_fields cpython;
		struct php_fields php;
		struct v8_fields v8;
		struct ruby_fields ruby;
		struct hotspot_fields hotspot;
		struct perl_fields perl;
		struct lua_fields lua;
		struct luajit_fields luajit;
		struct beam_fields beam;
		struct dotnet_fields dotnet;
	};
};

struct process_runtime {
	UT_hash_handle hh;
	uint64_t process;
	struct runtime_fields fields;
};

struct runtime_table {
	struct process_runtime *by_process;
	uint64_t n_refused; /* damaged records, or of too many processes */
};

void runtime_table_deinit(struct runtime_table *table);

/* Each applies the record of that name. 0 or -ENOMEM. */
int runtime_table_add(struct runtime_table *table, const struct wire_runtime *record);
int runtime_table_fork(struct runtime_table *table, const struct wire_process *record);

void runtime_table_forget(struct runtime_table *table, uint64_t process);

/* NULL: the process has none that is known. */
const struct runtime_fields *runtime_table_find(const struct runtime_table *table,
						uint64_t process);
