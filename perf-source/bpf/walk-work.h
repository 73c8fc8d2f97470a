/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What runs of walk programs work with (walk-program.h): limits, maps, and what is kept in a map of
 * a CPU while a thread is read.
 */
#pragma once

#include "perf-source/bpf/kernel-types.h"

#include "common/script/dotnet-code.h"
#include "common/script/script-walk.h"
#include "common/wire/wire.h"
#include "perf-source/bpf/sample-part.h"
#include "perf-source/bpf/walk-program.h"

enum {
	WALK_PAGE = 4096,
	WALK_SEEN_SETS = 1 << 15, /* of objects of all processes that are known to be emitted, */
	WALK_SEEN_WAYS = 4,	  /* so many each */
	WALK_NEW_MAX = 64,	  /* objects that one sample emits; others wait for the next one */
	/* Of a text's head, of the text behind it, and of the end of a longer one, for identities.
	 */
	WALK_HEAD_WORDS = WALK_HEAD_MAX / 8,
	WALK_NEAR_WORDS = 14, /* of a text that is read with its head */
	WALK_TEXT_WORDS = 32,
	WALK_END_WORDS = 8,
	WALK_TCB_DTV = 8, /* where glibc has a thread's blocks of modules, each in such an entry */
	WALK_DTV_ENTRY = 16,
	WALK_MODULES_MAX = 1 << 16,
	WALK_TCB_SELF = 0x10, /* tcbhead_t begins with the thread pointer, and has it here again */
	/* Where glibc keeps a thread's first keys: of each a sequence number and the value. */
	WALK_KEYS = 0x310,
	WALK_KEYS_FIRST = 32,
	WALK_KEYS_MAX = 1024, /* and of as many each, with the first, the addresses behind them */
	WALK_KEY_SIZE = 16,
	WALK_KEY_BLOCKS = WALK_KEYS + WALK_KEYS_FIRST * WALK_KEY_SIZE,
	WALK_KEY_VALUE = 8,
	WALK_MEMORY_MAX = WIRE_MEMORY_MAX,
	WALK_CODES = 1 << 14, /* places of code that are remembered, */
	WALK_BLOCK = 6,	      /* each for so many bits of an address */
	WALK_USER_BITS = 47,  /* that addresses of user space have */
	WALK_NOWHERE = UINT16_MAX,
	WALK_STACK = 8 << 20, /* bytes: what lies so near to the stack pointer is no code */
};

/* By PID. context.bpf.c removes processes that end or execute another program. */
struct walk_programs {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WALK_PROGRAMS_MAX);
	__type(key, uint32_t);
	__type(value, struct walk_program);
};

/*
 * The objects that were emitted, each as a hash of its process, its address and its identity, in
 * the set where it belongs by the first two. An object that takes the place of another one has that
 * emitted again. A word is written at once and no lock is taken, so programs may interrupt each
 * other anywhere.
 */
struct walk_seen_set {
	uint64_t items[WALK_SEEN_WAYS]; /* 0: free */
};

struct walk_seen {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WALK_SEEN_SETS);
	__type(key, uint32_t);
	__type(value, struct walk_seen_set);
};

/*
 * Where code begins that lies at an address, by a hash of it and the process. It is looked at
 * whether it still does.
 */
struct walk_codes {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WALK_CODES);
	__type(key, uint32_t);
	__type(value, uint64_t);
};

/* What changes from element to element. In a map, as the verifier follows values on the stack. */
struct walk_state {
	uint64_t frame;		   /* frame pointer of the next element, if it is a frame; or
				    * of what the stack keeps, before the first list; */
	uint64_t address;	   /* and its address, */
	uint64_t instruction;	   /* and what it executes; 0: not known */
	uint64_t other;		   /* what the first one may execute instead; 0: nothing */
	uint64_t object, identity; /* of the element before, */
	uint64_t is_again;	   /* which is read once more; of made code: it is the innermost */
	uint64_t n_steps;	   /* of all searches for code, */
	uint64_t head, array, head_next; /* of elements in arrays: the head that is next, */
	uint64_t aside, aside_back;	 /* the object whose element it is, and what comes behind */
	uint64_t kept[WALK_LISTS_MAX];	 /* what the stack keeps, */
	uint64_t n_kept;
	uint64_t place;	  /* where the element is in the part, whose code is next, */
	uint64_t is_made; /* and whether the one before has its frame */
	uint64_t used;	  /* bytes of the part that the walk becomes */
	uint64_t room;	  /* bytes of records of objects that may be emitted */
	uint64_t n_emitted;
	uint64_t n_left;  /* objects that are new, but that it was not allowed to emit */
	uint64_t list_at; /* where the head of the current list is, */
	uint64_t n_first; /* and how many elements the first one has */
	uint32_t number;  /* of the current list, */
	uint32_t n;	  /* and its elements */
	uint32_t end;
	uint32_t n_new;
	uint32_t is_lost;	 /* an object had no room in the ring */
	uint32_t window;	 /* bytes of an element, with the word behind them */
	uint32_t is_behind_stub; /* what is called by the next frame is innermost, and not compiled
				  */
};

