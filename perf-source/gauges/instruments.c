/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "perf-source/gauges/instrument-files.h"

int instruments_init(struct instruments *instruments, const char *root)
{
	*instruments = (struct instruments){ .root = root,
					     .thread = { .stop_fd = -1 },
					     .oldest = UINT64_MAX };
	pthread_mutex_init(&instruments->lock, NULL);
	instruments->text = malloc(INSTRUMENT_TEXT_MAX + 1);
	instruments->gauges = calloc(INSTRUMENT_GAUGES_MAX, sizeof(*instruments->gauges));
	return instruments->text && instruments->gauges ? 0 : -ENOMEM;
}

void instruments_deinit(struct instruments *instruments)
{
	instruments_stop(instruments);
	for (size_t i = 0; i < instruments->n_snapshots; i++)
		free(instruments->snapshots[i]);
	instruments->n_snapshots = 0;
	free(instruments->text);
	free(instruments->gauges);
	instruments->text = NULL;
	instruments->gauges = NULL;
	instruments->n_gauges = 0;
}

/* Those that were told once keep their numbers: only this thread adds to the list. */
struct gauge *instruments_find(struct instruments *instruments, const struct gauge_name *name)
{
	for (size_t i = 0; i < instruments->n_gauges; i++) {
		const struct gauge_name *known = &instruments->gauges[i].name;

		if (!strcmp(known->name, name->name) && !strcmp(known->category, name->category))
			return &instruments->gauges[i];
	}
	if (instruments->n_gauges == INSTRUMENT_GAUGES_MAX) {
		instruments->n_refused++;
		return NULL;
	}
	instruments->gauges[instruments->n_gauges].name = *name;
	return &instruments->gauges[instruments->n_gauges++];
}

/* The beginning of a file, as a text; false: it cannot be had. */
static bool read_text(const struct instruments *instruments, const char *name)
{
	_cleanup_fd_ int fd = -1;
	char path[512];
	size_t size = 0;
	ssize_t n = 1;

	snprintf(path, sizeof(path), "%s%s", instruments->root, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	while (fd >= 0 && n > 0 && size < INSTRUMENT_TEXT_MAX) {
		n = read(fd, instruments->text + size, INSTRUMENT_TEXT_MAX - size);
		size += n > 0 ? n : 0;
	}
	instruments->text[size] = 0;
	return fd >= 0 && n >= 0;
}

static void note_oldest(struct instruments *instruments)
{
	uint64_t time = instruments->n_snapshots ? instruments->snapshots[0]->time : UINT64_MAX;

	__atomic_store_n(&instruments->oldest, time, __ATOMIC_RELAXED);
}

/* Drops the oldest where nobody takes them. */
static void queue(struct instruments *instruments, struct snapshot *snapshot)
{
	pthread_mutex_lock(&instruments->lock);
	if (instruments->n_snapshots == INSTRUMENT_SNAPSHOTS_MAX) {
		free(instruments->snapshots[0]);
		memmove(instruments->snapshots, instruments->snapshots + 1,
			(INSTRUMENT_SNAPSHOTS_MAX - 1) * sizeof(*instruments->snapshots));
		instruments->n_snapshots--;
		instruments->n_dropped++;
	}
	instruments->snapshots[instruments->n_snapshots++] = snapshot;
	note_oldest(instruments);
	pthread_mutex_unlock(&instruments->lock);
}

int instruments_read(struct instruments *instruments, uint64_t time)
{
	struct snapshot *snapshot;
	size_t n = 0;

	for (size_t i = 0; i < instruments->n_gauges; i++)
		instruments->gauges[i].has_value = false;
	for (size_t i = 0; i < n_instrument_files; i++)
		if (read_text(instruments, instrument_files[i].path))
			instrument_files[i].parse(instruments, instruments->text, time);
	snapshot = malloc(sizeof(*snapshot) + instruments->n_gauges * sizeof(*snapshot->values));
	if (!snapshot)
		return -ENOMEM;
	for (size_t i = 0; i < instruments->n_gauges; i++)
		if (instruments->gauges[i].has_value)
			snapshot->values[n++] =
				(struct wire_counter_value){ i + 1, instruments->gauges[i].value };
	snapshot->time = time;
	snapshot->n = n;
	queue(instruments, snapshot);
	return 0;
}

static void *run(void *arg)
{
	struct instruments *instruments = arg;
	struct pollfd stop = { .fd = instruments->thread.stop_fd, .events = POLLIN };
	struct timespec wait = { instruments->interval / NANOSECONDS_A_SECOND,
				 instruments->interval % NANOSECONDS_A_SECOND };

	do
		instruments_read(instruments, clock_now(CLOCK_MONOTONIC));
	while (ppoll(&stop, 1, &wait, NULL) == 0);
	return NULL;
}

int instruments_start(struct instruments *instruments, uint64_t interval)
{
	instruments->interval = interval;
	return side_thread_start(&instruments->thread, run, instruments);
}

void instruments_stop(struct instruments *instruments)
{
	side_thread_stop(&instruments->thread);
}

static struct snapshot *take(struct instruments *instruments, uint64_t until)
{
	struct snapshot *snapshot = NULL;

	pthread_mutex_lock(&instruments->lock);
	if (instruments->n_snapshots && instruments->snapshots[0]->time <= until) {
		snapshot = instruments->snapshots[0];
		instruments->n_snapshots--;
		memmove(instruments->snapshots, instruments->snapshots + 1,
			instruments->n_snapshots * sizeof(*instruments->snapshots));
		note_oldest(instruments);
	}
	pthread_mutex_unlock(&instruments->lock);
	return snapshot;
}

/* Names up to a number; those that a snapshot tells of do not change any more. */
static int tell_names(struct instruments *instruments, struct stage *stage, uint64_t number)
{
	int r = 0;

	while (instruments->n_told < number && r == 0) {
		const struct gauge_name *name = &instruments->gauges[instruments->n_told].name;
		const struct wire_counter record = {
			.number = ++instruments->n_told,
			.divisor = name->divisor,
			.category = wire_string(name->category, 31),
			.name = wire_string(name->name, 31),
			.description = wire_string(name->description, 51),
		};

		r = stage_put(stage, WIRE_RECORD_counter, &record);
	}
	return r;
}

int instruments_tell(struct instruments *instruments, struct stage *stage, uint64_t until)
{
	struct snapshot *snapshot;
	int r = 0;

	while (r == 0 && instruments_have(instruments, until) &&
	       (snapshot = take(instruments, until))) {
		const struct wire_counter_values record = {
			.time = snapshot->time,
			.values = { snapshot->values, snapshot->n },
		};

		if (snapshot->n) {
			r = tell_names(instruments, stage,
				       snapshot->values[snapshot->n - 1].counter);
			if (r == 0)
				r = stage_put(stage, WIRE_RECORD_counter_values, &record);
		}
		free(snapshot);
	}
	return r;
}
