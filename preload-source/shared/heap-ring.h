/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The memory that a traced program (libstackpipe-preload.so) shares with its reader
 * (preload-source), and how the program connects. The reader makes and seals the memory, so it can
 * drain all committed records however the program ended. Neither side trusts what the other can
 * write: each number is read once and checked.
 *
 *   rings   of one process: heap_region, then a ring per thread. Written by the program.
 *   tables  of all processes: unwind tables, and a list of mappings per process. Sealed: only the
 *           reader can write.
 *   bell    of all processes: a word on which the reader sleeps.
 *
 * A ring has one writer (the thread that claimed it) and one reader. Positions count words of 64
 * bits and never wrap. Records are contiguous: one that does not fit before the ring's end is
 * preceded by SKIP and begins at the ring's start.
 */
#pragma once

#include <stdint.h>

#include "common/unwind/unwind-rule.h"

#define HEAP_ENVIRONMENT                                                                           \
	"STACKPIPE_HEAP" /* "<socket>:<token, 32 hex digits>:<number of seccomp filters>" */
#define HEAP_LIBRARY "libstackpipe-preload.so"
#define HEAP_MAGIC 0x3170616568707473ULL /* "stpheap1" */

enum {
	HEAP_VERSION = 3,
	HEAP_RINGS_MAX = 128,		       /* concurrent threads of a process */
	HEAP_RING_WORDS = 1 << 17,	       /* 1 MiB; a power of two */
	HEAP_RING_STEP = HEAP_RING_WORDS / 16, /* a writer checks the fill level this often */
	HEAP_RING_DUE = HEAP_RING_WORDS / 3,   /* wakes the reader: bursts find room */
	HEAP_PAGE = 4096,
	HEAP_SLOT_BITS = 14,
	HEAP_SLOTS = 1 << HEAP_SLOT_BITS, /* numbered stacks of a ring */
	HEAP_SLOT_RAW = HEAP_SLOTS,	  /* instead of a slot: the latest raw stack of this ring */
	HEAP_FRAMES_MAX = 512,
	HEAP_RAW_BYTES_MAX = 32768,	      /* bytes of stack */
	HEAP_RAW_REGISTERS = 8,		      /* rip, rsp, and callee-saved rbp, rbx, r12 to r15 */
	HEAP_MAPPINGS_MAX = 1536,	      /* published to a process */
	HEAP_TABLES_SIZE = 128 * 1024 * 1024, /* bytes of address space, only partly used */
	HEAP_ADDRESS_BITS = 48,
	HEAP_ADAPT_FIRST = 4096,  /* first mean bytes between samples */
	HEAP_ADAPT_MAX = 1 << 20, /* largest mean: rings then hold some seconds of samples */
	HEAP_REPLY_MS = 3000,	  /* a program's timeout for heap_welcome */
};

/*
 * Limits that no honest program exceeds: bytes of a block (x86-64 has no more addresses) and of all
 * allocations ever; lost calls of a thread (two days of nothing else), and their bytes.
 */
#define HEAP_SIZE_MAX (1ULL << 47)
#define HEAP_TOTAL_MAX (1ULL << 60)
#define HEAP_LOST_MAX (1ULL << 44)
#define HEAP_LOST_BYTES_MAX (1ULL << 56)

/* How a stack in a ring ended. */
enum heap_stack_end {
	HEAP_END_COMPLETE = 1,
	HEAP_END_NO_UNWIND_INFO,
	HEAP_END_FRAME_LIMIT,
};

/* The clock of the records' times. */
enum heap_clock {
	HEAP_CLOCK_TSC = 1,   /* time-stamp counter, the same on all CPUs, 60 bits of it */
	HEAP_CLOCK_MONOTONIC, /* nanoseconds of CLOCK_MONOTONIC */
};

enum heap_when_full {
	HEAP_BLOCK = 1, /* wait for room, at most heap_region.block_ns at a time */
	HEAP_DROP,
	HEAP_ADAPT, /* sample, at half the rate each time that rings are three quarters full */
};

/*
 * Records of a ring, in words. The first word has the kind in its upper 4 bits and, unless noted
 * otherwise, the time below it.
 */
