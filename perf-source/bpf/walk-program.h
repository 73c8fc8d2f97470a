/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Walk programs: what is read of an interpreter's memory at each sample of a thread. They are data
 * and know no language: a list of elements, of each a window of bytes, and behind a pointer in it
 * an object that is emitted when it is first seen, with what its own pointers lead to. A helper
 * without rights makes them of the process's files and memory (context/runtime.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/script/script-walk.h"

enum {
	WALK_PROGRAMS_MAX = 4096, /* processes at one time */
	WALK_ROOTS_MAX = 3,
	WALK_LOADS_MAX = 4,
	WALK_MARKS_MAX = 2,
	WALK_WORD_LOADS_MAX = 2,
	WALK_WORD_SIZE = 8,
	WALK_BESIDE_SIZE = 8,
	WALK_CODE_SIZE = 24,
	WALK_ELEMENTS_MAX = 512,
	WALK_AWAITED_MAX = 16,	/* a power of two */
	WALK_WINDOW_MAX = 128,	/* bytes of an element */
	WALK_OBJECT_MAX = 384,	/* bytes of an object, */
	WALK_OBJECT_WORDS = 32, /* words of it, or of a head, that have a bit */
	WALK_TEXTS_MAX = 14,
	WALK_TEXT_MAX = 4096, /* and of what one of its pointers leads to, */
	WALK_HEAD_MAX = 80,   /* of which that many are in front of what is text, */
	WALK_FIELDS_MAX = 8,  /* the first words of it have numbers, */
	WALK_MORE_MAX = 24,   /* or that many more bytes of it are there */
	WALK_MEMBERS_MAX = 64,
	WALK_STEPS_MAX = 1024,
	WALK_KEPT_WORDS_MAX = 512,
	WALK_STACK_WORDS_MAX = 1 << 14,
	WALK_HEAPS_MAX = 3,
	WALK_PATTERNS_MAX = 32,
	WALK_RANGES = 3,
	WALK_CALLEES_MAX = 512,
	WALK_BEGINS_MAX = 8,
	WALK_NOT_THERE = UINT16_MAX,
	WALK_OF_FOUND = UINT8_MAX,
};

enum walk_base {
	WALK_BASE_NONE,
	WALK_BASE_ADDRESS,
	/* A key of glibc's pthread_setspecific(3): `start` is where the process has its number. */
	WALK_BASE_THREAD_KEY,
	WALK_BASE_THREAD, /* `start` is a distance from the thread pointer */
	/* A variable of a module: `start` is where the process has its tls_index (module, offset).
	 */
	WALK_BASE_MODULE,
	WALK_BASE_FRAME, /* the frame pointer, where user space was interrupted */
	WALK_BASE_KEPT,	 /* what the stack keeps (struct walk_kept), and `start` bytes further */
	/* A register (rdx), where user space was interrupted in `flag` bytes of code from `start`
	   on. */
	WALK_BASE_REGISTER,
	WALK_BASES_MAX,
};

/* How to find the first element: `loads` are added to the pointers that are followed in turn. */
struct walk_root {
	uint64_t start;
	int32_t loads[WALK_LOADS_MAX];
	int32_t flag; /* of a key: distance to a word that is 1 if the key is in use; 0: none */
	int32_t self; /* where the first pointer leads to the thread pointer again; -1: nowhere */
	uint8_t base; /* enum walk_base */
	uint8_t n_loads;
	uint16_t reserved;
};

