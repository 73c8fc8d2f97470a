/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "perf-source/recording.h"

enum {
	FILTER_TIDS_MAX = 128, /* the kernel takes a page of text */
	FILTER_SIZE = 4000,
};

/* "0-3,8" of /sys/devices/system/cpu/online; all that are configured where that is not to be had.
 */
static int find_cpus(struct recording *recording)
{
	_cleanup_file_ FILE *file = fopen("/sys/devices/system/cpu/online", "re");
	long n_configured = sysconf(_SC_NPROCESSORS_CONF);
	int first, last;

	recording->cpus = calloc(n_configured, sizeof(*recording->cpus));
	if (!recording->cpus)
		return -ENOMEM;
	while (file && fscanf(file, "%d", &first) == 1) {
		last = first;
		if (fscanf(file, "-%d", &last) < 0)
			last = first;
		while (first <= last && (long)recording->n_cpus < n_configured)
			recording->cpus[recording->n_cpus++] = first++;
		if (fgetc(file) != ',')
			break;
	}
	while (!file && (long)recording->n_cpus < n_configured) {
		recording->cpus[recording->n_cpus] = recording->n_cpus;
		recording->n_cpus++;
	}
	return recording->n_cpus ? 0 : -ENODEV;
}

static size_t n_kinds(const struct recording *recording)
{
	return recording->has_waits ? N_RING_KINDS : RING_SWITCHES;
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
	free(recording->events);
	free(recording->numbers);
	*recording = (struct recording){ 0 };
}

static int remember_event(struct recording *recording, const struct recorded_event *event)
{
	size_t n = recording->n_events + 1;
	struct recorded_event *events = reallocarray(recording->events, n, sizeof(*events));

	if (!events)
		return -ENOMEM;
	recording->events = events;
	events[n - 1] = *event;
	recording->n_events = n;
	return 0;
}

static size_t ring_bytes(const struct recording *recording, enum ring_kind kind)
{
	if (kind == RING_WAITS)
		return recording->waits_bytes;
	if (kind == RING_SAMPLES || recording->ring_bytes < RECORDING_SMALL_MAX)
		return recording->ring_bytes;
	return RECORDING_SMALL_MAX;
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

int recording_add(struct recording *recording, pid_t pid)
{
	size_t n_cpus = 0;
	int r;

	for (size_t i = 0; i < recording->n_cpus; i++) {
		r = 0;
		for (size_t kind = 0; kind < n_kinds(recording) && r == 0; kind++)
			r = add_kind(recording, kind, pid, i);
		if (r < 0 && r != -ENODEV)
			return r;
		n_cpus += r == 0;
	}
	return n_cpus ? 0 : -ENODEV;
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

int recording_add_wakings(struct recording *recording)
{
	struct recorded_event event = { .kind = RING_SWITCHES };
	int r = 0;

	for (size_t i = 0; i < recording->n_cpus && r == 0; i++) {
		if (recording->rings[RING_SWITCHES * recording->n_cpus + i].fd < 0)
			continue;
		event.fd = event_open_wakings(&recording->setup, recording->cpus[i]);
		if (event.fd == -ENODEV)
			continue;
		r = event.fd < 0 ? event.fd : attach_ring(recording, event, i);
	}
	return r;
}

/* "prev_pid!=12&&prev_pid!=34" */
static void put_filter(const uint32_t *tids, size_t n, char *ret, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < n && used < size; i++)
		used += snprintf(ret + used, size - used, "%sprev_pid!=%" PRIu32, i ? "&&" : "",
				 tids[i]);
}

/* An event has one filter in its life: another one takes the place of the last in its ring. */
static int replace_waits(struct recording *recording, size_t index, size_t cpu, const char *filter)
{
	const struct ring *ring = &recording->rings[RING_WAITS * recording->n_cpus + cpu];
	_cleanup_fd_ int fd = event_open_waits(&recording->setup, -1, recording->cpus[cpu]);
	int old = recording->events[index].fd;

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0)
		return -errno;
	if (*filter) {
		int r = event_filter(fd, filter);

		if (r < 0)
			return r;
	}
	ioctl(old, PERF_EVENT_IOC_DISABLE, 0);
	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	recording->events[index].fd = take_fd(&fd);
	recording->lost_before[RING_WAITS] += event_read_lost(&recording->setup, old);
	if (old != ring->fd)
		close(old);
	return 0;
}

int recording_leave_out_waits(struct recording *recording, const uint32_t *tids, size_t n)
{
	char filter[FILTER_SIZE] = "";
	size_t cpu = 0;
	int r = 0;

	if (!recording->setup.switch_tracepoint)
		return -EOPNOTSUPP;
	put_filter(tids, n < FILTER_TIDS_MAX ? n : FILTER_TIDS_MAX, filter, sizeof(filter));
	for (size_t i = 0; i < recording->n_events && r == 0; i++) {
		if (recording->events[i].kind != RING_WAITS)
			continue;
		while (recording->rings[RING_WAITS * recording->n_cpus + cpu].fd < 0)
			cpu++;
		r = replace_waits(recording, i, cpu++, filter);
	}
	return r;
}

struct event_number {
	uint64_t id;
	uint32_t number;
};

static int compare_ids(const void *left, const void *right)
{
	const struct event_number *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

int recording_number_events(struct recording *recording)
{
	recording->numbers = calloc(recording->n_events, sizeof(*recording->numbers));
	if (!recording->numbers)
		return -ENOMEM;
	for (size_t i = 0; i < recording->n_events; i++) {
		const struct recorded_event *event = &recording->events[i];

		if (event->kind == RING_SAMPLES)
			recording->numbers[recording->n_numbers++] =
				(struct event_number){ event->id, event->number };
	}
	qsort(recording->numbers, recording->n_numbers, sizeof(*recording->numbers), compare_ids);
	return 0;
}

int recording_find_number(const struct recording *recording, uint64_t event_id, uint32_t *ret)
{
	const struct event_number key = { .id = event_id }, *found;

	found = bsearch(&key, recording->numbers, recording->n_numbers, sizeof(key), compare_ids);
	*ret = found ? found->number : 0;
	return found ? 0 : -ENOENT;
}

int recording_enable(struct recording *recording)
{
	for (size_t i = 0; i < recording->n_events; i++)
		if (ioctl(recording->events[i].fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			return -errno;
	return 0;
}

void recording_disable(struct recording *recording)
{
	for (size_t i = 0; i < recording->n_events; i++)
		ioctl(recording->events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t recording_lost(const struct recording *recording, enum ring_kind kind)
{
	uint64_t lost = recording->lost_before[kind];

	for (size_t i = 0; i < recording->n_events; i++)
		if (recording->events[i].kind == kind)
			lost += event_read_lost(&recording->setup, recording->events[i].fd);
	return lost;
}
