/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The memory that a traced program (libstackpipe-preload.so) and its reader (preload-source) share,
 * and how the two find each other. It belongs to the reader: it makes and seals it, and drains what
 * was committed however the program has ended. Neither believes what the other side can write: each
 * number is read once, and checked.
 *
 *   rings   of one process: heap_region, then a ring a thread. Written by the program.
 *   tables  of all processes: unwind tables, and a list of mappings a process. Written by the
 *           reader; sealed, so that nobody else can.
 *   bell    of all processes: one word, on which the reader sleeps.
 *
 * A ring has one writer (the thread that has claimed it) and one reader. Positions count words of
 * 64 bits and never wrap. A record lies whole: where the end of the ring is too near, SKIP goes on
 * at its beginning.
 */
#pragma once

#include <stdint.h>

#include "common/unwind/unwind-rule.h"

#define HEAP_ENVIRONMENT                                                                           \
	"STACKPIPE_HEAP" /* "<address of the socket>:<token, 32 digits>:<filters>" */
#define HEAP_LIBRARY "libstackpipe-preload.so"
#define HEAP_MAGIC 0x3170616568707473ULL /* "stpheap1" */

enum {
	HEAP_VERSION = 3,
	HEAP_RINGS_MAX = 128,		       /* threads of a process at a time */
	HEAP_RING_WORDS = 1 << 17,	       /* 1 MiB; a power of two */
	HEAP_RING_STEP = HEAP_RING_WORDS / 16, /* how often a writer looks how full its ring is */
	HEAP_RING_DUE = HEAP_RING_WORDS / 3,   /* then the reader is woken: bursts find room */
	HEAP_PAGE = 4096,
	HEAP_SLOT_BITS = 14,
	HEAP_SLOTS = 1 << HEAP_SLOT_BITS, /* stacks that a ring's writer knows by number */
	HEAP_SLOT_RAW = HEAP_SLOTS,	  /* instead: the raw stack that came last in this ring */
	HEAP_FRAMES_MAX = 512,
	HEAP_RAW_BYTES_MAX = 32768,	      /* of stack */
	HEAP_RAW_REGISTERS = 8,		      /* rip, rsp, rbp, rbx, r12 to r15: what calls keep */
	HEAP_MAPPINGS_MAX = 1536,	      /* of a process, that can be told to it */
	HEAP_TABLES_SIZE = 128 * 1024 * 1024, /* of address space; what is used of it is less */
	HEAP_ADDRESS_BITS = 48,
	HEAP_ADAPT_FIRST = 4096,  /* mean bytes between samples */
	HEAP_ADAPT_MAX = 1 << 20, /* so few that rings hold those of some seconds */
	HEAP_REPLY_MS = 3000,	  /* a program waits no longer to be let in */
};

/*
 * What no program has that tells the truth: bytes in a block (x86-64 has no more addresses) and in
 * all that a process has ever allocated; lost calls of a thread (two days of nothing else), and
 * their bytes.
 */
#define HEAP_SIZE_MAX (1ULL << 47)
#define HEAP_TOTAL_MAX (1ULL << 60)
#define HEAP_LOST_MAX (1ULL << 44)
#define HEAP_LOST_BYTES_MAX (1ULL << 56)

/* How a stack of a ring ended. */
enum heap_stack_end {
	HEAP_END_COMPLETE = 1,
	HEAP_END_NO_UNWIND_INFO,
	HEAP_END_FRAME_LIMIT,
};

/* What times are read from. */
enum heap_clock {
	HEAP_CLOCK_TSC = 1,   /* the processor's, the same on all of them, 60 bits of it */
	HEAP_CLOCK_MONOTONIC, /* nanoseconds of CLOCK_MONOTONIC */
};

enum heap_when_full {
	HEAP_BLOCK = 1, /* at most heap_region.block_ns at a time */
	HEAP_DROP,
	HEAP_ADAPT, /* sample, and more thinly each time that rings are three quarters full */
};

/*
 * The records of a ring. The first word: the kind in the upper 4 bits, below it the time, unless it
 * is said otherwise. The rest is words, too.
 */
enum heap_record {
	HEAP_RECORD_ALLOCATED = 1, /* address | slot << 48; size */
	HEAP_RECORD_FREED,	   /* address: it will be freed now */
	HEAP_RECORD_RELEASED,	   /* address: realloc(3) begins with it */
	HEAP_RECORD_RESTORED,	   /* address: realloc(3) has failed, and it is as it was */
	HEAP_RECORD_MAPPED,	   /* address | slot << 48; size */
	HEAP_RECORD_UNMAPPED,	   /* address; size: it will be unmapped now, or be moved */
	HEAP_RECORD_KEPT,	   /* address; size: that has failed */
	HEAP_RECORD_STACK,	   /* generation << 48 | end << 40 | slot << 16 | n frames; n return
					addresses: the slot's */
	HEAP_RECORD_RAW,    /* generation << 32 | bytes; the caller's address, registers, bytes
				 from the sp on, whole words */
	HEAP_RECORD_THREAD, /* tid: what follows is of this thread */
	HEAP_RECORD_LOST, /* allocations, frees, bytes, nanoseconds blocked, since the last of these
			   */
	HEAP_RECORD_SAMPLING, /* mean bytes between samples from now on; 0: everything */
	HEAP_RECORD_SKIP,     /* nothing up to the end of the ring */
};

enum {
	HEAP_KIND_SHIFT = 60,
	HEAP_GENERATION_BITS = 12, /* of heap_region.generation, in records */
	HEAP_ALLOCATED_WORDS = 3,
	HEAP_FREED_WORDS = 2,
	HEAP_UNMAPPED_WORDS = 3,
	HEAP_THREAD_WORDS = 2,
	HEAP_LOST_WORDS = 5,
	HEAP_SAMPLING_WORDS = 2,
	HEAP_STACK_WORDS = 1,			 /* and the frames */
	HEAP_RAW_WORDS = 3 + HEAP_RAW_REGISTERS, /* and the stack */
};