struct walk_list {
	struct walk_root roots[WALK_ROOTS_MAX]; /* the first that leads to an element counts */
	struct walk_root instruction; /* leads to what the second root's element executes */
	struct walk_root owner; /* a frame pointer counts only in threads in which this leads to
				 * something; WALK_BASE_NONE: in all */
	uint16_t window;	/* bytes; 0: there is no such list */
	uint16_t next;		/* where a window has the next element's address; or: */
	uint16_t limit;		/* of elements */
	uint16_t before;	/* bytes of a window in front of its address */
	/* Elements whose word at `mark` is one of `marks` have the next one's address elsewhere. */
	uint64_t marks[WALK_MARKS_MAX]; /* 0: none */
	uint16_t mark, marked_next;
	uint8_t rises;	/* addresses rise, as on a stack: the list ends where they do not */
	uint8_t stride; /* bytes from an element of an array to the next one; 0: it is no array */
	/*
	 * The list is of heads, each with an array, from its last element to its first; each head
	 * is an element, too. Where its window has the address of the array, and the number of the
	 * last element, in 4 bytes, -1: it is empty. 0 and 0: it is no such list.
	 */
	uint8_t array, array_last;
	uint8_t is_like_first; /* of others: elements have what those of the first have */
	uint8_t kept;	       /* which of what the stack keeps its roots mean, from 0 on */
	/*
	 * Addresses fall from element to element: by the word at `next`, if one of its lowest two
	 * bits is set, without its lowest three; else it is the address behind an instruction of 4
	 * bytes, whose second byte is a number of words, and by so many and `steps` more.
	 */
	uint8_t steps; /* 0: it is no such list */
	uint8_t reserved[5];
	/*
	 * An element whose word at `aside` is 0 is part of an object, `aside_within` bytes from its
	 * begin. The object has the address of another element, and of the next object: elements of
	 * all of these but the last object come before the next one of the list. 0 all: there are
	 * none.
	 */
	uint16_t aside, aside_within, aside_element, aside_next;
};

/*
 * Objects whose addresses a thread keeps on its stack, within so many words from the stack pointer
 * on. Of each list the root is one of them, the nearest first. They have a type, and an address of
 * something that all of them share. That has the address of one of them, which is the last.
 */
struct walk_kept {
	uint64_t type_mask, type;
	uint16_t words; /* 0: there are none */
	uint16_t type_at, shared_at, one_at;
	uint16_t is_within; /* that one is part of what they share, and `one_at` its place there */
	/*
	 * Or, if `frame_size` is not 0, only the first is found so, and what they share has the
	 * address of the first that counts. It has that of its innermost frame on the stack, with
	 * two bits that are no address, and a frame has that of the next outer one. Behind the
	 * outermost is a frame of the next object, which has its address.
	 */
	uint16_t current_at, frame_at, frame_previous, frame_size, frame_owner;
	uint8_t reserved[4];
};

/* A word to which each element of the first list leads; it is put behind its window. */
struct walk_word {
	uint64_t pointer_mask;
	int32_t loads[WALK_WORD_LOADS_MAX]; /* added to the pointers that are followed in turn */
	uint16_t pointer;		    /* where a window has the first one, */
	uint16_t index;	      /* and a number of 4 bytes, of which each is so much more */
	uint16_t index_scale; /* for the last load */
	uint8_t n_loads;      /* 0: there is no such word */
	uint8_t less;	      /* bytes in front of where the last pointer leads */
	/* The list ends with the element of which these bits of the word are `last`; 0: it does
	 * not. */
	uint64_t last_mask, last;
};

/* Where things are that have numbers: in a table of tables, which has an address at `tables`. */
struct walk_numbers {
	uint64_t tables; /* 0: there is no such table */
	uint8_t shift;	 /* bits of a word below the number, */
	uint8_t bits;	 /* and bits of the number within a table */
	uint8_t reserved[6];
};

