/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A traced process: its rings, merged by time.
 *
 * A free is committed before another thread can get the block, so all that led to an allocation was
 * committed by the allocation's time. Each drain therefore reads the clock first and then the
 * rings' heads, and emits what is older than that time: no block is emitted as allocated again
 * before the free that released it.
 */
#pragma once

#include "common/proc/proc.h"
#include "preload-source/reader/heap-encoder.h"
#include "preload-source/reader/mapped-ranges.h"
#include "preload-source/reader/ring-reader.h"
#include "preload-source/reader/shared-tables.h"
#include "preload-source/reader/time-map.h"

/* Options of recording a process. */
struct traced_policy {
	enum heap_when_full when_full;
	uint64_t block_ns, sampling;
	uint32_t max_frames;
	enum traced_classes {
		TRACED_BLOCKS,
		TRACED_BLOCKS_AND_MAPPINGS, /* mappings that the program makes itself */
	} classes;
};

struct traced_ring {
	struct ring_reader reader;
	uint32_t *stacks; /* stack numbers by slot; NULL: the ring was never used */
	uint32_t raw;	  /* number of the last raw stack */
	uint32_t tid;
	char name[PROC_NAME_MAX];      /* of that thread, as last emitted */
	uint64_t n_nested;	       /* the ring's count when last read */
	uint64_t interval;	       /* mean bytes between samples */
	struct mapped_ranges unmapped; /* by the last call, which may still fail */
	struct heap_lost emitted;      /* sum of the ring's LOST records */
	bool has_next;		       /* an event waits in `next` */
	struct ring_record next;
};

/* An accepted process. */
struct traced_process {
	uint32_t pid, own_pid; /* own_pid: in its own PID namespace */
	int pid_fd, maps_fd;
};

struct traced {
	struct traced *next;
	struct heap_encoder_process process;
	int pid_fd;
	int maps_fd;	     /* maps of its current program (process-opener.h), or -errno */
	uint32_t n_replaced; /* checks that found another program running */
	uint32_t own_pid;    /* in its own PID namespace */
	struct shared_memory memory;
	struct heap_region *region;
	enum heap_when_full when_full;
	uint64_t list; /* offset of its list of mappings in the shared tables */
	struct time_map time_map;
	uint64_t last_time; /* of the latest emitted event, by the rings' clock */
	uint64_t last_ns;   /* of the output, which never decreases */
	uint32_t looked_at; /* region->wanted at the last reread of its mappings */
	uint64_t n_unrecorded;
	/* Mean bytes between samples, first and last set: the program can write the region's. */
	uint64_t first_sampling, sampling;
	uint64_t n_bytes; /* allocated in total */
	bool is_forged;	  /* impossible data was found: the program wrote to the rings */
	bool is_forged_emitted;
	bool has_new_threads; /* whose names were not read so far */
	struct mapped_ranges mapped;
	struct traced_ring rings[HEAP_RINGS_MAX];
};

/* Makes a process's shared memory. Owns both descriptors, even on failure. 0 or -errno. */
int traced_begin(const struct traced_process *process, const struct traced_policy *policy,
		 struct traced **ret);
struct traced *traced_free(struct traced *traced);

/*
 * Emits all records up to now. 0 or -errno of the output; -EAGAIN: it stopped at a raw stack, as
 * the process requested a reread of its mappings after request `looked_at`.
 */
int traced_drain(struct traced *traced, struct heap_encoder *encoder, uint32_t looked_at);

/* Whether to drain at once: the process has a request, or a ring is a third full. */
bool traced_is_due(const struct traced *traced);

/* The next larger mean of bytes between samples. */
static inline uint64_t traced_next_sampling(uint64_t sampling)
{
	return sampling ? sampling * 2 : HEAP_ADAPT_FIRST;
}

/* Emits names of new threads, and changed names. */
int traced_name_threads(struct traced *traced, struct processes *processes);

/* Frees drained rings whose threads have exited. */
void traced_recycle(struct traced *traced);

/* Drains the rings a last time and emits losses without a record. 0 or -errno of the output. */
int traced_finish(struct traced *traced, struct heap_encoder *encoder);
