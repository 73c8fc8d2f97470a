/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "capture-sink/capture-sink.h"
#include "common/base/clock.h"

enum { PROGRESS_LEAST_NS = 200000000 };

void progress_show(struct capture_sink *self)
{
	const struct stage *stage = self->stage;
	struct progress *progress = &self->progress;
	uint64_t now = clock_now(CLOCK_MONOTONIC),
		 begun = self->recording.recorder.stacks.hello.start_time;
	uint64_t n = stage->samples_in;

	if (stage->quiet || !isatty(STDERR_FILENO) ||
	    self->recording.recorder.stacks.hello.clock != WIRE_clock_MONOTONIC)
		return;
	/* Input may come in bursts, so a rate needs a minimum of time. */
	if (progress->shown_at && now < progress->shown_at + PROGRESS_LEAST_NS)
		return;
	if (progress->shown_at)
		fprintf(stderr,
			"\r\033[K%8.1f s  %9" PRIu64 " samples  %6.0f per second  %" PRIu64 " lost",
			(self->recording.recorder.stacks.last_time - begun) / 1e9, n,
			(n - progress->n_shown) * 1e9 / (now - progress->shown_at),
			progress->n_lost);
	progress->shown_at = now;
	progress->n_shown = n;
}

void progress_clear(struct capture_sink *self)
{
	if (self->progress.shown_at)
		fputs("\r\033[K", stderr);
	self->progress.shown_at = 0;
}
