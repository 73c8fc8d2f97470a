/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ring buffer of a perf event (perf_event_open(2), "MMAP layout"), read in place. Records stay
 * where the kernel wrote them, and may be borrowed, until ring_release() lets it write there again.
 * A ring that was never opened (its CPU is offline) is empty.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RING_RECORD_MAX = 65536,  /* a record's size has 16 bits */
	RING_SIDEBAND_MAX = 8192, /* of a side-band record: a path has 4096 bytes at most */
};

#define RING_NEVER_FILLED UINT64_MAX
#define RING_NOTHING_HELD UINT64_MAX

struct ring {
	int fd; /* owned */
	struct perf_event_mmap_page *page;
	char *data;
	uint64_t size;	   /* of the data: a power of two */
	uint64_t position; /* of the next record */
	uint64_t head;	   /* up to where the kernel had written at ring_look() */
	/* The head when a look or a release last found no room for a side-band record. */
	uint64_t filled_at;
	/* Records from this position on are still in use, though they were taken. */
	uint64_t held;
	char *wrapped; /* a contiguous copy of a record that wraps around the ring's end */
};

/*
 * Maps a ring of `size` bytes (a power of two). Takes `fd` over. 0 or -errno; -ENOBUFS: more locked
 * memory than this user may have (perf_event_mlock_kb for each CPU, then RLIMIT_MEMLOCK).
 */
int ring_open(struct ring *ring, int fd, size_t size);
void ring_close(struct ring *ring);

/* Reads up to where the kernel has written; ring_peek() goes no further. */
void ring_look(struct ring *ring);

/*
 * The next record or NULL; valid until ring_release(). Only one record can wrap around between two
 * releases, so one `wrapped` is enough.
 */
const struct perf_event_header *ring_peek(struct ring *ring);
void ring_advance(struct ring *ring, const struct perf_event_header *header);

/* Whether a side-band record had no room at the last ring_look(). */
bool ring_is_filled(const struct ring *ring);

/* Lets the kernel overwrite what was read and is not held. */
void ring_release(struct ring *ring);
