/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A thread and its ring. */
#pragma once

#include "preload-source/injected/connection.h"
#include "preload-source/injected/walk.h"

enum {
	THREAD_OUTSIDE,
	THREAD_RECORDING,  /* in our code */
	THREAD_ALLOCATING, /* in the allocator, which may call our hooks itself */
};

struct thread {
	uint32_t epoch; /* connection.epoch that all other fields belong to */
	uint32_t where; /* THREAD_… */
	struct heap_ring *ring;
	struct scratch *scratch;
	struct stack_own *stack;  /* the thread's own; other threads may mark it as lost */
	bool has_lost_stack;	  /* permanent, with any ring */
	uint64_t head, tail;	  /* of the ring: our head, and the reader's tail as last read */
	int64_t bytes_left;	  /* until the next sample: smaller calls are skipped */
	int64_t noted_bytes_left; /* the same with HEAP_ADAPT, where all calls are noted */
	uint64_t random;
	uint64_t sampling;	  /* the mean as last recorded */
	struct heap_lost emitted; /* the ring's losses that are recorded */
	uint32_t n_refused;	  /* calls that found no ring */
	bool has_given_up;	  /* drops records until a quarter of the ring is free */
	bool has_no_clock;	  /* drops records for good, as each needs a time */
};

/* Private data of a ring's writer. It outlives threads, as the ring does. */
struct scratch {
	struct walker walker;
	uint64_t stacks[HEAP_SLOTS]; /* by slot: hash of its stack, 0: none */
	uint32_t generation;	     /* heap_region.generation that all of it is valid for */
};

extern __thread struct thread thread __attribute__((tls_model("initial-exec")));

/* Claims a ring for this thread; false: it is not recorded, or there is no ring. */
bool thread_attach(void);

/* Whether to record this call; if so, thread_leave() must follow. */
static inline bool thread_enter(void)
{
	if (__builtin_expect(thread.where != THREAD_OUTSIDE, 0)) {
		/* The allocator called itself (not counted), or a signal handler interrupted us. */
		if (thread.where == THREAD_RECORDING && thread.ring)
			thread.ring->n_nested++;
		return false;
	}
	if (__builtin_expect(thread.epoch != connection->epoch || !thread.epoch, 0) &&
	    !thread_attach())
		return false;
	thread.where = THREAD_RECORDING;
	return true;
}

static inline void thread_leave(void)
{
	thread.where = THREAD_OUTSIDE;
}

/* Around calls of the allocator. */
static inline void thread_allocating(void)
{
	thread.where = THREAD_ALLOCATING;
}

static inline void thread_recording(void)
{
	thread.where = THREAD_RECORDING;
}

/* Space for a record of `n` words after the committed ones; NULL: no room. */
uint64_t *thread_reserve_slowly(uint32_t n);

static inline uint64_t *thread_reserve(uint32_t n)
{
	uint32_t at = thread.head & (HEAP_RING_WORDS - 1);

	if (__builtin_expect(at + n > HEAP_RING_WORDS ||
				     thread.head + n - thread.tail > HEAP_RING_WORDS ||
				     thread.has_given_up,
			     0))
		return thread_reserve_slowly(n);
	return thread.ring->words + at;
}

/* Wakes the reader if the ring is a third full. */
void thread_look_how_full(void);

/* Publishes the record to the reader. */
static inline void thread_commit(uint32_t n)
{
	uint64_t was = thread.head;

	thread.head += n;
	__atomic_store_n(&thread.ring->head, thread.head, __ATOMIC_RELEASE);
	if (__builtin_expect((was ^ thread.head) & HEAP_RING_STEP, 0))
		thread_look_how_full();
}

/* Marks stacks as lost that may contain this memory, as it becomes unreadable or other memory. */
void thread_lose_stacks(const void *address, size_t size);

/* Clears the scratch, as code may have been unmapped. */
void thread_forget(void);

/* The thread may not read the TSC any more: from now on its calls are counted as lost. */
void thread_lose_clock(void);

uint64_t thread_monotonic(void);

/* The time of a record: not before what precedes it in program order. */
static inline uint64_t thread_time(void)
{
#ifdef __x86_64__
	if (__builtin_expect(connected.region->clock == HEAP_CLOCK_TSC, 1)) {
		/* RDTSC alone may execute before earlier instructions (Intel SDM 2B). */
		__builtin_ia32_lfence();
		return __builtin_ia32_rdtsc() & HEAP_TIME_MASK;
	}
#endif
	return thread_monotonic() & HEAP_TIME_MASK;
}
