/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "perf-source/recording.h"

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

int recording_init(struct recording *recording)
{
	int r = find_cpus(recording);

	if (r < 0)
		return r;
	recording->n_rings = 2 * recording->n_cpus;
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
			is_owned |= recording->rings[k].fd == recording->event_fds[i];
		if (!is_owned)
			close(recording->event_fds[i]);
	}
	for (size_t i = 0; recording->rings && i < recording->n_rings; i++)
		ring_close(&recording->rings[i]);
	free(recording->rings);
	free(recording->cpus);
	free(recording->event_fds);
	free(recording->is_sample);
	*recording = (struct recording){ 0 };
}

static int remember_event(struct recording *recording, int fd, bool is_sample)
{
	size_t n = recording->n_events + 1;
	int *fds = reallocarray(recording->event_fds, n, sizeof(*fds));
	bool *flags;

	if (!fds)
		return -ENOMEM;
	recording->event_fds = fds;
	flags = reallocarray(recording->is_sample, n, sizeof(*flags));
	if (!flags)
		return -ENOMEM;
	recording->is_sample = flags;
	fds[n - 1] = fd;
	flags[n - 1] = is_sample;
	recording->n_events = n;
	return 0;
}

static size_t ring_bytes(const struct recording *recording, bool is_sample)
{
	if (is_sample || recording->ring_bytes < RECORDING_SIDEBAND_MAX)
		return recording->ring_bytes;
	return RECORDING_SIDEBAND_MAX;
}

/* Gives an event the ring of its CPU, which the first event makes. Takes `fd` over. */
static int attach_ring(struct recording *recording, size_t index, int fd)
{
	struct ring *ring = &recording->rings[index];
	bool is_sample = recording_is_sample_ring(recording, index);
	_cleanup_fd_ int owned = fd;
	int r;

	if (ring->fd >= 0) {
		if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0)
			return -errno;
	} else {
		r = ring_open(ring, take_fd(&owned), ring_bytes(recording, is_sample));
		if (r < 0)
			return r;
	}
	r = remember_event(recording, fd, is_sample);
	if (r == 0)
		take_fd(&owned);
	return r;
}

int recording_add(struct recording *recording, pid_t pid)
{
	size_t n_sampled = 0;
	int fd, r = 0;

	for (size_t i = 0; i < recording->n_cpus && r == 0; i++) {
		fd = event_open_sideband(&recording->setup, pid, recording->cpus[i]);
		if (fd == -ENODEV) /* went offline */
			continue;
		r = fd < 0 ? fd : attach_ring(recording, i, fd);
		if (r < 0)
			break;
		fd = event_open_sample(&recording->setup, pid, recording->cpus[i]);
		if (fd == -ENODEV)
			continue;
		r = fd < 0 ? fd : attach_ring(recording, recording->n_cpus + i, fd);
		n_sampled++;
	}
	return r == 0 && !n_sampled ? -ENODEV : r;
}

int recording_add_kernel_code(struct recording *recording)
{
	int fd, r = 0;

	for (size_t i = 0; i < recording->n_cpus && r == 0; i++) {
		if (recording->rings[i].fd < 0) /* it is offline, or all tasks have ended */
			continue;
		fd = event_open_kernel_code(&recording->setup, recording->cpus[i]);
		if (fd == -ENODEV)
			continue;
		r = fd < 0 ? fd : attach_ring(recording, i, fd);
	}
	return r;
}

int recording_enable(struct recording *recording)
{
	for (size_t i = 0; i < recording->n_events; i++)
		if (ioctl(recording->event_fds[i], PERF_EVENT_IOC_ENABLE, 0) < 0)
			return -errno;
	return 0;
}

void recording_disable(struct recording *recording)
{
	for (size_t i = 0; i < recording->n_events; i++)
		ioctl(recording->event_fds[i], PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t recording_lost(const struct recording *recording)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < recording->n_events; i++)
		if (recording->is_sample[i])
			lost += event_read_lost(&recording->setup, recording->event_fds[i]);
	return lost;
}
