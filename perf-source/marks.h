/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Marks that programs and scripts set themselves: a socket of datagrams at a path, each a mark.
 *
 *	NAME				this happens now
 *	NAME TAB TEXT			the same, with more to say of it
 *	+NANOSECONDS TAB NAME …		this has taken so long, and is over now
 *
 * The kernel says when each came in, and from whom (unix(7), SCM_CREDENTIALS; socket(7),
 * SO_TIMESTAMPNS). A thread reads them, as no more than net.unix.max_dgram_qlen (10) wait in the
 *socket: who sends more waits, if he does not say otherwise.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/source/processes.h"
#include "common/stage/stage.h"
#include "perf-source/perf/side-thread.h"

enum {
	MARKS_WAITING_MAX = 4096, /* that are not told yet; more are refused, and counted */
	MARK_SIZE_MAX = 1024,	  /* bytes of a datagram; a longer one is cut */
};

struct mark {
	uint64_t time, duration;
	uint32_t pid;
	char name[40], text[MARK_SIZE_MAX + 1];
};

struct marks {
	int fd;
	const char *path; /* borrowed; removed at the end */
	uint64_t ahead;	  /* CLOCK_REALTIME, by which the kernel stamps, of CLOCK_MONOTONIC */
	struct side_thread thread;
	pthread_mutex_t lock;
	struct mark *waiting; /* a ring */
	size_t first, n;
	uint64_t n_emitted, n_refused;
	uint64_t oldest; /* time of the first that waits; UINT64_MAX: none */
};

/* Nothing is open yet. */
void marks_init(struct marks *marks);
void marks_deinit(struct marks *marks);

/* Makes the socket, which anybody who reaches the path may write to. 0 or -errno: -EADDRINUSE: it
 * exists. */
int marks_open(struct marks *marks, const char *path);

/* Reads from now on. 0 or -errno. */
int marks_start(struct marks *marks, uint64_t realtime_ahead);
void marks_stop(struct marks *marks);

/* Whether a mark waits that is no later than this: without a lock, for each record. */
static inline bool marks_have(const struct marks *marks, uint64_t until)
{
	return __atomic_load_n(&marks->oldest, __ATOMIC_RELAXED) <= until;
}

/* Tells the marks up to a time. 0 or -errno of the output. */
int marks_emit(struct marks *marks, struct stage *stage, struct processes *processes,
	       uint64_t until);

/* Takes a datagram apart: false: it is no mark. `text` ends with a zero byte, and is changed. */
bool marks_parse(char *text, struct mark *ret);
