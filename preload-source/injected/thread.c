/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload-source/injected/filtered.h"
#include "preload-source/injected/hooks.h"
#include "preload-source/injected/sampling.h"
#include "preload-source/injected/sanitizer.h"
#include "preload-source/injected/system-call.h"

enum {
	CLAIM_AGAIN = 1024, /* calls between requests for a ring */
	WAIT_MS = 100,	    /* per futex(2) call */
};

/* Of each ring's current or last thread. */
static struct stack_own stacks[HEAP_RINGS_MAX];

__thread struct thread thread __attribute__((tls_model("initial-exec")));

uint64_t thread_monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static struct heap_ring *claim(uint32_t tid, uint32_t *ret_i)
{
	uint32_t first = __atomic_fetch_add(&connected.region->n_claims, 1, __ATOMIC_RELAXED);

	for (uint32_t k = 0; k < HEAP_RINGS_MAX; k++) {
		uint32_t i = (first + k) % HEAP_RINGS_MAX, nobody = 0;
		struct heap_ring *ring = heap_ring_at(connected.region, i);

		if (__atomic_compare_exchange_n(&ring->owner, &nobody, tid, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED)) {
			*ret_i = i;
			return ring;
		}
	}
	return NULL;
}

/* Before glibc 2.34 only programs with libpthread have it. */
extern __typeof__(pthread_getcpuclockid) pthread_getcpuclockid __attribute__((weak));

/*
 * The thread's TID; 0: unknown. Under a seccomp filter it is taken from the clock ID of the
 * thread's CPU time (MAKE_THREAD_CPUCLOCK of include/linux/posix-timers.h).
 */
static uint32_t find_tid(void)
{
	enum { KIND_BITS = 3 };
	clockid_t clock;

	if (!filtered_is())
		return system_call(SYS_gettid, 0);
	if (!pthread_getcpuclockid || pthread_getcpuclockid(pthread_self(), &clock))
		return 0;
	return ~(clock >> KIND_BITS);
}

/* A request makes the reader free the rings of exited threads. */
static struct heap_ring *claim_patiently(uint32_t *ret_i)
{
	uint32_t tid = find_tid();
	struct heap_ring *ring = tid ? claim(tid, ret_i) : NULL;

	if (tid && !ring && thread.n_refused++ % CLAIM_AGAIN == 0 && connection_ask())
		ring = claim(tid, ret_i);
	return ring;
}

/* Records the thread that the ring belongs to from here on. */
static void emit_thread(void)
{
	uint64_t *record = thread_reserve(HEAP_THREAD_WORDS);

	if (!record)
		return;
	record[0] = (uint64_t)HEAP_RECORD_THREAD << HEAP_KIND_SHIFT | thread_time();
	record[1] = thread.ring->owner;
	thread_commit(HEAP_THREAD_WORDS);
}

static bool attach(void)
{
	struct heap_ring *ring;
	uint32_t i;

	if (!connection_is_recording())
		return false;
	ring = filtered_has_clock() ? claim_patiently(&i) : NULL; /* each record needs a time */
	if (!ring) {
		__atomic_fetch_add(&connected.region->n_unrecorded, 1, __ATOMIC_RELAXED);
		return false;
	}
	stacks[i] = stack_own_of_thread(ring->owner);
	stacks[i].is_lost = thread.has_lost_stack;
	thread = (struct thread){
		.epoch = connection->epoch,
		.where = THREAD_RECORDING,
		.ring = ring,
		.scratch = &connected.scratches[i],
		.stack = &stacks[i],
		.has_lost_stack = thread.has_lost_stack,
		.head = ring->head,
		.tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE),
		.random = connected.region->seed ^ (uint64_t)ring->owner * 0x9e3779b97f4a7c15ULL,
		.emitted = heap_lost_of(ring),
	};
	/* The scratch belongs to the ring, but may be outdated. */
	thread_forget();
	emit_thread();
	if (connected.region->sampling)
		sampling_emit();
	return true;
}

bool thread_attach(void)
{
	int error = errno;
	bool is_attached;

	thread.where = THREAD_RECORDING;
	thread.ring = NULL; /* the ring of another epoch may be unmapped: we were forked */
	is_attached = attach();
	thread.where = THREAD_OUTSIDE;
	errno = error;
	return is_attached;
}

/*
 * Attaches before main() can set a seccomp filter: the first allocation may come too late. Our
 * constructor is the first, so an allocator in front of us (a sanitizer that is linked statically)
 * is not initialized yet; then attaching has to wait.
 */
static __attribute__((constructor)) void attach_early(void)
{
	sanitizer_step_aside();
	if (hooks_are_first() && thread.where == THREAD_OUTSIDE && thread_enter())
		thread_leave();
}

