/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A thread and its ring. */
#pragma once

#include "preload-source/injected/connection.h"
#include "preload-source/injected/walk.h"

enum {
	THREAD_OUTSIDE,
	THREAD_RECORDING,  /* in code of ours */
	THREAD_ALLOCATING, /* in the allocator, which may call itself by the names that we have
			      taken */
};

struct thread {
	uint32_t epoch; /* of the connection that all else belongs to */
	uint32_t where; /* THREAD_… */
	struct heap_ring *ring;
	struct scratch *scratch;
	struct stack_own *stack;  /* that the thread was given; others may tell that it is lost */
	bool has_lost_stack;	  /* for good, with any ring */
	uint64_t head, tail;	  /* of the ring: ours, and where the reader was when last looked */
	int64_t bytes_left;	  /* until the next sample: calls of fewer pass unseen */
	int64_t noted_bytes_left; /* the same where each is seen, as it is to be noted */
	uint64_t random;
	uint64_t sampling;	  /* as last told */
	struct heap_lost emitted; /* of the ring's, in a record */
	uint32_t n_refused;	  /* calls since no ring was to be had */
	bool has_given_up;	  /* on room, until a quarter of the ring is free; or for good: */
	bool has_no_clock;	  /* a record needs its time */
};

/* What only the writer of a ring needs. It outlives threads, as the ring does. */
struct scratch {
	struct walker walker;
	uint64_t stacks[HEAP_SLOTS]; /* by slot: the hash of its stack, 0: none */
	uint32_t generation;	     /* of heap_region, that all of it holds for */
};

extern __thread struct thread thread __attribute__((tls_model("initial-exec")));

/* Gets a ring for this thread, if it is to have one. */
bool thread_attach(void);

/* Whether this call is to be recorded: then thread_leave() follows. */
static inline bool thread_enter(void)
{
	if (__builtin_expect(thread.where != THREAD_OUTSIDE, 0)) {
		/* The allocator calls itself; or a signal handler has come in between. */
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

/* Room for a record of so many words, behind what is committed; NULL: there is none. */
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

/* The reader sees it from here on. */
static inline void thread_commit(uint32_t n)
{
	uint64_t was = thread.head;

	thread.head += n;
	__atomic_store_n(&thread.ring->head, thread.head, __ATOMIC_RELEASE);
	if (__builtin_expect((was ^ thread.head) & HEAP_RING_STEP, 0))
		thread_look_how_full();
}

/* Memory that may be a part of any stack cannot be read from now on, or is another one. */
void thread_lose_stacks(const void *address, size_t size);

/* What the scratch remembers of code may not hold any more. */
void thread_forget(void);

/* The processor's counter may not be read here any more: from now on all is counted as lost. */
void thread_lose_clock(void);

uint64_t thread_monotonic(void);

/* The time of a record: not before what came before it in the program. */
static inline uint64_t thread_time(void)
{
#ifdef __x86_64__
	if (__builtin_expect(connected.region->clock == HEAP_CLOCK_TSC, 1)) {
		/* Else it may be read before what is in front of it has happened (Intel SDM 2B). */
		__builtin_ia32_lfence();
		return __builtin_ia32_rdtsc() & HEAP_TIME_MASK;
	}
#endif
	return thread_monotonic() & HEAP_TIME_MASK;
}
