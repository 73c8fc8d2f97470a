/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/growing-list.h"
#include "common/base/cleanup.h"
#include "perf-source/perf/cpus.h"
#include "perf-source/perf/recording.h"

static int find_cpus(struct recording *recording)
{
	int r = cpus_find(&recording->cpus, &recording->n_cpus);

	if (r < 0)
		return r;
	recording->is_online = calloc(recording->n_cpus, sizeof(*recording->is_online));
	if (!recording->is_online)
		return -ENOMEM;
	cpus_look(recording->cpus, recording->n_cpus, recording->is_online);
	return 0;
}

static size_t n_kinds(const struct recording *recording)
{
	if (recording->has_waits)
		return N_RING_KINDS;
	return recording->has_switches ? RING_WAITS : RING_SWITCHES;
}

int recording_init(struct recording *recording)
{
	int r = find_cpus(recording);

	if (r < 0)
		return r;
	recording->n_rings = recording->n_cpus * n_kinds(recording);
	recording->rings = calloc(recording->n_rings, sizeof(*recording->rings));
	if (!recording->rings)
		return -ENOMEM;
	for (size_t i = 0; i < recording->n_rings; i++)
		recording->rings[i].fd = -1;
	return 0;
}

void recording_deinit(struct recording *recording)
{
	for (size_t i = 0; i < recording->n_events; i++) {
		bool is_owned = false;

		for (size_t k = 0; k < recording->n_rings; k++)
			is_owned |= recording->rings[k].fd == recording->events[i].fd;
		if (!is_owned)
			close(recording->events[i].fd);
	}
	for (size_t i = 0; recording->rings && i < recording->n_rings; i++)
		ring_close(&recording->rings[i]);
	free(recording->rings);
	free(recording->cpus);
	free(recording->is_online);
	free(recording->events);
	*recording = (struct recording){ 0 };
}

static int remember_event(struct recording *recording, const struct recorded_event *event)
{
	return GROWING_LIST_ADD(recording->events, recording->n_events, *event);
}

static size_t ring_bytes(const struct recording *recording, enum ring_kind kind)
{
	size_t most = kind == RING_SIDEBAND ? RECORDING_SIDEBAND_MAX : RECORDING_SMALL_MAX;

	if (kind == RING_WAITS)
		return recording->waits_bytes;
	if (kind == RING_SIDEBAND && recording->ring_bytes < RECORDING_SIDEBAND_MIN)
		return RECORDING_SIDEBAND_MIN;
	if (kind == RING_SAMPLES || recording->ring_bytes < most)
		return recording->ring_bytes;
	return most;
}

