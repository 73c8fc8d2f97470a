/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "perf-source/ring-poll.h"

enum {
	WAIT_MS = 250,	      /* at most: rings of quiet CPUs never reach their watermark */
	BUSY_WAIT_MS = 10,    /* the same while contexts are looked for */
	NEWS_WAIT_MS = 20,    /* for more news, and until it is old enough (merge.h) */
	FIRST_LOOKS_MS = 4,   /* of that: a look each millisecond, */
	LOOK_MS = 4,	      /* and then one each of these; */
	QUIET_LOOK_MS = 10,   /* and where less side-band comes than wakes us */
	NO_NEWS_WAIT_MS = 50, /* the same after a wake-up without news */
	FILLED_PART = 4,      /* a side-band ring that is a 4th full is read at once */
};

int ring_poll_init(struct ring_poll *polled, const int *process_fds, size_t n_processes,
		   int server_fd)
{
	size_t n = 0;

	polled->n_sideband = polled->event_set->n_cpus;
	polled->n_rings = polled->event_set->n_rings;
	polled->n_processes = n_processes;
	polled->n = polled->n_rings + polled->n_processes + 1 + RING_POLL_HELPERS;
	polled->fds = calloc(polled->n, sizeof(*polled->fds));
	polled->seen = calloc(polled->n_sideband, sizeof(*polled->seen));
	if (!polled->fds || !polled->seen)
		return -ENOMEM;
	for (size_t i = 0; i < polled->n_rings; i++)
		polled->fds[n++].fd = polled->event_set->rings[i].fd;
	for (size_t i = 0; i < polled->n_processes; i++)
		polled->fds[n++].fd = process_fds[i];
	polled->fds[n++].fd = server_fd;
	for (size_t i = 0; i < n; i++)
		polled->fds[i].events = POLLIN;
	for (size_t i = 0; i < RING_POLL_HELPERS; i++)
		ring_poll_set_helper(polled, i, -1);
	return 0;
}

void ring_poll_set_helper(struct ring_poll *polled, size_t i, int fd)
{
	polled->fds[polled->n - RING_POLL_HELPERS + i] = (struct pollfd){ fd, POLLIN, 0 };
}

void ring_poll_deinit(struct ring_poll *polled)
{
	free(polled->fds);
	free(polled->seen);
}

static bool has_news(struct ring_poll *polled)
{
	for (size_t i = 0; i < polled->n_sideband; i++) {
		const struct ring *ring = &polled->event_set->rings[i];

		if (ring->fd < 0) /* its CPU is offline */
			continue;
		if (merge_look_ahead(polled->merge, i, &polled->seen[i], polled->is_news,
				     polled->arg))
			return true;
		if (polled->seen[i] - ring->position > ring->size / FILLED_PART)
			return true;
	}
	return false;
}

static bool is_readable(const struct ring_poll *polled, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		if (polled->fds[i].revents)
			return true;
	return false;
}

/* A program that begins maps its libraries: at first side-band is looked at often. */
static int next_look(int waited_ms)
{
	return waited_ms < FIRST_LOOKS_MS ? 1 : LOOK_MS;
}

/* False: a signal has come, or an answer of the image server or a helper: others wait for these. */
static bool wait_for_news(struct ring_poll *polled, int milliseconds)
{
	struct pollfd *answers = &polled->fds[polled->n_rings + polled->n_processes];

	for (int waited = 0; waited < milliseconds; waited += next_look(waited)) {
		polled->at_sideband(polled->arg);
		if (poll(answers, 1 + RING_POLL_HELPERS, next_look(waited)) != 0)
			return false;
	}
	return true;
}

/* Whether to go on waiting: at most side-band rings are readable, and they hold no news. */
static bool may_wait(struct ring_poll *polled, int news_wait_ms)
{
	bool has_sideband = is_readable(polled, 0, polled->n_sideband);

	if (polled->is_busy)
		news_wait_ms = BUSY_WAIT_MS;
	if (has_sideband && !wait_for_news(polled, news_wait_ms))
		return false;
	if (is_readable(polled, polled->n_sideband, polled->n))
		return false;
	return !has_sideband || !has_news(polled);
}

static void note_hang_up(struct ring_poll *polled)
{
	for (size_t i = 0; i < polled->n_sideband; i++)
		if (polled->fds[i].revents & POLLHUP && !polled->hung_up_at)
			polled->hung_up_at = clock_now(CLOCK_MONOTONIC);
}

/* Stops polling what has ended: a task's event hangs up for good, and a pidfd is readable. */
static void leave_ended(struct ring_poll *polled)
{
	note_hang_up(polled);
	for (size_t i = 0; i < polled->n; i++) {
		bool is_process = i >= polled->n_rings && i < polled->n_rings + polled->n_processes;

		if (polled->fds[i].revents & (POLLHUP | POLLERR | POLLNVAL) ||
		    (is_process && polled->fds[i].revents & POLLIN))
			polled->fds[i].fd = -1;
	}
}

static bool has_process_left(const struct ring_poll *polled)
{
	for (size_t i = 0; i < polled->n_processes; i++)
		if (polled->fds[polled->n_rings + i].fd >= 0)
			return true;
	return !polled->n_processes;
}

/* As poll(2) of all, up to a time; now and then it looks at side-band. */
static int wait_for_any(struct ring_poll *polled, uint64_t until)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);
	int n = 0;

	while (n == 0 && now < until) {
		int ms = (until - now) / NANOSECONDS_A_MILLISECOND + 1;

		n = poll(polled->fds, polled->n,
			 polled->looks_often && ms > QUIET_LOOK_MS ? QUIET_LOOK_MS : ms);
		if (n == 0)
			polled->at_sideband(polled->arg);
		now = clock_now(CLOCK_MONOTONIC);
	}
	return n;
}

bool ring_poll_wait(struct ring_poll *polled)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC),
		 until = now +
			 (polled->is_busy ? BUSY_WAIT_MS : WAIT_MS) * NANOSECONDS_A_MILLISECOND;
	int news_wait_ms = NEWS_WAIT_MS;

	/* Records younger than the merge slack were skipped: they are looked at again. */
	memset(polled->seen, 0, polled->n_sideband * sizeof(*polled->seen));
	while (now < until) {
		if (wait_for_any(polled, until) <= 0)
			break;
		leave_ended(polled);
		if (!may_wait(polled, news_wait_ms))
			break;
		news_wait_ms = NO_NEWS_WAIT_MS;
		now = clock_now(CLOCK_MONOTONIC);
	}
	return has_process_left(polled);
}
