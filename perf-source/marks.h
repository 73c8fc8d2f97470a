/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Marks that programs and scripts set: each datagram to a socket at a path is a mark.
 *
 *	NAME				happens now
 *	NAME TAB TEXT			the same, with a text
 *	+NANOSECONDS TAB NAME …		has taken so long, and ends now
 *
 * The kernel adds each datagram's time and sender (unix(7), SCM_CREDENTIALS; socket(7),
 * SO_TIMESTAMPNS). A thread reads them, as the socket holds only net.unix.max_dgram_qlen (10):
 * further senders block, unless theirs is a nonblocking socket.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/source/processes.h"
#include "common/stage/stage.h"
#include "perf-source/perf/side-thread.h"

enum {
	MARKS_WAITING_MAX = 4096, /* not yet emitted; more are refused and counted */
	MARK_SIZE_MAX = 1024,	  /* bytes of a datagram; a longer one is truncated */
};

struct mark {
	uint64_t time, duration;
	uint32_t pid;
	char name[40], text[MARK_SIZE_MAX + 1];
};

struct marks {
	int fd;
	const char *path; /* borrowed; removed at the end */
	uint64_t ahead;	  /* of CLOCK_REALTIME (the kernel's stamps) over CLOCK_MONOTONIC */
	struct side_thread thread;
	pthread_mutex_t lock;
	struct mark *waiting; /* a ring */
	size_t first, n;
	uint64_t n_emitted, n_refused;
	uint64_t oldest; /* time of the first waiting one; UINT64_MAX: none */
};

/* Opens nothing yet. */
void marks_init(struct marks *marks);
void marks_deinit(struct marks *marks);

/* Makes the socket, writable for all who reach the path. 0 or -errno: -EADDRINUSE: it exists. */
int marks_open(struct marks *marks, const char *path);

/* Starts the thread that reads. 0 or -errno. */
int marks_start(struct marks *marks, uint64_t realtime_ahead);
void marks_stop(struct marks *marks);

/* Whether a mark up to `until` waits. Takes no lock, as it is called for each record. */
static inline bool marks_have(const struct marks *marks, uint64_t until)
{
	return __atomic_load_n(&marks->oldest, __ATOMIC_RELAXED) <= until;
}

/* Emits the marks up to a time. 0 or -errno of the output. */
int marks_emit(struct marks *marks, struct stage *stage, struct processes *processes,
	       uint64_t until);

/* Parses a datagram; false: it is no mark. `text` ends with a zero byte, and is changed. */
bool marks_parse(char *text, struct mark *ret);