/* All threads' stacks, as one thread may set guards between coroutines of another. */
void thread_lose_stacks(const void *address, size_t size)
{
	bool is_own = !thread.stack && stack_is_near(address, size);

	stack_lose_first(address, size);
	for (uint32_t i = 0; i < HEAP_RINGS_MAX; i++)
		if (stack_own_lose(&stacks[i], address, size) && &stacks[i] == thread.stack)
			is_own = true;
	if (is_own)
		thread.has_lost_stack = true;
}

void thread_lose_clock(void)
{
	thread.has_given_up = thread.has_no_clock = true;
}

void thread_forget(void)
{
	struct scratch *scratch = thread.scratch;

	scratch->generation = __atomic_load_n(&connected.region->generation, __ATOMIC_ACQUIRE);
	walk_forget(&scratch->walker);
	for (uint32_t i = 0; i < HEAP_SLOTS; i++)
		scratch->stacks[i] = 0;
}

static bool has_room(uint32_t n)
{
	thread.tail = __atomic_load_n(&thread.ring->tail, __ATOMIC_ACQUIRE);
	return thread.head + n - thread.tail <= HEAP_RING_WORDS;
}

void thread_look_how_full(void)
{
	thread.tail = __atomic_load_n(&thread.ring->tail, __ATOMIC_ACQUIRE);
	if (thread.head - thread.tail >= HEAP_RING_DUE)
		connection_ring_doorbell();
}

/* Sleeps until there is room, as long as the policy allows. */
static void wait_for_room(uint32_t n)
{
	const struct timespec pause = { .tv_nsec = WAIT_MS * 1000000 };
	struct heap_region *region = connected.region;
	struct heap_ring *ring = thread.ring;
	uint64_t began = thread_monotonic(), waited = 0;

	while (waited < region->block_ns && region->state == HEAP_RECORDING) {
		uint32_t n_waits = __atomic_load_n(&ring->n_waits, __ATOMIC_SEQ_CST);

		__atomic_store_n(&ring->is_waiting, 1, __ATOMIC_SEQ_CST);
		connection_ring_doorbell();
		if (has_room(n))
			break;
		system_call(SYS_futex, &ring->n_waits, FUTEX_WAIT, n_waits, &pause, NULL, 0);
		waited = thread_monotonic() - began;
	}
	__atomic_store_n(&ring->is_waiting, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->lost.blocked_ns, ring->lost.blocked_ns + waited, __ATOMIC_RELAXED);
}

/* Records what was lost at this place, once there is room; false: no room. */
static bool emit_lost(void)
{
	struct heap_lost lost = heap_lost_of(thread.ring);
	uint32_t at = thread.head & (HEAP_RING_WORDS - 1);
	uint64_t *record = thread.ring->words + at;

	if (lost.n_allocated == thread.emitted.n_allocated &&
	    lost.n_freed == thread.emitted.n_freed)
		return true;
	if (at + HEAP_LOST_WORDS > HEAP_RING_WORDS)
		return true; /* deferred: the record would cross the ring's end */
	if (!has_room(HEAP_LOST_WORDS))
		return false;
	record[0] = (uint64_t)HEAP_RECORD_LOST << HEAP_KIND_SHIFT | thread_time();
	record[1] = lost.n_allocated - thread.emitted.n_allocated;
	record[2] = lost.n_freed - thread.emitted.n_freed;
	record[3] = lost.n_bytes - thread.emitted.n_bytes;
	record[4] = lost.blocked_ns - thread.emitted.blocked_ns;
	thread.emitted = lost;
	thread_commit(HEAP_LOST_WORDS);
	return true;
}

/* Skips to the ring's beginning if its end is too near. The caller has checked the room. */
static void skip_end(uint32_t n)
{
	uint32_t at = thread.head & (HEAP_RING_WORDS - 1);

	if (at + n <= HEAP_RING_WORDS)
		return;
	thread.ring->words[at] = (uint64_t)HEAP_RECORD_SKIP << HEAP_KIND_SHIFT;
	thread.head += HEAP_RING_WORDS - at;
}

uint64_t *thread_reserve_slowly(uint32_t n)
{
	uint32_t left = HEAP_RING_WORDS - (thread.head & (HEAP_RING_WORDS - 1));
	uint32_t needed = n > left ? left + n : n;
	int error = errno;

	if (n > HEAP_RING_WORDS / 2 || thread.has_no_clock)
		return NULL;
	if (connected.region->state != HEAP_RECORDING)
		connection_end();
	if (thread.has_given_up && !has_room(HEAP_RING_WORDS / 4))
		return NULL;
	if (!has_room(needed) && connected.region->when_full == HEAP_BLOCK &&
	    !thread.has_given_up && !filtered_is())
		wait_for_room(needed);
	errno = error;
	thread.has_given_up = !has_room(needed) || !emit_lost();
	/* The LOST record may have taken some of the room. */
	left = HEAP_RING_WORDS - (thread.head & (HEAP_RING_WORDS - 1));
	if (thread.has_given_up || !has_room(n > left ? left + n : n))
		return NULL;
	skip_end(n);
	return thread.ring->words + (thread.head & (HEAP_RING_WORDS - 1));
}