struct walk_text {
	/* Of a pointer of the object that is no address, but such a number. */
	struct walk_numbers numbers;
	uint16_t pointer; /* where the object, or the head of the text before, has its address */
	uint16_t size;	  /* bytes; 0: there is none */
	uint16_t skip;	  /* bytes in front of what is text: its head */
	uint16_t words;	  /* those of the head that never change, a bit each */
	/* Words of the head; 0: it has none. */
	uint8_t length;	    /* characters */
	uint8_t hash;	    /* a hash of the whole text; 0, or all bits set: none yet */
	uint8_t unit;	    /* how many bytes a character has, in three bits, */
	uint8_t unit_shift; /* above so many others; */
	uint8_t plain;	    /* a bit of this word: if it is not set, */
	uint8_t more;	    /* the head has so many bytes more */
	/* Which text has its address, from 1 on; 0: the object; WALK_OF_FOUND: what was found. */
	uint8_t of;
	/*
	 * If the text before has its address, so much further for each that the upper half of a
	 * word of its head counts, up to a limit. 0: no further. If there are more, so much further
	 * for each, and once `beyond`; 0: then nothing has its address.
	 */
	uint8_t count, count_scale, count_max, beyond, beyond_scale;
	/*
	 * These bits of the first word of a head say what kind of text it is: behind its head, or
	 * elsewhere, by the address in a word of the head. Others have no text. 0: all are behind.
	 */
	uint8_t outside_at;
	uint8_t inside_length; /* as `length`, of those behind; 0: all of it counts as head */
	uint16_t kinds, inside, outside;
	/* And the text before has its address only if the bits of `kinds` are these; 0: always. */
	uint16_t of_kind;
	/* If the object has a number at `sized_by`, so many bytes count, but not more than `size`:
	 * `size_base`, and for each of the number `size_scale` 64ths. 0: all count. */
	uint16_t sized_by, size_base, size_scale;
	/*
	 * If `index_of` is a text, from 1 on: that has, in two bytes at `index_at`, how many words
	 * further the text before has the address; 0: it has none.
	 */
	uint16_t index_at;
	uint8_t index_of;
	/* If it is not 0: one more than where the head has the text's length, in two bytes. */
	uint8_t length_at;
	uint8_t is_here; /* it is part of the text before: where that would have its address */
	/*
	 * If `table_entry` is not 0: it lies behind a table with entries of so many bytes, of which
	 * the text before has the address; and, at `table_owner`, that of what has the number of
	 * the last entry, in 4 bytes at `table_last`.
	 */
	uint8_t table_entry;
	uint16_t table_owner, table_last;
};

/*
 * The text that an object was made of, which many of them share: a string, to
 * which something leads that one of their texts is. It is emitted once, in parts (struct
 * walk_source_part), and the identity of what has it is put behind the texts of each object.
 */
struct walk_source {
	uint64_t pointer_mask;
	uint16_t of;	 /* the text that has it, from 1 on; 0: there is none */
	uint16_t number; /* where that has a word which never changes, */
	uint16_t name;	 /* the address of a string that is its name, */
	uint16_t string; /* and of the text */
	/* What a string's first word leads to says, in two bytes, which bits are of its kind: its
	 * characters are in it or elsewhere, or another string has them. */
	uint16_t type_at, kinds, inside, outside, others[2];
	uint16_t narrow; /* the bit of those whose characters have one byte; others have two */
	uint16_t length; /* where a string has their number, in four bytes, */
	uint16_t inside_at, outside_at, other_at; /* and the characters, or an address */
};

/* Of the elements of the first list. By what never changes of it, an object has an identity. */
struct walk_object {
	uint64_t pointer_mask; /* of all pointers to it, and of it */
	uint32_t words;	       /* those of the object that never change, a bit each */
	uint16_t pointer;      /* where a window has its address */
	uint16_t size;	       /* bytes; 0: there is none */
	/*
	 * A part of it with a number of 4 bytes that no other object ever has. The part is the
	 * identity, unless the number is 0: then all words and texts are.
	 */
	uint16_t part;
	uint16_t part_size;  /* bytes; 0: there is no such number */
	uint16_t unique;     /* where the number is in the part */
	uint16_t type_at;    /* where it has its type; another one's has no identity */
	uint64_t type;	     /* 0: all count */
	uint64_t other_type; /* or this; 0: it has one type */
	uint64_t type_mask;  /* of the word with the type; 0: all of it */
	/*
	 * Where what `pointer` leads to has the object's address, which takes the place of the
	 * pointer in the window; 0: it is the object itself.
	 */
	uint16_t load;
	/* Elements have one of whose windows, and the word behind, these bits of a word are so. */
	uint16_t kind_at;
	uint32_t kind_mask, kind; /* 0: all have one */
	struct walk_text texts[WALK_TEXTS_MAX];
	struct walk_source source;
};