/* An object and its texts: of each its size (8 bytes), and its bytes up to a multiple of 8. */
struct walk_memory {
	struct sample_part part;
	uint64_t identity;
	char bytes[WALK_MEMORY_MAX + WALK_TEXT_MAX];
	uint64_t head[WALK_HEAD_WORDS + WALK_MORE_MAX / 8 + WALK_NEAR_WORDS + 1],
		text[WALK_TEXT_WORDS + 1];
	uint64_t at[WALK_TEXTS_MAX + 1]; /* addresses: of the object, and of each text; 0: none */
	uint64_t last;			 /* text whose head was read, from 1 on; 0: none */
	uint64_t owner, owner_identity;	 /* of what has the object's text; 0: nothing has */
	uint64_t found; /* the address of texts WALK_OF_FOUND, which never changes; 0: none */
};

/* A search for the code that an element executes. */
struct walk_search {
	uint64_t instruction;
	uint64_t at;	 /* where code may begin */
	uint64_t object; /* of the code that does; 0: not found yet */
	uint64_t used;	 /* bytes of it, with its texts, */
	uint64_t n_left; /* and objects that were not emitted before its members */
};

/* What is read of an object of made code (struct walk_frames). */
struct walk_made {
	uint64_t object, identity;
	uint64_t from, to;   /* of what is read next */
	uint64_t n;	     /* callees that were read */
	uint64_t range;	     /* that is read then */
	uint64_t n_found;    /* new code of this sample */
	uint64_t step, turn; /* what is done next (enum walk_made_step), and how often it was */
};

/* Of user space: the thread pointer, the frame pointer, and what is executed; and its PID. */
struct walk_registers {
	uint64_t thread, frame, instruction;
	uint64_t place;	   /* of an interpreter, in a function (r13 of HotSpot) */
	uint64_t saved_sp; /* of made code that has moved its stack pointer (rcx of HotSpot) */
	uint64_t pid;
	uint64_t of_list;     /* where an interpreter's first element is (rdx of LuaJIT) */
	uint64_t first_stack; /* where the stack of the first thread began */
};

enum { WALK_OWN_WORDS = 64 };

/* How many elements of each table were in front of a place. */
struct walk_found {
	uint16_t module, function;
	uint32_t line;
};

/* A text that is emitted once all elements have been read (struct walk_source). */
struct walk_found_source {
	uint64_t place;			   /* among those that are awaited, */
	struct walk_awaited what;	   /* and what was there: other CPUs may put another one */
	uint64_t text, offset, size, unit; /* where it is; 0: the next one is to be found */
	uint64_t is_left;		   /* there are some of other threads */
};

/* A stack that made code has for itself (struct walk_own_stack), and a function that is in it. */
struct walk_own {
	struct walk_bounds bounds;
	uint64_t from;	     /* its first word that is read, */
	uint64_t from_there; /* and the first one that is in memory; 0: all are */
	uint64_t is_moved;   /* it begins at its top, and ends with the outermost function's */
	uint64_t words[WALK_OWN_WORDS];
	uint64_t modules, n_modules;	  /* the table */
	uint64_t code_from, code_to;	  /* of all modules */
	uint64_t place;			  /* that was looked for, and */
	uint64_t object, end, line, file; /* its function; 0: none */
	struct walk_found last;
	uint64_t file_at, known_file; /* where the number was of the last file, and that */
};

/* Managed code (struct walk_managed) that has an address. */
struct walk_managed_code {
	uint64_t begin;	 /* its first instruction; 0: there is none */
	uint64_t method; /* of a file: the method that it is of, and its function, */
	struct dotnet_function function;
	uint32_t reserved;
	uint64_t known;	   /* which may have the next address, too, from 1 on; 0: none */
	uint64_t from, to; /* of the section that was found last: a heap, */
	uint64_t heap_base, heap_map;
	uint64_t base, functions, n_functions, methods; /* or a file; 0 all: it has no methods */
	uint64_t stack_end;
	uint64_t executed;	 /* the begin of what the thread executes */
	uint64_t metadata, type; /* of the method that is named, and the number of its type */
	uint64_t kept, n_kept;	 /* where the next word is put that is in code, and their number */
};

/* An element's object, and the one of its code, while objects like the first are its members. */
struct walk_work {
	struct walk_state state;
	struct walk_registers registers;
	struct walk_search search;
	struct walk_call call; /* the current frame */
	struct walk_made made;
	struct walk_own own;
	struct walk_managed_code managed;
	struct walk_found_source source;
	struct walk_memory memory, of_code;
	uint64_t members[1 + WALK_MEMBERS_MAX]; /* their number, and identities */
};

struct walk {
	void *context; /* of the BPF program */
	struct walk_program *program;
	char *bytes; /* of the part that the walk becomes */
	struct walk_work *work;
};

/* The maps that only the BPF program can name. */
struct walk_maps {
	void *codes, *parts;
};
