/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names the code of JIT compilers in a stream's processes, from their files (a jitdump, which has
 * times, else a perf map). The files may grow, and compilers may write late: a location is emitted
 * again, with the time of its first stack, when it turns out to have another name.
 */
#pragma once

#include "common/base/pair-map.h"
#include "common/stream/identity.h"
#include "symbolizer/jit/jit-files.h"

enum {
	/* Processes whose files are read; one more displaces one of the user with the most. */
	JIT_PROCESSES_MAX = 256,
	JIT_PLACES_MAX = 1 << 20, /* per process */
	JIT_MAKERS_MAX = 1 << 16, /* JIT code files; code in further ones has no names */
	JIT_PLACE_SIZE = 192,	  /* bytes at most: lists and maps may double */
	/* Bytes of all; beyond it the largest process of the heaviest user is dropped. */
	JIT_MEMORY_MAX = 192 << 20,
};

#define JIT_SETTLE_NS 1000000000ULL /* minimum between two checks of a process's locations */

struct jit_names {
	struct stage *stage;	   /* borrowed */
	struct identity *identity; /* borrowed */
	struct jit_reader reader;
	struct pair_map by_process; /* (upid, 0) → struct jit_process * */
	struct pair_map makers;	    /* (image of a JIT code file, 0) → upid of its first mapper */
	uint64_t memory;	    /* of its processes */
};

void jit_names_init(struct jit_names *names, struct stage *stage, struct identity *identity,
		    struct image_client *client);
void jit_names_deinit(struct jit_names *names);

/* A stack's location in JIT code. */
struct jit_location {
	uint64_t image, offset; /* identifies it downstream */
	uint64_t address;	/* in the process */
};

/* Notes a mapping: it may be a jitdump, or a memfd for code. 0 or -ENOMEM. */
int jit_names_map(struct jit_names *names, const struct wire_mapping *mapping);

/*
 * Whether a process names the code in a file: it is a JIT code file (jit-memory.h), and the process
 * mapped it first. Other processes may share the code, but not its address.
 */
bool jit_names_is_maker(const struct jit_names *names, uint64_t process, uint64_t image);

/*
 * Handles a stack's location in anonymous memory, or in a file that the process is the maker of:
 * emits its name at that time, if it differs from the last one emitted. 0 or -errno.
 */
int jit_names_discover(struct jit_names *names, uint64_t process, const struct jit_location *place,
		       uint64_t time);

/* Forgets files of images that have ended. */
void jit_names_forget_ended(struct jit_names *names);

/* Emits the final names of a process that ends, or of all. */
int jit_names_end(struct jit_names *names, uint64_t process);
int jit_names_end_all(struct jit_names *names);
