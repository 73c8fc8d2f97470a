/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Accounts for allocated blocks by stack, thread, size and time. Each event updates all sums, so
 * memory grows with live blocks and distinct stacks, not with events.
 */
#pragma once

#include "common/base/pair-map.h"
#include "common/stream/heap-events.h"
#include "common/stream/process-table.h"
#include "heap/blocks.h"
#include "heap/history.h"
#include "heap/timeline.h"

enum {
	HEAP_STACKS_MAX = 1 << 22,
	HEAP_STACKS_MISSING_MAX = 64, /* gap in numbers: a small stream must not take much memory */
	HEAP_PROCESSES_MAX = 65535,
	HEAP_THREADS_MAX = 1 << 20,
	HEAP_INTERVALS_MAX = 256, /* distinct ones */
	HEAP_POINTS_MAX = 2,
	HEAP_FORGERS_NAMED = 4,
	HEAP_FORGERS_TEXT = 512,
	HEAP_CLASSES = 64, /* of sizes and lifetimes: class n has values of n bits (63: or 64) */
	HEAP_ONE = 256, /* unit of block counts: a sampled block stands for a fraction of it, too */
};

/* Bytes of a process's address space: the limit of a block's size and of a sampling interval. */
#define HEAP_BLOCK_MAX (1ULL << 47)

/* Blocks, as HEAP_ONE each, and their bytes; both saturate (sum.h). */
struct heap_amount {
	uint64_t n, bytes;
};

/* Sums of a stack, of a thread, or of the whole heap. */
struct heap_totals {
	struct heap_amount allocated, live;
	struct heap_amount temporary; /* freed by the same thread before its next allocation */
	struct heap_amount foreign;   /* freed by another thread */
};

struct heap_stack {
	uint32_t node, thread; /* of a profile; node 0: stack unknown, or over its limits */
	uint32_t end;	       /* enum wire_stack_end */
	uint64_t process;
	struct heap_totals totals;
	struct heap_amount leaked; /* alive when its process ended */
	struct heap_amount at_peak, at_points[HEAP_POINTS_MAX];
	uint32_t n_peaks;    /* heap.n_peaks when at_peak was last updated */
	uint32_t changed_in; /* history.turn of the last change */
};

struct heap_thread {
	uint64_t process;
	uint32_t tid;
	struct heap_totals totals; /* of its allocations */
	struct heap_amount freed;  /* by this thread */
	uint64_t last_key;	   /* of its latest allocation */
	struct block released;	   /* realloc(3): may be restored; munmap(2): parts may remain */
	uint64_t released_at;
	size_t released_as; /* `temporary` or `foreign` of heap_totals (offsetof); 0: neither */
};

/* Which events are counted. */
enum heap_scope {
	HEAP_ALL,
	HEAP_BLOCKS_ONLY,   /* of malloc(3) */
	HEAP_MAPPINGS_ONLY, /* of mmap(2) */
};

struct heap_losses {
	uint64_t since; /* from when on data is incomplete or forged; 0: all is there */
	uint64_t n_allocated, n_freed, n_bytes, n_calls, blocked_ns;
};

/* A process that wrote to its rings outside the protocol: wire.def, heap_lost, FORGED. */
struct heap_forger {
	uint32_t pid;
	char name[64]; /* without control characters of terminals */
};

struct heap {
	struct heap_stack *stacks; /* by number; 0: no stack */
	size_t n_stacks;
	struct heap_thread *threads;
	size_t n_threads;
	struct pair_map thread_of_tid; /* (process, tid) → index */
	struct pair_map process_index; /* (process, 0) → index from 1 on, used in keys of blocks */
	struct blocks *blocks; /* by that index, so that a process exit visits its own only */
	size_t n_blocks;       /* length of `blocks` */
	struct heap_totals totals;
	struct heap_amount freed, leaked, peak;
	struct heap_amount mapped, mapped_leaked; /* by mmap(2) */
	uint64_t peak_time;
	uint32_t n_peaks; /* new peaks so far */
	uint64_t intervals[HEAP_INTERVALS_MAX];
	size_t n_intervals;
	struct heap_amount sizes[HEAP_CLASSES];	    /* by bits of the size */
	struct heap_amount lifetimes[HEAP_CLASSES]; /* of freed blocks, by bits of nanoseconds */
	struct heap_amount leaked_sizes[HEAP_CLASSES], leaked_ages[HEAP_CLASSES];
	struct timeline timeline;
	struct history history;		  /* recorded if history_keep() was called */
	uint64_t points[HEAP_POINTS_MAX]; /* ascending times of snapshots; 0: unused */
	size_t n_points_passed;
	uint64_t first_time, last_time;
	struct heap_losses losses;
	struct pair_map forged; /* (process, 0) of forgers */
	struct heap_forger forgers[HEAP_FORGERS_NAMED];
	uint64_t n_forgers; /* all of them; `forgers` has the first */
	uint64_t n_events, n_unknown_frees, n_refused, n_damaged;
	uint64_t n_processes, n_ended; /* n_ended: those of n_processes that have ended */
	bool is_sampled;
	enum heap_scope scope;
};

/* `heap` is zero; most of it stays untouched without heap records. 0 or -ENOMEM, as all below. */
int heap_init(struct heap *heap);
void heap_deinit(struct heap *heap);

int heap_begin(struct heap *heap, const struct wire_heap_begin *begin);

/* Adds a stack with its node and thread in a profile. */
int heap_add_stack(struct heap *heap, const struct wire_heap_stack *stack, uint32_t node,
		   uint32_t thread);
int heap_add_events(struct heap *heap, const struct wire_heap_events *events);

/* `process`: whose events were lost; NULL: unknown. 0 or -ENOMEM. */
int heap_add_lost(struct heap *heap, const struct wire_heap_lost *lost,
		  const struct process *process);

/* Format of the warning about forgers; its argument is heap_forgers_text(). */
#define HEAP_FORGED                                                                                \
	"UNTRUSTED: %s wrote to the memory through which its heap is recorded; every number that " \
	"includes it may be wrong, from the beginning on"

/* Whether a process's heap data is untrusted, and the names of such processes. */
bool heap_is_forged(const struct heap *heap, uint64_t process);
const char *heap_forgers_text(const struct heap *heap, char ret[HEAP_FORGERS_TEXT]);

/* Lost allocations and frees, and lost calls of unknown kind. */
uint64_t heap_losses_n(const struct heap_losses *losses);

/* Whether a sum has saturated: the stream is damaged or forged. */
bool heap_is_full(const struct heap *heap);

/* Ends a process: its live blocks are leaked. */
void heap_end_process(struct heap *heap, uint64_t process, uint64_t time);

/* Ends the stream and all processes that are left. */
void heap_finish(struct heap *heap, uint64_t time);

/* Whether the stream has heap records. */
static inline bool heap_is_there(const struct heap *heap)
{
	return heap->n_processes > 0;
}

/* The amounts of a stack that can be shown. */
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

/* Name in options; NULL: the metric has none. */
const char *heap_metric_name(enum heap_metric metric);