#define HEAP_TIME_MASK ((1ULL << HEAP_KIND_SHIFT) - 1)
#define HEAP_GENERATION_MASK ((1U << HEAP_GENERATION_BITS) - 1)
#define HEAP_ADDRESS_MASK ((1ULL << HEAP_ADDRESS_BITS) - 1)

/* What a ring could not take. Only ever counted up. */
struct heap_lost {
	uint64_t n_allocated, n_freed, n_bytes, blocked_ns;
};

/* A thread's ring. Each side has its own cache lines. */
struct heap_ring {
	/* The writer's */
	uint64_t head __attribute__((aligned(64))); /* all below it is committed */
	uint32_t owner;				    /* tid of who has claimed it, 0: nobody */
	struct heap_lost lost;
	/* Calls that came while one was being recorded, from a signal handler or the allocator. */
	uint64_t n_nested;
	/* The reader's */
	uint64_t tail __attribute__((aligned(64))); /* all below it has been read */
	uint32_t n_waits;			    /* futex(2): changes when there is room again */
	uint32_t is_waiting;			    /* the writer's, for that */
	uint64_t words[] __attribute__((aligned(64)));
};

/* What is read of memory that another one writes is read once. */
static inline struct heap_lost heap_lost_of(const struct heap_ring *ring)
{
	return (struct heap_lost){
		.n_allocated = __atomic_load_n(&ring->lost.n_allocated, __ATOMIC_RELAXED),
		.n_freed = __atomic_load_n(&ring->lost.n_freed, __ATOMIC_RELAXED),
		.n_bytes = __atomic_load_n(&ring->lost.n_bytes, __ATOMIC_RELAXED),
		.blocked_ns = __atomic_load_n(&ring->lost.blocked_ns, __ATOMIC_RELAXED),
	};
}

static inline int heap_lost_is_possible(const struct heap_lost *lost)
{
	return lost->n_allocated <= HEAP_LOST_MAX && lost->n_freed <= HEAP_LOST_MAX &&
	       lost->n_bytes <= HEAP_LOST_BYTES_MAX;
}

enum heap_state {
	HEAP_RECORDING = 1,
	HEAP_ENDED, /* the reader wants no more */
};

/* What begins the memory of a process's rings. */
struct heap_region {
	uint64_t magic;
	uint32_t version, clock, when_full, max_frames;
	uint64_t block_ns, sampling, seed;
	uint32_t state;	       /* enum heap_state */
	uint32_t mappings;     /* whether they are recorded, too */
	uint32_t n_claims;     /* hint where to look for a free ring */
	uint64_t n_unrecorded; /* calls that came while there was no ring for them */
	/*
	 * How often code has gone: what an address of code means holds for one of these. Counted up
	 * by the program, as is how many of its threads are about it: who looks at what is mapped
	 * meanwhile cannot tell whether it is from before or after.
	 */
	uint32_t generation __attribute__((aligned(64)));
	uint32_t n_unmapping;
	/* The program counts up what it wants to have looked at; the reader says how far it is. */
	uint32_t wanted __attribute__((aligned(64)));
	uint32_t answered __attribute__((aligned(64))); /* futex(2) */
};

static inline uint64_t heap_ring_size(void)
{
	return HEAP_PAGE + (uint64_t)HEAP_RING_WORDS * sizeof(uint64_t);
}

static inline uint64_t heap_region_size(void)
{
	return HEAP_PAGE + HEAP_RINGS_MAX * heap_ring_size();
}

static inline struct heap_ring *heap_ring_at(void *region, uint32_t i)
{
	return (struct heap_ring *)((char *)region + HEAP_PAGE + i * heap_ring_size());
}

/*
 * Executable memory of a process: `table` is where the unwind table of its file begins in `tables`.
 * The list of a process is replaced as a whole: it is valid if `version` is even and has not
 * changed meanwhile.
 */
enum heap_mapping_kind {
	HEAP_MAPPING_TABLE = 1,
	HEAP_MAPPING_BARE,	/* a file without unwind information */
	HEAP_MAPPING_ANONYMOUS, /* of a JIT compiler, perhaps with frame pointers */
	HEAP_MAPPING_UNKNOWN,	/* the reader has to look at its stacks */
};

struct heap_mapping {
	uint64_t start, end;
	uint64_t offset;	    /* of `start` in the file */
	uint64_t table, table_size; /* bytes */
	uint64_t kind;		    /* enum heap_mapping_kind */
};

struct heap_mappings {
	uint32_t version, n;
	uint32_t answers; /* to this much of heap_region.wanted */
	uint32_t padding;
	struct heap_mapping list[HEAP_MAPPINGS_MAX]; /* in order */
};

/* What a program comes for. */
enum heap_purpose {
	HEAP_TO_BE_TRACED = 1,
	HEAP_HAS_SANITIZER, /* it goes on without us, and waits for no answer */
};

/* What a program says first, and what it is answered: with descriptors of rings, tables, bell. */
struct heap_hello {
	uint64_t magic;
	uint32_t version, pid;	   /* in its own namespace */
	uint32_t purpose, padding; /* enum heap_purpose */
	uint64_t token[2];
};

enum heap_answer {
	HEAP_WELCOME = 1,
	HEAP_REFUSED, /* a process that nobody has asked for */
};

struct heap_welcome {
	uint64_t magic;
	uint32_t answer, follows; /* whether children are wanted, too */
	uint64_t mappings;	  /* where this process's list begins in `tables` */
};
