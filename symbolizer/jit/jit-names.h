/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The code that JIT compilers have made in the processes of a stream: what their files tell of it
 * (a jitdump, which has times; else a perf map), and what each place that is met is called since
 * when. The files grow while we read, and compilers may write late: so a place is told again when
 * something else turns out to be true of it.
 */
#pragma once

#include "common/stream/identity.h"
#include "common/base/pair-map.h"
#include "symbolizer/jit/jit-files.h"

enum {
	/* Whose files are read; with one more, one is given up of the user who has most. */
	JIT_PROCESSES_MAX = 256,
	JIT_PLACES_MAX = 1 << 20, /* of a process */
	JIT_MAKERS_MAX = 1 << 16, /* files for code; that in further ones has no names */
	JIT_PLACE_SIZE = 192, /* bytes, at most, as lists and maps grow to twice what they hold */
	/* Bytes of all: beyond it those of the largest go, of the user who has most. */
	JIT_MEMORY_MAX = 192 << 20,
};

#define JIT_SETTLE_NS 1000000000ULL /* between two looks at all places of a process, at least */

struct jit_names {
	struct stage *stage;	   /* borrowed, as is the next one */
	struct identity *identity; /* ... */
	struct jit_reader reader;
	struct pair_map by_process; /* (upid, 0) → struct jit_process * */
	struct pair_map makers; /* (image of a file for code, 0) → upid of who mapped it first */
	uint64_t memory;	/* that its files take */
};

void jit_names_init(struct jit_names *names, struct stage *stage, struct identity *identity,
		    struct image_client *client);
void jit_names_deinit(struct jit_names *names);

/* A place in code of a JIT compiler that a stack has. */
struct jit_location {
	uint64_t image, offset; /* in the image: what it is known by downstream */
	uint64_t address;	/* in the process */
};

/* A process has mapped something: maybe its jitdump, or a memfd for code. 0 or -ENOMEM. */
int jit_names_map(struct jit_names *names, const struct wire_mapping *mapping);

/*
 * Whether code in a file is a process's to name: it is one for such code (jit-memory.h), and the
 * process was the first to map it. What others have there it may share with them, but not its
 * address.
 */
bool jit_names_is_maker(const struct jit_names *names, uint64_t process, uint64_t image);

/*
 * A stack of a process had a place in anonymous memory, or in a file that it is the maker of:
 * tells what that is called at that time, if it is not what was told last. 0 or -errno.
 */
int jit_names_discover(struct jit_names *names, uint64_t process, const struct jit_location *place,
		       uint64_t time);

/* Of images that are no more nothing is known any more. */
void jit_names_forget_ended(struct jit_names *names);

/* Tells what is known once and for all of the places of a process that ends, or of all. */
int jit_names_end(struct jit_names *names, uint64_t process);
int jit_names_end_all(struct jit_names *names);
