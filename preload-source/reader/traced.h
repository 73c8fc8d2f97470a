/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A traced process: its rings, merged in the order of their times.
 *
 * A free is committed before the block can be another thread's, so when an allocation is seen to
 * have happened before a moment, all that has led to it was committed by then. Each look therefore
 * takes the time first, then how far each ring is, and hands out what is older than that time: no
 * block is ever told to be had before the free that has made it free.
 */
#pragma once

#include "common/proc/proc.h"
#include "preload-source/reader/heap-encoder.h"
#include "preload-source/reader/mapped-ranges.h"
#include "preload-source/reader/shared-tables.h"
#include "preload-source/reader/ring-reader.h"
#include "preload-source/reader/time-map.h"

/* What is done with a process's rings. */
struct traced_policy {
	enum heap_when_full when_full;
	uint64_t block_ns, sampling;
	uint32_t max_frames;
	enum traced_classes {
		TRACED_BLOCKS,
		TRACED_BLOCKS_AND_MAPPINGS, /* that the program makes itself */
	} classes;
};

struct traced_ring {
	struct ring_reader reader;
	uint32_t *stacks; /* by slot: their numbers; NULL: the ring was never used */
	uint32_t raw;	  /* number of the last raw one */
	uint32_t tid;
	char name[PROC_NAME_MAX];      /* of that thread, as it was told */
	uint64_t n_nested;	       /* of the ring's, that have been told */
	uint64_t interval;	       /* between samples */
	struct mapped_ranges unmapped; /* last, until it is known whether that has failed */
	struct heap_lost emitted;      /* by its records */
	bool has_next;		       /* an event waits in `next` */
	struct ring_record next;
};

/* A process that is let in. */
struct traced_process {
	uint32_t pid, own_pid; /* what it itself takes for its PID */
	int pid_fd, maps_fd;
};

struct traced {
	struct traced *next;
	struct heap_encoder_process process;
	int pid_fd;
	int maps_fd;	     /* of the program that it runs now (process-opener.h), or -errno */
	uint32_t n_replaced; /* how often it was seen to run another one */
	uint32_t own_pid;    /* what the process itself takes for its PID */
	struct shared_memory memory;
	struct heap_region *region;
	enum heap_when_full when_full;
	uint64_t list; /* of its mappings, in `published` */
	struct time_map time_map;
	uint64_t last_time; /* of the latest event that was handed out, by the rings' clock */
	uint64_t last_ns;   /* of what was handed out */
	uint32_t looked_at; /* how much was wanted when its mappings were looked at last */
	uint64_t n_unrecorded;
	/* Mean bytes between samples, at first and as we have set it last: others may write there.
	 */
	uint64_t first_sampling, sampling;
	uint64_t n_bytes; /* allocated in all */
	bool is_forged;	  /* what cannot be was told: somebody writes to the rings */
	bool is_forged_emitted;
	bool has_new_threads; /* whose names have not been read */
	struct mapped_ranges mapped;
	struct traced_ring rings[HEAP_RINGS_MAX];
};

/*
 * Makes the memory of a process. `pid_fd` and `maps_fd` (or -errno) are taken over in any case. 0
 * or -errno.
 */
int traced_begin(const struct traced_process *process, const struct traced_policy *policy,
		 struct traced **ret);
struct traced *traced_free(struct traced *traced);

/*
 * Hands out what is there up to now. 0 or -errno of the output; -EAGAIN: it has come to a raw
 * stack, and what is mapped has to be looked at first, as it is wanted more than `looked_at`.
 */
int traced_drain(struct traced *traced, struct heap_encoder *encoder, uint32_t looked_at);

/* Whether it is to be looked at at once: it wants something, or a ring is a third full. */
bool traced_is_due(const struct traced *traced);

/* How samples get rarer: the mean bytes between them behind this one. */
static inline uint64_t traced_next_sampling(uint64_t sampling)
{
	return sampling ? sampling * 2 : HEAP_ADAPT_FIRST;
}

/* Tells names of threads that are new, or that they have given themselves since. */
int traced_name_threads(struct traced *traced, struct processes *processes);

/* Gives rings back whose threads have ended. */
void traced_recycle(struct traced *traced);

/* Tells what is lost of rings that were never drained to their end. 0 or -errno of the output. */
int traced_finish(struct traced *traced, struct heap_encoder *encoder);
