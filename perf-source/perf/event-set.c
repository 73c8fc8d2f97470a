/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "perf-source/perf/cpus.h"
#include "perf-source/perf/event-set.h"

static int find_cpus(struct event_set *event_set)
{
	int r = cpus_find(&event_set->cpus, &event_set->n_cpus);

	if (r < 0)
		return r;
	event_set->is_online = calloc(event_set->n_cpus, sizeof(*event_set->is_online));
	if (!event_set->is_online)
		return -ENOMEM;
	cpus_look(event_set->cpus, event_set->n_cpus, event_set->is_online);
	return 0;
}

static size_t n_kinds(const struct event_set *event_set)
{
	if (event_set->has_waits)
		return N_RING_KINDS;
	return event_set->has_switches ? RING_WAITS : RING_SWITCHES;
}

int event_set_init(struct event_set *event_set)
{
	int r = find_cpus(event_set);

	if (r < 0)
		return r;
	event_set->n_rings = event_set->n_cpus * n_kinds(event_set);
	event_set->rings = calloc(event_set->n_rings, sizeof(*event_set->rings));
	if (!event_set->rings)
		return -ENOMEM;
	for (size_t i = 0; i < event_set->n_rings; i++)
		event_set->rings[i].fd = -1;
	return 0;
}

void event_set_deinit(struct event_set *event_set)
{
	for (size_t i = 0; i < event_set->n_events; i++) {
		bool is_owned = false;

		for (size_t k = 0; k < event_set->n_rings; k++)
			is_owned |= event_set->rings[k].fd == event_set->events[i].fd;
		if (!is_owned)
			close(event_set->events[i].fd);
	}
	for (size_t i = 0; event_set->rings && i < event_set->n_rings; i++)
		ring_close(&event_set->rings[i]);
	free(event_set->rings);
	free(event_set->cpus);
	free(event_set->is_online);
	free(event_set->events);
	*event_set = (struct event_set){ .setup = event_set->setup,
					 .has_waits = event_set->has_waits,
					 .has_switches = event_set->has_switches };
}

static size_t ring_bytes(const struct event_set *event_set, enum ring_kind kind)
{
	size_t most = kind == RING_SIDEBAND ? EVENT_SET_SIDEBAND_MAX : EVENT_SET_SMALL_MAX;

	if (kind == RING_WAITS)
		return event_set->waits_bytes;
	if (kind == RING_SIDEBAND && event_set->ring_bytes < EVENT_SET_SIDEBAND_MIN)
		return EVENT_SET_SIDEBAND_MIN;
	if (kind == RING_SAMPLES || event_set->ring_bytes < most)
		return event_set->ring_bytes;
	return most;
}

