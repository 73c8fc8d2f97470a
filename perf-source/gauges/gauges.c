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
#include "perf-source/gauges/gauges.h"

int gauges_init(struct gauges *gauges, const char *root, const struct gauge_file *files,
		size_t n_files)
{
	*gauges = (struct gauges){ .root = root,
				   .files = files,
				   .n_files = n_files,
				   .thread = { .stop_fd = -1 },
				   .oldest = UINT64_MAX };
	pthread_mutex_init(&gauges->lock, NULL);
	gauges->text = malloc(GAUGE_TEXT_MAX + 1);
	gauges->gauges = calloc(GAUGES_MAX, sizeof(*gauges->gauges));
	return gauges->text && gauges->gauges ? 0 : -ENOMEM;
}

void gauges_deinit(struct gauges *gauges)
{
	gauges_stop(gauges);
	for (size_t i = 0; i < gauges->n_snapshots; i++)
		free(gauges->snapshots[i]);
	gauges->n_snapshots = 0;
	free(gauges->text);
	free(gauges->gauges);
	gauges->text = NULL;
	gauges->gauges = NULL;
	gauges->n_gauges = 0;
}

/* Gauges keep their numbers: only the thread that reads changes the list, and it only appends. */
struct gauge *gauges_find(struct gauges *gauges, const struct gauge_name *name)
{
	for (size_t i = 0; i < gauges->n_gauges; i++) {
		const struct gauge_name *known = &gauges->gauges[i].name;

		if (!strcmp(known->name, name->name) && !strcmp(known->category, name->category))
			return &gauges->gauges[i];
	}
	if (gauges->n_gauges == GAUGES_MAX) {
		gauges->n_refused++;
		return NULL;
	}
	gauges->gauges[gauges->n_gauges].name = *name;
	return &gauges->gauges[gauges->n_gauges++];
}

/* Reads the beginning of a file as a text; false: it cannot be read. */
static bool read_text(const struct gauges *gauges, const char *name)
{
	_cleanup_fd_ int fd = -1;
	char path[512];
	size_t size = 0;
	ssize_t n = 1;

	snprintf(path, sizeof(path), "%s%s", gauges->root, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	while (fd >= 0 && n > 0 && size < GAUGE_TEXT_MAX) {
		n = read(fd, gauges->text + size, GAUGE_TEXT_MAX - size);
		size += n > 0 ? n : 0;
	}
	gauges->text[size] = 0;
	return fd >= 0 && n >= 0;
}

static void note_oldest(struct gauges *gauges)
{
	uint64_t time = gauges->n_snapshots ? gauges->snapshots[0]->time : UINT64_MAX;

	__atomic_store_n(&gauges->oldest, time, __ATOMIC_RELAXED);
}

/* Drops the oldest snapshot if the queue is full. */
static void queue(struct gauges *gauges, struct snapshot *snapshot)
{
	pthread_mutex_lock(&gauges->lock);
	if (gauges->n_snapshots == GAUGE_SNAPSHOTS_MAX) {
		free(gauges->snapshots[0]);
		memmove(gauges->snapshots, gauges->snapshots + 1,
			(GAUGE_SNAPSHOTS_MAX - 1) * sizeof(*gauges->snapshots));
		gauges->n_snapshots--;
		gauges->n_dropped++;
	}
	gauges->snapshots[gauges->n_snapshots++] = snapshot;
	note_oldest(gauges);
	pthread_mutex_unlock(&gauges->lock);
}

int gauges_read(struct gauges *gauges, uint64_t time)
{
	struct snapshot *snapshot;
	size_t n = 0;

	for (size_t i = 0; i < gauges->n_gauges; i++)
		gauges->gauges[i].has_value = false;
	for (size_t i = 0; i < gauges->n_files; i++)
		if (read_text(gauges, gauges->files[i].path))
			gauges->files[i].parse(gauges, gauges->text, time, gauges->files[i].what);
	snapshot = malloc(sizeof(*snapshot) + gauges->n_gauges * sizeof(*snapshot->values));
	if (!snapshot)
		return -ENOMEM;
	for (size_t i = 0; i < gauges->n_gauges; i++)
		if (gauges->gauges[i].has_value)
			snapshot->values[n++] =
				(struct wire_counter_value){ i + 1, gauges->gauges[i].value };
	snapshot->time = time;
	snapshot->n = n;
	queue(gauges, snapshot);
	return 0;
}

static void *run(void *arg)
{
	struct gauges *gauges = arg;
	struct pollfd stop = { .fd = gauges->thread.stop_fd, .events = POLLIN };
	struct timespec wait = { gauges->interval / NANOSECONDS_A_SECOND,
				 gauges->interval % NANOSECONDS_A_SECOND };

	do
		gauges_read(gauges, clock_now(CLOCK_MONOTONIC));
	while (ppoll(&stop, 1, &wait, NULL) == 0);
	return NULL;
}

int gauges_start(struct gauges *gauges, uint64_t interval)
{
	gauges->interval = interval;
	return side_thread_start(&gauges->thread, run, gauges);
}

void gauges_stop(struct gauges *gauges)
{
	side_thread_stop(&gauges->thread);
}

static struct snapshot *take(struct gauges *gauges, uint64_t until)
{
	struct snapshot *snapshot = NULL;

	pthread_mutex_lock(&gauges->lock);
	if (gauges->n_snapshots && gauges->snapshots[0]->time <= until) {
		snapshot = gauges->snapshots[0];
		gauges->n_snapshots--;
		memmove(gauges->snapshots, gauges->snapshots + 1,
			gauges->n_snapshots * sizeof(*gauges->snapshots));
		note_oldest(gauges);
	}
	pthread_mutex_unlock(&gauges->lock);
	return snapshot;
}

/* Emits names up to a number. Names of gauges that are in a snapshot do not change any more. */
static int emit_names(struct gauges *gauges, struct stage *stage, uint64_t number)
{
	int r = 0;

	while (gauges->n_emitted < number && r == 0) {
		const struct gauge_name *name = &gauges->gauges[gauges->n_emitted].name;
		const struct wire_counter record = {
			.number = ++gauges->n_emitted,
			.divisor = name->divisor,
			.category = wire_string(name->category, 31),
			.name = wire_string(name->name, 31),
			.description = wire_string(name->description, 51),
		};

		r = stage_put(stage, WIRE_RECORD_counter, &record);
	}
	return r;
}

int gauges_emit(struct gauges *gauges, struct stage *stage, uint64_t until)
{
	struct snapshot *snapshot;
	int r = 0;

	while (r == 0 && gauges_have(gauges, until) && (snapshot = take(gauges, until))) {
		const struct wire_counter_values record = {
			.time = snapshot->time,
			.values = { snapshot->values, snapshot->n },
		};

		if (snapshot->n) {
			r = emit_names(gauges, stage, snapshot->values[snapshot->n - 1].counter);
			if (r == 0)
				r = stage_put(stage, WIRE_RECORD_counter_values, &record);
		}
		free(snapshot);
	}
	return r;
}
