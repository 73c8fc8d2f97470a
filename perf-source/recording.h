/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All events of a recording and their rings: on each CPU one ring for samples and one for
 * side-band; where several tasks are recorded, their events on one CPU share its rings.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "perf-source/event.h"
#include "perf-source/ring.h"

enum {
	RECORDING_SIDEBAND_MAX = 1024 * 1024, /* bytes of a ring */
};

struct recording {
	struct event_setup setup;
	size_t ring_bytes; /* of a ring of samples */
	int *cpus;
	size_t n_cpus;
	struct ring *rings; /* first those of side-band, then those of samples, by CPU */
	size_t n_rings;
	int *event_fds; /* every event; those that own a ring are the rings' */
	bool *is_sample;
	size_t n_events;
};

/* Learns which CPUs are online; `setup` and `ring_bytes` have been filled in. 0 or -errno. */
int recording_init(struct recording *recording);
void recording_deinit(struct recording *recording);

/*
 * Opens events of one task, or with pid -1 of all. 0 or -errno: -ESRCH: the task has gone;
 * -EACCES, -EPERM: not allowed; -ENOENT: no such event; -EMFILE; -ENOBUFS: smaller rings might do.
 */
int recording_add(struct recording *recording, pid_t pid);

/*
 * Opens the events that tell of code of the kernel, behind all others; they are on at once. 0 or
 * -errno: -EINVAL, -EACCES, -EPERM: it is not told (event.h), and the rest is as before.
 */
int recording_add_kernel_code(struct recording *recording);

int recording_enable(struct recording *recording);
void recording_disable(struct recording *recording);

/* Samples that the kernel says were lost in all. */
uint64_t recording_lost(const struct recording *recording);

/* Whether a ring holds samples. */
static inline bool recording_is_sample_ring(const struct recording *recording, size_t ring)
{
	return ring >= recording->n_cpus;
}
