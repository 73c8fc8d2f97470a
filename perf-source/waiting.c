/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "perf-source/waiting.h"

enum {
	WAIT_MS = 250,	      /* at most: quiet CPUs never reach their rings' mark */
	NEWS_WAIT_MS = 20,    /* for more of it, and until it is old enough (merge.h) */
	NO_NEWS_WAIT_MS = 50, /* the same once something else has happened in vain */
	FILLED_PART = 4,      /* a ring of side-band that is full by a 4th does not wait */
};

int waiting_init(struct waiting *waiting, const struct perf_source *self)
{
	size_t n = 0;

	waiting->n_sideband = self->event_set.n_cpus;
	waiting->n_rings = self->event_set.n_rings;
	waiting->n_processes = self->options.command ? 1 : self->options.n_pids;
	waiting->n = waiting->n_rings + waiting->n_processes + 1;
	waiting->fds = calloc(waiting->n, sizeof(*waiting->fds));
	waiting->seen = calloc(waiting->n_sideband, sizeof(*waiting->seen));
	if (!waiting->fds || !waiting->seen)
		return -ENOMEM;
	for (size_t i = 0; i < waiting->n_rings; i++)
		waiting->fds[n++].fd = self->event_set.rings[i].fd;
	for (size_t i = 0; i < waiting->n_processes; i++)
		waiting->fds[n++].fd =
			self->options.command ? self->command.pid_fd : self->pid_fds[i];
	waiting->fds[n++].fd = self->images.server_fd;
	for (size_t i = 0; i < n; i++)
		waiting->fds[i].events = POLLIN;
	return 0;
}

void waiting_deinit(struct waiting *waiting)
{
	free(waiting->fds);
	free(waiting->seen);
}

static int is_news(const struct perf_event_header *event, void *arg)
{
	const struct perf_source *self = arg;

	if (self->follows &&
	    (!record_is_whole(event) || !followed_concerns(&self->followed, event)))
		return 0;
	return processes_is_news(&self->processes, event);
}

static bool has_news(struct waiting *waiting, struct perf_source *self)
{
	for (size_t i = 0; i < waiting->n_sideband; i++) {
		const struct ring *ring = &self->event_set.rings[i];

		if (ring->fd < 0) /* of a CPU that is offline */
			continue;
		if (merge_look_ahead(&self->merge, i, &waiting->seen[i], is_news, self))
			return true;
		if (waiting->seen[i] - ring->position > ring->size / FILLED_PART)
			return true;
	}
	return false;
}

static bool is_readable(const struct waiting *waiting, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		if (waiting->fds[i].revents)
			return true;
	return false;
}

/* Whether all that we waited for is something that will not get old. */
static bool may_wait(struct waiting *waiting, struct perf_source *self, int news_wait_ms)
{
	bool has_sideband = is_readable(waiting, 0, waiting->n_sideband);

	if (has_sideband && poll(NULL, 0, news_wait_ms) < 0)
		return false;
	if (is_readable(waiting, waiting->n_sideband, waiting->n))
		return false;
	return !has_sideband || !has_news(waiting, self);
}

/* Those of a command are the only ones that its rings begin with. */
static void note_hang_up(const struct waiting *waiting, struct perf_source *self)
{
	for (size_t i = 0; i < waiting->n_sideband && self->options.command; i++)
		if (waiting->fds[i].revents & POLLHUP && !self->missing.hung_up_at)
			self->missing.hung_up_at = clock_now(CLOCK_MONOTONIC);
}

/* A task's event hangs up for good when it ends, and a pidfd is readable then. */
static void leave_ended(struct waiting *waiting, struct perf_source *self)
{
	note_hang_up(waiting, self);
	for (size_t i = 0; i < waiting->n; i++) {
		bool is_process =
			i >= waiting->n_rings && i < waiting->n_rings + waiting->n_processes;

		if (waiting->fds[i].revents & (POLLHUP | POLLERR | POLLNVAL) ||
		    (is_process && waiting->fds[i].revents & POLLIN))
			waiting->fds[i].fd = -1;
	}
}

static bool has_process_left(const struct waiting *waiting)
{
	for (size_t i = 0; i < waiting->n_processes; i++)
		if (waiting->fds[waiting->n_rings + i].fd >= 0)
			return true;
	return !waiting->n_processes;
}

bool waiting_wait(struct waiting *waiting, struct perf_source *self)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC),
		 until = now + WAIT_MS * NANOSECONDS_A_MILLISECOND;
	int news_wait_ms = NEWS_WAIT_MS;

	/* What was too young to be taken is news again. */
	memset(waiting->seen, 0, waiting->n_sideband * sizeof(*waiting->seen));
	while (now < until) {
		if (poll(waiting->fds, waiting->n, (until - now) / NANOSECONDS_A_MILLISECOND + 1) <=
		    0)
			break;
		leave_ended(waiting, self);
		if (!may_wait(waiting, self, news_wait_ms))
			break;
		news_wait_ms = NO_NEWS_WAIT_MS;
		now = clock_now(CLOCK_MONOTONIC);
	}
	return has_process_left(waiting);
}