/* What has a text that is to be emitted, at a sample of the thread that has met it. */
struct walk_awaited {
	uint64_t owner, identity; /* 0: nothing */
	uint64_t thread;
};

/*
 * Code that a compiler has made of an element. Where it is executed lies in the window of the
 * element before, as the address to which that returns. The code is found by steps back from there,
 * up to a head in front of it, which has the address of the object that describes the code. What is
 * executed, and the address and the identity of that object are put behind the window.
 */
struct walk_code {
	uint64_t outside_from, outside_to; /* addresses where no such code is */
	uint16_t instruction;		   /* where a window has the address */
	uint16_t step;			   /* bytes: code begins at multiples */
	uint16_t steps;			   /* limit; 0: there is no such code */
	uint16_t head;	/* bytes in front of code, where the address of the object is */
	uint16_t start; /* where the object has the address of the code, */
	uint16_t size;	/* and, in 4 bytes, its size */
	/* Or so many bytes in front of code is the object itself, of which `head` and `start` do
	 * not count: what its first word leads to has its type, in two bytes. 0: it is elsewhere.
	 */
	uint16_t within, within_type_at, within_type;
	/* Objects as those of elements, to which one of its texts leads; their identities are put
	 * behind the last text, as another one. */
	uint16_t members; /* where it has the first one's address; 0: there are none */
	uint16_t count;	  /* where text `count_of` has their number in the upper half of a word */
	uint8_t members_of, count_of; /* texts, from 1 on */
	uint16_t kind;	      /* where the object has, in four bits, what kind of code it is: */
	uint16_t has_members; /* a bit for each kind whose objects have members */
	struct walk_object object; /* `pointer` and `load` do not count */
};

/* Memory in which blocks of code lie. Of each segment of it a byte says how many segments before it
 * a block begins, or one with such a byte is: 0: here; 255: nowhere. */
struct walk_heap {
	uint64_t from, to; /* 0 and 0: there is none */
	uint64_t segments; /* where the bytes are */
	uint64_t shift;	   /* of an address, to the number of a segment */
};

/*
 * Where an object says that something is: at a pointer of it, or at the object itself, and so much
 * further as numbers of it say, one of four bytes, and one of two or four. WALK_NOT_THERE: it has
 * no such pointer or number.
 */
struct walk_site {
	uint16_t pointer, further, offset, offset_size;
};

/* Up to where code's frame is made, or behind. */
enum walk_part { WALK_IN_BEGIN, WALK_BEHIND, WALK_ANYWHERE };

/* Instructions which tell where the frame is: eight bytes in front of the current one, and of it.
 */
struct walk_pattern {
	uint64_t before, before_mask, at, at_mask;
	uint16_t where; /* enum walk_where; 0: there is no such pattern */
	uint16_t part;	/* where it counts: enum walk_part */
	uint16_t reserved[2];
};

/*
 * Frames of code without frame pointers, of which the object in front of it says how large its
 * frames are; of an interpreter, which has frame pointers; and those that both have where C++ has
 * called them. The first list is of these frames: from the registers on, or, if those are of other
 * code, from where the first root leads: what code has noted before it has called that.
 */
