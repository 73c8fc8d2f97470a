/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ring buffer of a perf event (perf_event_open(2), "MMAP layout"), read in place. Records
 * stay where the kernel put them, and may be borrowed, until ring_release(): only then may the
 * kernel write there again. A ring that was never opened (its CPU is offline) is empty.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RING_RECORD_MAX = 65536, /* a record's size has 16 bits */
	RING_SIDEBAND_MAX =
		8192, /* no record of side-band is larger: a path has 4096 bytes at most */
};

#define RING_NEVER_FILLED UINT64_MAX

struct ring {
	int fd; /* owned */
	struct perf_event_mmap_page *page;
	char *data;
	uint64_t size;	   /* of the data: a power of two */
	uint64_t position; /* of the next record */
	uint64_t head;	   /* how far the kernel had written when we looked */
	/* Behind it there was no room for some record of side-band when we looked, or gave room. */
	uint64_t filled_at;
	char *wrapped; /* a record that goes over the end of the ring, in one piece */
};

/*
 * Maps a ring of `size` bytes (a power of two). Takes `fd` over. 0 or -errno; -ENOBUFS: it is more
 * locked memory than this user may have (perf_event_mlock_kb for each CPU, then RLIMIT_MEMLOCK).
 */
int ring_open(struct ring *ring, int fd, size_t size);
void ring_close(struct ring *ring);

/* Looks how far the kernel has come; ring_peek() goes no further than that. */
void ring_look(struct ring *ring);

/*
 * The next record, NULL: none; stays valid until ring_release(). Only one record can go over the
 * end between two releases, so one `wrapped` is enough.
 */
const struct perf_event_header *ring_peek(struct ring *ring);
void ring_advance(struct ring *ring, const struct perf_event_header *header);

/* Whether there was no room for some record of side-band when we looked. */
bool ring_is_filled(const struct ring *ring);

/* Gives what was read back to the kernel. */
void ring_release(struct ring *ring);
