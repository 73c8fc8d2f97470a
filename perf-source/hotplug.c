/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "perf-source/hotplug.h"
#include "perf-source/perf-source.h"
#include "perf-source/perf/cpus.h"

#define LOOK_NS (100 * NANOSECONDS_A_MILLISECOND)

int hotplug_init(struct hotplug *hotplug, const struct perf_source *self)
{
	const struct event_set *event_set = &self->event_set;

	*hotplug = (struct hotplug){ .looked_at = self->start_time };
	hotplug->offline_since = calloc(event_set->n_cpus + 1, sizeof(*hotplug->offline_since));
	if (!hotplug->offline_since)
		return -ENOMEM;
	for (size_t i = 0; i < event_set->n_cpus; i++)
		if (!event_set->is_online[i])
			hotplug->offline_since[i] = self->start_time;
	return 0;
}

void hotplug_deinit(struct hotplug *hotplug)
{
	free(hotplug->offline_since);
	hotplug->offline_since = NULL;
}

static double seconds(const struct perf_source *self, uint64_t time)
{
	return (time - self->start_time) / 1e9;
}

/* Events of tasks go on; those of all tasks end with their CPU. */
static bool is_of_cpus(const struct perf_source *self)
{
	return self->options.all || self->follows;
}

static int open_again(struct perf_source *self, size_t cpu)
{
	struct event_set *event_set = &self->event_set;
	size_t n_before = event_set->n_events;
	int r = is_of_cpus(self) ? event_set_open_again(event_set, cpu)
				 : event_set_open_parts_again(event_set, cpu);

	if (r == 0)
		r = programs_set_outputs(self, n_before);
	event_set_sort_events(event_set);
	return r == 0 && is_of_cpus(self) ? event_set_enable_cpu(event_set, cpu) : r;
}

/* Opens a CPU's events again. It was offline at the last look: at most the time since is lost. */
static int take_back(struct perf_source *self, struct stage *stage, size_t cpu, uint64_t now)
{
	struct hotplug *hotplug = &self->hotplug;
	uint64_t since = hotplug->offline_since[cpu], looked_at = hotplug->looked_at;
	uint64_t n = (now - looked_at) * self->options.rate / NANOSECONDS_A_SECOND;
	int r = open_again(self, cpu);

	if (r < 0) {
		stage_warn(stage, "CPU %d is online again but cannot be sampled: %s",
			   self->event_set.cpus[cpu], strerror(-r));
		return r == -ENOMEM ? r : 0;
	}
	hotplug->offline_since[cpu] = 0;
	if (!is_of_cpus(self))
		return 0;
	stage_miss(stage, "cpu-came-online", n);
	stage_warn(stage,
		   "CPU %d was offline from %.3f s on and is sampled again from %.3f s on: up to "
		   "%.3f s of its activity before that may be missing",
		   self->event_set.cpus[cpu], seconds(self, since), seconds(self, now),
		   (now - looked_at) / 1e9);
	return 0;
}

int hotplug_follow(struct perf_source *self, struct stage *stage)
{
	struct event_set *event_set = &self->event_set;
	struct hotplug *hotplug = &self->hotplug;
	uint64_t now = clock_now(CLOCK_MONOTONIC);
	int r = 0;

	if (now - hotplug->looked_at < LOOK_NS ||
	    !(is_of_cpus(self) || self->event_set.setup.has_sample_parts))
		return 0;
	cpus_look(event_set->cpus, event_set->n_cpus, event_set->is_online);
	for (size_t i = 0; i < event_set->n_cpus && r == 0; i++) {
		if (event_set->is_online[i] && hotplug->offline_since[i])
			r = take_back(self, stage, i, now);
		else if (!event_set->is_online[i] && !hotplug->offline_since[i])
			hotplug->offline_since[i] = now;
	}
	hotplug->looked_at = now;
	return r;
}