struct walk_frames {
	struct walk_heap heaps[WALK_HEAPS_MAX];
	uint64_t interpreter_from, interpreter_to;
	/* Its code that functions begin with, where they have no frame yet. 0 and 0: none. */
	struct {
		uint64_t from, to;
	} begins[WALK_BEGINS_MAX];
	uint64_t entry; /* where code that C++ has called returns to */
	struct walk_pattern patterns[WALK_PATTERNS_MAX];
	uint64_t bare_type; /* of objects whose code has no frames; as the types of compiled code */
	uint16_t header;    /* bytes from a block's begin to its object */
	uint16_t frame_size; /* where an object has the number of words of its frames, */
	/* where it begins, where it begins for callers that know it, and where there is code for
	 * rare cases; and how many bytes behind the begin the frame is made. */
	struct walk_site begin, begin_known, rare;
	uint16_t made, made_size;
	/* What was noted: where the frame of `entry` has the address of something, how far in that
	 * it is, and its fields. */
	int16_t entry_noted;
	uint16_t entry_noted_at, noted_sp, noted_pc, noted_fp;
	/* What belongs to the object of code, and the pointers to objects as those of elements. */
	struct walk_site ranges[WALK_RANGES][2], callees[2];
	uint16_t place_from; /* where a method has the address of its code, behind a head */
	uint16_t own;	     /* where it has the address of one more, that it was made of */
};

/*
 * A stack that made code has for itself, whose owner the first list's root leads to. A table of
 * modules, sorted by where their code begins and ends, leads from an address to its module; that
 * has tables of its functions and of lines. The first list is of all words of the stack that may be
 * return addresses (struct walk_return).
 */
struct walk_own_stack {
	struct walk_root other;	 /* leads to where the thread's own stack is meanwhile */
	uint16_t top, low, high; /* where the owner has the bounds; 0 all: there is no such stack */
	uint16_t unnoted;	 /* bytes that may be in use beyond the top, since it was noted */
	uint64_t last;		 /* the return address of the outermost function */
	uint64_t version;	 /* where the number is of the current version, in 4 bytes, */
	uint64_t modules;	 /* of the table: its address and size are in such a structure */
	uint16_t version_size;
	uint16_t n_functions, functions; /* where a module has their number, and their begins; */
	uint16_t lines;			 /* and the address of a structure with: */
	uint16_t line_files, line_size, line_words, line_places;
	uint64_t file_mask;   /* of the pointers to the names of files, */
	uint16_t file_before; /* which begin so many bytes in front */
	uint8_t file_shift;   /* of a line: the bits above are the number of its file */
	uint8_t reserved[3];
};

/*
 * Managed code of .NET, whose methods a map of addresses leads to. The first list is of what the
 * thread executes, and of all words of its stack that are in such code (struct walk_return); the
 * object of each is the first instruction of the method's code (dotnet-code.h).
 */
struct walk_managed {
	uint64_t map;		   /* where the map is; 0: there is no such code */
	uint64_t from, to;	   /* all of it is between these addresses, */
	uint64_t not_from, not_to; /* but none in the program itself */
	uint16_t section_heap, heap_base, heap_map;
	/* Of code of files: where a section has its module, that what it is made of, and so on. */
	uint16_t section_module, module_file;
	uint16_t file_whole, file_functions, file_count, file_methods;
	uint16_t header_method, header_count, header_functions;
	uint16_t method_token, method_index, method_flags, method_name;
	uint16_t block_size, block_type, block_range;
	uint16_t type_flags, type_module;
	uint16_t module_assembly, assembly_metadata;
	uint16_t metadata_tables, metadata_counts, metadata_rows, metadata_names, metadata_mask;
};

struct walk_program {
	struct walk_list lists[WALK_LISTS_MAX]; /* up to the first without a window */
	struct walk_own_stack own;
	struct walk_managed managed;
	struct walk_kept kept;
	struct walk_word word;
	struct walk_object object;
	/* Another one of each element, whose identity is put behind the window and the word. Those
	 * of other lists have only this one. */
	struct walk_object beside;
	struct walk_code code;
	struct walk_frames frames;
	uint64_t incarnation; /* another one for each process that has had the PID */
	/* The kernel's address of the memory that it was made for, once it has run; 0: not yet. */
	uint64_t memory;
	uint64_t is_awaiting; /* there may be texts to be emitted: */
	struct walk_awaited awaited[WALK_AWAITED_MAX];
};

/* Whether all sizes, counts and places are within their limits. */
bool walk_program_is_valid(const struct walk_program *program);
