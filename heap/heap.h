/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What became of the memory that programs have allocated, by stack, thread, size and time. All of
 * it is worked out as events come: what it takes grows with the blocks that are alive and with
 * distinct stacks, not with events.
 */
#pragma once

#include "common/stream/heap-events.h"
#include "common/base/pair-map.h"
#include "common/stream/process-table.h"
#include "heap/blocks.h"
#include "heap/history.h"
#include "heap/timeline.h"

enum {
	HEAP_STACKS_MAX = 1 << 22,
	HEAP_STACKS_MISSING_MAX = 64, /* numbers that are left out: a stream of a few bytes must not
					 take much memory */
	HEAP_PROCESSES_MAX = 65535,
	HEAP_THREADS_MAX = 1 << 20,
	HEAP_INTERVALS_MAX = 256, /* different ones between samples */
	HEAP_POINTS_MAX = 2,
	HEAP_FORGERS_NAMED = 4,
	HEAP_FORGERS_TEXT = 512,
	HEAP_CLASSES = 64, /* of sizes and lifetimes: class n is of what has n bits */
	HEAP_ONE = 256,	   /* of counts: a sampled block stands for more than one, and not for whole
			      ones */
};

/* Bytes: no process has more addresses, so no block is larger, nor the mean between samples. */
#define HEAP_BLOCK_MAX (1ULL << 47)

/* Blocks, as HEAP_ONE each, and their bytes: sums of sum.h. */
struct heap_amount {
	uint64_t n, bytes;
};

/* What is told of a stack, a thread, all. */
struct heap_totals {
	struct heap_amount allocated, live;
	struct heap_amount
		temporary;	    /* freed by the same thread before it allocated anything else */
	struct heap_amount foreign; /* freed by another thread */
};

struct heap_stack {
	uint32_t node, thread; /* of a profile; node 0: it is not known, or beyond its limits */
	uint32_t end;	       /* enum wire_stack_end */
	uint64_t process;
	struct heap_totals totals;
	struct heap_amount leaked; /* alive when its process ended */
	struct heap_amount at_peak, at_points[HEAP_POINTS_MAX];
	uint32_t n_peaks;    /* heap.n_peaks when at_peak was last right */
	uint32_t changed_in; /* history.turn when it last changed */
};

struct heap_thread {
	uint64_t process;
	uint32_t tid;
	struct heap_totals totals; /* of what it has allocated */
	struct heap_amount freed;  /* by it */
	uint64_t last_key;	   /* of the block that it has allocated last, and not freed */
	/*
	 * By realloc(3), until it is known whether that has failed; a mapping, of which a part may
	 * remain.
	 */
	struct block released;
};

/* What is of interest. */
enum heap_scope {
	HEAP_ALL,
	HEAP_BLOCKS_ONLY,   /* of malloc(3) */
	HEAP_MAPPINGS_ONLY, /* of mmap(2) */
};

struct heap_losses {
	uint64_t since; /* when the first was told; 0: none */
	uint64_t n_allocated, n_freed, n_bytes, n_calls, blocked_ns;
};

/* A process that has written to the memory by which it tells of its heap: wire.def, "heap_lost". */
struct heap_forger {
	uint32_t pid;
	char name[64]; /* without what would be an order to a terminal */
};

struct heap {
	struct heap_stack *stacks; /* by number; the first is none */
	size_t n_stacks;
	struct heap_thread *threads;
	size_t n_threads;
	struct pair_map thread_of_tid; /* (process, tid) → index */
	struct pair_map process_index; /* (process, 0) → index from 1 on, for the keys of blocks */
	struct blocks *blocks; /* by that index: so the end of one is no concern of others */
	size_t n_blocks;       /* length of that list */
	struct heap_totals totals;
	struct heap_amount freed, leaked, peak;
	struct heap_amount mapped, mapped_leaked; /* of all, by mmap(2) */
	uint64_t peak_time;
	uint32_t n_peaks; /* how often a new peak was reached */
	uint64_t intervals[HEAP_INTERVALS_MAX];
	size_t n_intervals;
	struct heap_amount sizes[HEAP_CLASSES]; /* by bits of the size */
	struct heap_amount
		lifetimes[HEAP_CLASSES]; /* of what was freed, by bits of the nanoseconds */
	struct heap_amount leaked_sizes[HEAP_CLASSES], leaked_ages[HEAP_CLASSES];
	struct timeline timeline;
	struct history history;		  /* if it is kept */
	uint64_t points[HEAP_POINTS_MAX]; /* times to keep what is alive at, ascending; 0: none */
	size_t n_points_passed;
	uint64_t first_time, last_time;
	struct heap_losses losses;
	struct pair_map forged; /* (process, 0) of forgers */
	struct heap_forger forgers[HEAP_FORGERS_NAMED];
	uint64_t n_forgers; /* of which only the first are named */
	uint64_t n_events, n_unknown_frees, n_refused, n_damaged;
	uint64_t n_processes, n_ended; /* n_ended: of these */
	bool is_sampled;
	enum heap_scope scope;
};

/*
 * Of zeroes: most of it is only touched when there is a heap. 0 or -ENOMEM, as of all of these.
 */
int heap_init(struct heap *heap);
void heap_deinit(struct heap *heap);

int heap_begin(struct heap *heap, const struct wire_heap_begin *begin);

/* A stack by its number, and where in a profile it is, and whose. */
int heap_add_stack(struct heap *heap, const struct wire_heap_stack *stack, uint32_t node,
		   uint32_t thread);
int heap_add_events(struct heap *heap, const struct wire_heap_events *events);

/* `process`: whose, NULL: not known. 0 or -ENOMEM. */
int heap_add_lost(struct heap *heap, const struct wire_heap_lost *lost,
		  const struct process *process);

/* What to say of them, with their names. */
#define HEAP_FORGED                                                                                \
	"UNTRUSTED: %s wrote to the memory through which its heap is recorded; every number that " \
	"includes it may be wrong, from the beginning on"

/* Whether nothing of a process's heap can be believed, and which ones that is true of. */
bool heap_is_forged(const struct heap *heap, uint64_t process);
const char *heap_forgers_text(const struct heap *heap, char ret[HEAP_FORGERS_TEXT]);

/* How many allocations and frees were lost. */
uint64_t heap_losses_n(const struct heap_losses *losses);

/* Whether more was told than can be counted: the stream is damaged or forged. */
bool heap_is_full(const struct heap *heap);

/* A process has ended: what it has not freed is leaked. */
void heap_end_process(struct heap *heap, uint64_t process, uint64_t time);

/* The stream is over. */
void heap_finish(struct heap *heap, uint64_t time);

/* Whether the stream has told of any heap. */
static inline bool heap_is_there(const struct heap *heap)
{
	return heap->n_processes > 0;
}

/* What may be asked of a stack. */
enum heap_metric {
	HEAP_AT_PEAK,
	HEAP_LEAKED,
	HEAP_ALLOCATED,
	HEAP_TEMPORARY,
	HEAP_FOREIGN,
	HEAP_AT_POINT_1,
	HEAP_AT_POINT_2,
	HEAP_METRICS,
};

struct heap_amount heap_stack_amount(const struct heap_stack *stack, enum heap_metric metric);
const char *heap_metric_text(enum heap_metric metric);

/* Its name for options; NULL: it has none. */
const char *heap_metric_name(enum heap_metric metric);