enum heap_record {
	HEAP_RECORD_ALLOCATED = 1, /* address | slot << 48; size */
	HEAP_RECORD_FREED,	   /* address; before free(3) */
	HEAP_RECORD_RELEASED,	   /* address; before realloc(3) */
	HEAP_RECORD_RESTORED,	   /* address; realloc(3) failed, so the block is still allocated */
	HEAP_RECORD_MAPPED,	   /* address | slot << 48; size */
	HEAP_RECORD_UNMAPPED,	   /* address; size; before munmap(2) or mremap(2) */
	HEAP_RECORD_KEPT,	   /* address; size; that call failed */
	HEAP_RECORD_STACK,  /* no time: generation << 48 | end << 40 | slot << 16 | n; n return
			       addresses */
	HEAP_RECORD_RAW,    /* generation << 32 | bytes; caller's address; registers; whole words of
			       stack from the sp on */
	HEAP_RECORD_THREAD, /* tid of the records that follow */
	HEAP_RECORD_LOST,   /* allocations, frees, bytes, nanoseconds blocked since the last LOST */
	HEAP_RECORD_SAMPLING, /* mean bytes between samples from here on; 0: everything */
	HEAP_RECORD_SKIP,     /* unused up to the end of the ring */
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
	HEAP_STACK_WORDS = 1,			 /* plus the frames */
	HEAP_RAW_WORDS = 3 + HEAP_RAW_REGISTERS, /* plus the stack */
};

#define HEAP_TIME_MASK ((1ULL << HEAP_KIND_SHIFT) - 1)
#define HEAP_GENERATION_MASK ((1U << HEAP_GENERATION_BITS) - 1)
#define HEAP_ADDRESS_MASK ((1ULL << HEAP_ADDRESS_BITS) - 1)

/* What a ring had no room for. These counters only grow. */
struct heap_lost {
	uint64_t n_allocated, n_freed, n_bytes, blocked_ns;
};

/* A thread's ring. Each side has its own cache lines. */
struct heap_ring {
	/* Written by the thread. */
	uint64_t head __attribute__((aligned(64))); /* all words below it are committed */
	uint32_t owner;				    /* tid of the thread that claimed it; 0: free */
	struct heap_lost lost;
	/* Calls from a signal handler that interrupted a recording; not recorded. */
	uint64_t n_nested;
	/* Written by the reader, except is_waiting. */
	uint64_t tail __attribute__((aligned(64))); /* all words below it were read */
	uint32_t n_waits;    /* futex(2): incremented when there is room again */
	uint32_t is_waiting; /* the thread waits for that */
	uint64_t words[] __attribute__((aligned(64)));
};

/* Reads each counter once, as the other side may write it at any time. */
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
	HEAP_ENDED, /* the reader has stopped */
};

/* The header of a process's rings. */
struct heap_region {
	uint64_t magic;
	uint32_t version, clock, when_full, max_frames;
	uint64_t block_ns, sampling, seed;
	uint32_t state;	       /* enum heap_state */
	uint32_t mappings;     /* whether mmap(2) etc. are recorded, too */
	uint32_t n_claims;     /* hint where to look for a free ring */
	uint64_t n_unrecorded; /* calls that found no free ring */
	/*
	 * How often code was unmapped: a code address has one meaning per generation. Threads that
	 * are unmapping code are counted, too: mappings that are read meanwhile may be old or new
	 * ones.
	 */
	uint32_t generation __attribute__((aligned(64)));
	uint32_t n_unmapping;
	/* The latest request of the program to reread its mappings, and the latest one answered. */
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
 * Executable memory of a process: `table` is the offset of its file's unwind table in `tables`. A
 * process's list is replaced as a whole: valid if `version` is even and did not change meanwhile.
 */
enum heap_mapping_kind {
	HEAP_MAPPING_TABLE = 1,
	HEAP_MAPPING_BARE,	/* a file without unwind information */
	HEAP_MAPPING_ANONYMOUS, /* of a JIT compiler, perhaps with frame pointers */
	HEAP_MAPPING_UNKNOWN,	/* its stacks are sent raw */
};

struct heap_mapping {
	uint64_t start, end;
	uint64_t offset;	    /* of `start` in the file */
	uint64_t table, table_size; /* bytes */
	uint64_t kind;		    /* enum heap_mapping_kind */
};

struct heap_mappings {
	uint32_t version, n;
	uint32_t answers; /* the heap_region.wanted that it answers */
	uint32_t padding;
	struct heap_mapping list[HEAP_MAPPINGS_MAX]; /* by address */
};

/* Why a program connects. */
enum heap_purpose {
	HEAP_TO_BE_TRACED = 1,
	HEAP_HAS_SANITIZER, /* it runs untraced and expects no answer */
};

/* A program's first message; its answer, which has descriptors of rings, tables and bell. */
struct heap_hello {
	uint64_t magic;
	uint32_t version, pid;	   /* in the program's PID namespace */
	uint32_t purpose, padding; /* enum heap_purpose */
	uint64_t token[2];
};

enum heap_answer {
	HEAP_WELCOME = 1,
	HEAP_REFUSED, /* not to be traced, or tracing failed */
};

struct heap_welcome {
	uint64_t magic;
	uint32_t answer, follows; /* follows: whether children are traced, too */
	uint64_t mappings;	  /* offset of the process's list in `tables` */
};
