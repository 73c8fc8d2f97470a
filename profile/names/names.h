/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of frames and threads. Each distinct text is kept once and has a number. Texts are clean
 * (UTF-8 without control characters), whatever a target calls its functions, files and threads.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/pair-map.h"
#include "common/stream/identity.h"
#include "profile/names/inlined-calls.h"
#include "profile/names/timed-places.h"

enum {
	NAMES_MAX = 1 << 22,  /* texts; all further ones are "[too many names]" */
	NAME_SIZE_MAX = 4096, /* bytes of a text, including the zero byte */
	PLACES_MAX = 1 << 22,
};

/* The name of code that no file holds, and of nameless processes. */
#define NAMES_UNKNOWN "[unknown]"

/* Suffix of a function whose caller was found by a frame pointer alone, which proves nothing. */
#define NAMES_STEP_MARK "_[f]"

#define NAMES_LIST (1u << 31) /* flag of a label: the other bits number a list of inlined calls */

enum { NAMES_REPLACED = 1 };

/* By number: a text, or the number of the name that a provisional one stands for. */
struct numbered_name {
	struct name *name;
	uint32_t meaning;
};

struct names {
	struct name *by_text;
	struct numbered_name *list; /* by number - 1 */
	size_t n;
	struct pair_map places; /* (image, offset) → index of `named_places` */
	struct pair_map made;	/* (image, 0): files with code that has a name since a time */
	struct named_place *named_places;
	size_t n_places;
	uint32_t free_places;	 /* index + 1 of the first free entry; 0: none */
	struct pair_map threads; /* (process, tid) → name */
	struct inlined_calls inlined;
	struct timed_places timed; /* in memory of JIT compilers */
	bool keeps_lines; /* of source code; locations with inlined calls then take more memory */
	uint64_t n_refused;
};

/* What a symbol record reported about a location. */
struct named_place {
	uint64_t start, size;
	uint32_t name;	  /* 0: none */
	uint32_t shown;	  /* replaces a missing name, once one was needed; else 0 */
	uint32_t inlined; /* the list of its function and inlined calls; 0: none */
	struct source_line line;
	uint32_t module; /* 0: none; of a free entry, the next free one's index + 1 */
};

void names_init(struct names *names);
void names_deinit(struct names *names);

/* The number of a text, added if it is new; numbers begin at 1. 0: limit reached, or no memory. */
uint32_t names_intern(struct names *names, const char *text, size_t size);
const char *names_text(const struct names *names, uint32_t name);

/*
 * Adds a name that stands for another one. The meaning may be changed later, which also renames
 * everything that already has the provisional name. 0: there is no room.
 */
uint32_t names_add_provisional(struct names *names, uint32_t meaning);
void names_set_meaning(struct names *names, uint32_t provisional, uint32_t meaning);
bool names_is_provisional(const struct names *names, uint32_t name);

/* The name that a provisional name stands for now; other names stand for themselves. */
uint32_t names_meaning(const struct names *names, uint32_t name);

/* A name without its mark. */
uint32_t names_plain(const struct names *names, uint32_t name);

/* The rank of each text in the order of strcmp(), by number; the caller frees it. 0 or -ENOMEM. */
int names_rank(const struct names *names, uint32_t **ret);

/* Adds a call inlined at a location; its symbol record must come next. Returns 0. */
int names_add_inlined(struct names *names, const struct wire_inlined *inlined);

/* Each adds a record. 0 or -ENOMEM; NAMES_REPLACED: the location had another name until now. */
int names_add_symbol(struct names *names, const struct identity *identity,
		     const struct wire_symbol *symbol);
int names_add_thread(struct names *names, const struct wire_thread *thread);

/* Forgets all locations: the symbolizer names them again. */
void names_forget_places(struct names *names);

/* After images or processes have ended: forgets their locations and threads, now and then. */
void names_forget_ended(struct names *names, const struct identity *identity);

/* NULL: the location has not been named. */
struct named_place *names_find_place(const struct names *names, uint64_t image, uint64_t offset);

/* The name of a thread: its own, else its process's. */
uint32_t names_of_thread(struct names *names, const struct process *process, uint64_t upid,
			 uint32_t tid);

struct frame_name {
	/* The location, if the process has it mapped. */
	const struct image *image; /* NULL: it has none */
	uint64_t image_number, offset;
	const struct named_place *place; /* NULL: it was not named */
	uint32_t name;			 /* its symbol, else "[file+0xoffset]", else "[unknown]" */
	uint32_t list;	 /* as a label: its function and the inlined calls; 0: no inlined call */
	uint32_t label;	 /* with flamegraph.pl's marks, and with inlined calls */
	bool is_made;	 /* by a JIT compiler */
	bool is_unnamed; /* `name` only tells the place */
	bool is_final;	 /* valid until a symbol returns NAMES_REPLACED */
};

/* The names of a label, the outermost first: the label itself, or those of its list. */
static inline const uint32_t *names_of_label(const struct names *names, const uint32_t *label,
					     size_t *ret_n)
{
	*ret_n = 1;
	return *label & NAMES_LIST ? inlined_calls_get(&names->inlined, *label & ~NAMES_LIST, ret_n)
				   : label;
}

/* `time` is that of the frame's stack. */
struct frame_name names_of_frame(struct names *names, const struct identity *identity,
				 const struct process *process, const struct wire_frame *frame,
				 uint64_t time);