/* Attaches an event to its CPU's ring, which the first event creates. Takes its descriptor over. */
static int attach_ring(struct event_set *event_set, struct recorded_event event, size_t cpu)
{
	struct ring *ring = event_set_ring(event_set, event.kind, cpu);
	_cleanup_fd_ int owned = event.fd;
	int r = event_read_id(event.fd, &event.id);

	if (r < 0)
		return r;
	event.cpu = cpu;
	if (ring->fd >= 0) {
		if (ioctl(event.fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0)
			return -errno;
	} else {
		r = ring_open(ring, take_fd(&owned), ring_bytes(event_set, event.kind));
		if (r < 0)
			return r;
	}
	r = GROWING_LIST_ADD(event_set->events, event_set->n_events, event);
	if (r == 0)
		take_fd(&owned);
	return r;
}

static int open_event(struct event_set *event_set, enum ring_kind kind, uint32_t number, pid_t pid,
		      int cpu)
{
	switch (kind) {
	case RING_SIDEBAND:
		return event_open_sideband(&event_set->setup, pid, cpu);
	case RING_SAMPLES:
		event_set->opening = number;
		return event_open_sample(&event_set->setup, number, pid, cpu);
	case RING_SWITCHES:
		return event_open_switches(&event_set->setup, pid, cpu);
	default:
		return event_open_waits(&event_set->setup, pid, cpu);
	}
}

/* Opens all events of a kind on one CPU. -ENODEV: the CPU went offline. */
static int add_kind(struct event_set *event_set, enum ring_kind kind, pid_t pid, size_t cpu)
{
	uint32_t n = kind == RING_SAMPLES ? event_set->setup.n_events : 1;
	int r = 0;

	for (uint32_t number = 0; number < n && r == 0; number++) {
		struct recorded_event event = { .kind = kind, .number = number };

		event.fd = open_event(event_set, kind, number, pid, event_set->cpus[cpu]);
		r = event.fd < 0 ? event.fd : attach_ring(event_set, event, cpu);
	}
	return r;
}

/*
 * Opens the wake-up event of one task; those of all recorded tasks give the wakers of waits. If it
 * is unavailable, waits have no wakers; all else is unaffected.
 */
static int add_wakings(struct event_set *event_set, pid_t pid, size_t cpu)
{
	struct recorded_event event = { .kind = RING_WAITS, .number = WAITS_WAKING };
	int r;

	event.fd = event_open_wakings(&event_set->setup, pid, event_set->cpus[cpu]);
	r = event.fd < 0 ? event.fd : attach_ring(event_set, event, cpu);
	if (r == 0 || r == -ENODEV || r == -ESRCH || r == -EMFILE || r == -ENOMEM)
		return r;
	event_set->setup.waking_tracepoint = 0;
	return 0;
}

int event_set_add(struct event_set *event_set, pid_t pid)
{
	size_t n_cpus = 0;
	int r;

	for (size_t i = 0; i < event_set->n_cpus; i++) {
		if (!event_set->is_online[i])
			continue;
		r = 0;
		for (size_t kind = 0; kind < n_kinds(event_set) && r == 0; kind++)
			r = add_kind(event_set, kind, pid, i);
		if (r == 0 && pid >= 0 && event_set->has_waits &&
		    event_set->setup.waking_tracepoint)
			r = add_wakings(event_set, pid, i);
		if (r < 0 && r != -ENODEV)
			return r;
		n_cpus += r == 0;
	}
	return n_cpus ? 0 : -ENODEV;
}

typedef int open_event_function(const struct event_setup *setup, pid_t pid, int cpu);

/* Opens one more event on a CPU, if that has a ring of its kind. */
static int add_to_ring(struct event_set *event_set, struct recorded_event event, size_t cpu,
		       open_event_function *open)
{
	if (event_set_ring(event_set, event.kind, cpu)->fd < 0)
		return 0; /* offline, or all tasks have exited */
	event.fd = open(&event_set->setup, -1, event_set->cpus[cpu]);
	if (event.fd == -ENODEV)
		return 0;
	return event.fd < 0 ? event.fd : attach_ring(event_set, event, cpu);
}

/* The same on each CPU. */
static int add_to_rings(struct event_set *event_set, struct recorded_event event,
			open_event_function *open)
{
	int r = 0;

	for (size_t i = 0; i < event_set->n_cpus && r == 0; i++)
		r = add_to_ring(event_set, event, i, open);
	return r;
}

int event_set_add_kernel_code(struct event_set *event_set)
{
	return add_to_rings(event_set, (struct recorded_event){ .kind = RING_SIDEBAND },
			    event_open_kernel_code);
}

int event_set_add_switches(struct event_set *event_set)
{
	const struct recorded_event event = { .kind = RING_SWITCHES };

	return add_to_rings(event_set, event, event_open_all_switches);
}

static int add_parts_of_waits(struct event_set *event_set, size_t cpu)
{
	const struct recorded_event event = { .kind = RING_WAITS, .number = WAITS_PARTS };

	return event_set->setup.has_wait_parts
		       ? add_to_ring(event_set, event, cpu, event_open_sample_parts)
		       : 0;
}

static int add_parts_of_samples(struct event_set *event_set, size_t cpu)
{
	const struct recorded_event event = { .kind = RING_SAMPLES, .number = SAMPLE_PARTS };

	return event_set->setup.has_sample_parts
		       ? add_to_ring(event_set, event, cpu, event_open_sample_parts)
		       : 0;
}

int event_set_add_parts(struct event_set *event_set, size_t cpu)
{
	int r = add_parts_of_samples(event_set, cpu);

	return r < 0 ? r : add_parts_of_waits(event_set, cpu);
}

int event_set_open_parts_again(struct event_set *event_set, size_t cpu)
{
	int r = add_parts_of_samples(event_set, cpu);

	return r < 0 || event_set->setup.has_switch_program ? r
							    : add_parts_of_waits(event_set, cpu);
}

/*
 * The CPU's old events keep their rings. A BPF program goes on to emit switches to the CPU's old
 * events, which the kernel has closed, so switches and waits are not opened again then.
 */
int event_set_open_again(struct event_set *event_set, size_t cpu)
{
	int r = 0;

	for (size_t kind = 0; kind < n_kinds(event_set) && r == 0; kind++)
		if (kind < RING_SWITCHES || !event_set->setup.has_switch_program)
			r = add_kind(event_set, kind, -1, cpu);
	return r < 0 ? r : event_set_open_parts_again(event_set, cpu);
}

int event_set_add_wakings(struct event_set *event_set)
{
	const struct recorded_event event = { .kind = RING_WAITS, .number = WAITS_WAKING };

	return add_to_rings(event_set, event, event_open_wakings);
}

static int compare_ids(const void *left, const void *right)
{
	const struct recorded_event *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

void event_set_sort_events(struct event_set *event_set)
{
	qsort(event_set->events, event_set->n_events, sizeof(*event_set->events), compare_ids);
}

const struct recorded_event *event_set_find_event(const struct event_set *event_set, uint64_t id)
{
	const struct recorded_event key = { .id = id };

	return bsearch(&key, event_set->events, event_set->n_events, sizeof(key), compare_ids);
}

int event_set_enable(struct event_set *event_set, enum ring_kind first, enum ring_kind last)
{
	for (size_t i = 0; i < event_set->n_events; i++) {
		const struct recorded_event *event = &event_set->events[i];

		if (event->kind >= first && event->kind <= last &&
		    ioctl(event->fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			return -errno;
	}
	return 0;
}

int event_set_enable_cpu(struct event_set *event_set, size_t cpu)
{
	for (size_t i = 0; i < event_set->n_events; i++)
		if (event_set->events[i].cpu == cpu &&
		    ioctl(event_set->events[i].fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			return -errno;
	return 0;
}

void event_set_disable(struct event_set *event_set)
{
	for (size_t i = 0; i < event_set->n_events; i++)
		ioctl(event_set->events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t event_set_time(const struct event_set *event_set)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < event_set->n_events; i++)
		if (event_set->events[i].kind == RING_SAMPLES && event_set->events[i].number == 0)
			ns += event_read_value(event_set->events[i].fd);
	return ns;
}

static uint64_t lost_of(const struct event_set *event_set, const struct recorded_event *event)
{
	return event_read_lost(&event_set->setup, event->fd);
}

uint64_t event_set_lost(const struct event_set *event_set, enum ring_kind kind)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < event_set->n_events; i++)
		if (event_set->events[i].kind == kind)
			lost += lost_of(event_set, &event_set->events[i]);
	return lost;
}

uint64_t event_set_lost_parts(const struct event_set *event_set, enum ring_kind kind)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < event_set->n_events; i++)
		if (event_set->events[i].kind == kind &&
		    recorded_event_is_of_parts(&event_set->events[i]))
			lost += lost_of(event_set, &event_set->events[i]);
	return lost;
}
