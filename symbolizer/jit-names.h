/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The code that JIT compilers have made in the processes of a stream: what their files tell of it
 * (a jitdump, which has times; else a perf map), and what each place that is met is called since
 * when. The files grow while we read, and compilers may write late: so a place is told again when
 * something else turns out to be true of it.
 */
#pragma once

#include "common/identity.h"
#include "common/image-client.h"
#include "common/pair-map.h"

enum {
	JIT_PROCESSES_MAX = 256,    /* whose files are read; the places of others have no names */
	JIT_PLACES_MAX = 1 << 20,   /* of a process */
	JIT_MEMORY_MAX = 320 << 20, /* bytes of all files: beyond it those of the largest go */
};

#define JIT_PATIENCE_MIN_NS 10000000ULL	  /* before a file that was not there is asked for again */
#define JIT_PATIENCE_MAX_NS 3200000000ULL /* it grows up to this */
#define JIT_SETTLE_NS 1000000000ULL	  /* between two looks at all places of a process */

struct jit_names {
	struct stage *stage;	     /* borrowed, as are the next two */
	struct identity *identity;   /* ... */
	struct image_client *client; /* ... */
	struct pair_map by_process;  /* (upid, 0) → struct jit_process * */
	uint64_t memory;	     /* that its files take */
};

void jit_names_init(struct jit_names *names, struct stage *stage, struct identity *identity,
		    struct image_client *client);
void jit_names_deinit(struct jit_names *names);

/* A process has mapped something: maybe its jitdump. 0 or -ENOMEM. */
int jit_names_map(struct jit_names *names, const struct wire_mapping *mapping);

/*
 * A stack of a process had the place (`image`, `address`) at a time: tells what that is called, if
 * it is not what was told last. 0 or -errno.
 */
int jit_names_meet(struct jit_names *names, uint64_t process, uint64_t image, uint64_t address,
		   uint64_t time);

/* Tells what is known once and for all of the places of a process that ends, or of all. */
int jit_names_end(struct jit_names *names, uint64_t process);
int jit_names_end_all(struct jit_names *names);