/* Gives an event the ring of its CPU, which the first event makes. Takes its descriptor over. */
static int attach_ring(struct recording *recording, struct recorded_event event, size_t cpu)
{
	struct ring *ring = &recording->rings[event.kind * recording->n_cpus + cpu];
	_cleanup_fd_ int owned = event.fd;
	int r = event_read_id(event.fd, &event.id);

	if (r < 0)
		return r;
	if (ring->fd >= 0) {
		if (ioctl(event.fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0)
			return -errno;
	} else {
		r = ring_open(ring, take_fd(&owned), ring_bytes(recording, event.kind));
		if (r < 0)
			return r;
	}
	r = remember_event(recording, &event);
	if (r == 0)
		take_fd(&owned);
	return r;
}

static int open_event(struct recording *recording, enum ring_kind kind, uint32_t number, pid_t pid,
		      int cpu)
{
	switch (kind) {
	case RING_SIDEBAND:
		return event_open_sideband(&recording->setup, pid, cpu);
	case RING_SAMPLES:
		recording->opening = number;
		return event_open_sample(&recording->setup, number, pid, cpu);
	case RING_SWITCHES:
		return event_open_switches(&recording->setup, pid, cpu);
	default:
		return event_open_waits(&recording->setup, pid, cpu);
	}
}

/* All events of a kind on one CPU. -ENODEV: it went offline. */
static int add_kind(struct recording *recording, enum ring_kind kind, pid_t pid, size_t cpu)
{
	uint32_t n = kind == RING_SAMPLES ? recording->setup.n_events : 1;
	int r = 0;

	for (uint32_t number = 0; number < n && r == 0; number++) {
		struct recorded_event event = { .kind = kind, .number = number };

		event.fd = open_event(recording, kind, number, pid, recording->cpus[cpu]);
		r = event.fd < 0 ? event.fd : attach_ring(recording, event, cpu);
	}
	return r;
}

/*
 * Whom a task wakes: with the same of all others that are recorded, who has ended their waits.
 * Where that cannot be had, waits have no wakers, and the rest is as it would be.
 */
static int add_wakings(struct recording *recording, pid_t pid, size_t cpu)
{
	struct recorded_event event = { .kind = RING_WAITS, .number = WAITS_WAKING };
	int r;

	event.fd = event_open_wakings(&recording->setup, pid, recording->cpus[cpu]);
	r = event.fd < 0 ? event.fd : attach_ring(recording, event, cpu);
	if (r == 0 || r == -ENODEV || r == -ESRCH || r == -EMFILE || r == -ENOMEM)
		return r;
	recording->setup.waking_tracepoint = 0;
	return 0;
}

int recording_add(struct recording *recording, pid_t pid)
{
	size_t n_cpus = 0;
	int r;

	for (size_t i = 0; i < recording->n_cpus; i++) {
		if (!recording->is_online[i])
			continue;
		r = 0;
		for (size_t kind = 0; kind < n_kinds(recording) && r == 0; kind++)
			r = add_kind(recording, kind, pid, i);
		if (r == 0 && pid >= 0 && recording->has_waits &&
		    recording->setup.waking_tracepoint)
			r = add_wakings(recording, pid, i);
		if (r < 0 && r != -ENODEV)
			return r;
		n_cpus += r == 0;
	}
	return n_cpus ? 0 : -ENODEV;
}

/*
 * The events that it had keep their rings. Where a program tells of switches, it goes on to tell
 * those of this CPU to events that are closed.
 */
int recording_open_again(struct recording *recording, size_t cpu)
{
	size_t n = recording->n_events;
	int r = 0;

	for (size_t kind = 0; kind < n_kinds(recording) && r == 0; kind++)
		if (kind < RING_SWITCHES || !recording->setup.has_switch_program)
			r = add_kind(recording, kind, -1, cpu);
	for (; n < recording->n_events && r == 0; n++)
		if (ioctl(recording->events[n].fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			r = -errno;
	recording_sort_events(recording);
	return r;
}

int recording_add_kernel_code(struct recording *recording)
{
	struct recorded_event event = { .kind = RING_SIDEBAND };
	int r = 0;

	for (size_t i = 0; i < recording->n_cpus && r == 0; i++) {
		if (recording->rings[i].fd < 0) /* it is offline, or all tasks have ended */
			continue;
		event.fd = event_open_kernel_code(&recording->setup, recording->cpus[i]);
		if (event.fd == -ENODEV)
			continue;
		r = event.fd < 0 ? event.fd : attach_ring(recording, event, i);
	}
	return r;
}

/* One more on each CPU whose ring of that kind is there. */
static int add_to_rings(struct recording *recording, struct recorded_event event,
			int (*open)(const struct event_setup *setup, int cpu))
{
	int r = 0;

	for (size_t i = 0; i < recording->n_cpus && r == 0; i++) {
		if (recording->rings[event.kind * recording->n_cpus + i].fd < 0)
			continue;
		event.fd = open(&recording->setup, recording->cpus[i]);
		if (event.fd == -ENODEV)
			continue;
		r = event.fd < 0 ? event.fd : attach_ring(recording, event, i);
	}
	return r;
}

int recording_add_switches(struct recording *recording)
{
	const struct recorded_event event = { .kind = RING_SWITCHES };

	return add_to_rings(recording, event, event_open_all_switches);
}

static int open_all_wakings(const struct event_setup *setup, int cpu)
{
	return event_open_wakings(setup, -1, cpu);
}

int recording_add_wakings(struct recording *recording)
{
	const struct recorded_event event = { .kind = RING_WAITS, .number = WAITS_WAKING };

	return add_to_rings(recording, event, open_all_wakings);
}

static int compare_ids(const void *left, const void *right)
{
	const struct recorded_event *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

void recording_sort_events(struct recording *recording)
{
	qsort(recording->events, recording->n_events, sizeof(*recording->events), compare_ids);
}

const struct recorded_event *recording_find_event(const struct recording *recording, uint64_t id)
{
	const struct recorded_event key = { .id = id };

	return bsearch(&key, recording->events, recording->n_events, sizeof(key), compare_ids);
}

int recording_each_output(const struct recording *recording,
			  int (*each)(int cpu, int waits_fd, int switches_fd, void *arg), void *arg)
{
	int r = 0;

	for (size_t i = 0; i < recording->n_cpus && r == 0; i++) {
		const struct ring *waits = &recording->rings[RING_WAITS * recording->n_cpus + i],
				  *switches =
					  &recording->rings[RING_SWITCHES * recording->n_cpus + i];

		if (waits->fd >= 0)
			r = each(recording->cpus[i], waits->fd, switches->fd, arg);
	}
	return r;
}

static int enable(struct recording *recording, enum ring_kind first, enum ring_kind last)
{
	for (size_t i = 0; i < recording->n_events; i++) {
		const struct recorded_event *event = &recording->events[i];

		if (event->kind >= first && event->kind <= last &&
		    ioctl(event->fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			return -errno;
	}
	return 0;
}

int recording_enable_sideband(struct recording *recording)
{
	return enable(recording, RING_SIDEBAND, RING_SIDEBAND);
}

int recording_enable_others(struct recording *recording)
{
	return enable(recording, RING_SAMPLES, RING_WAITS);
}

void recording_disable(struct recording *recording)
{
	for (size_t i = 0; i < recording->n_events; i++)
		ioctl(recording->events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t recording_time(const struct recording *recording)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < recording->n_events; i++)
		if (recording->events[i].kind == RING_SAMPLES && recording->events[i].number == 0)
			ns += event_read_value(recording->events[i].fd);
	return ns;
}

uint64_t recording_lost(const struct recording *recording, enum ring_kind kind)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < recording->n_events; i++)
		if (recording->events[i].kind == kind)
			lost += event_read_lost(&recording->setup, recording->events[i].fd);
	return lost;
}
