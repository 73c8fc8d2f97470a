/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * perf_event_open(2): what is asked of the kernel, and what it grants. Two kinds of events are
 * opened on each CPU: the one that samples, and a dummy that only tells of processes and mappings
 * (side-band), with a ring of its own so that samples cannot crowd it out. A third one shares that
 * ring: it tells of code of the kernel that comes and goes, whoever makes it do so.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct event_setup {
	const char *name; /* of the event; NULL: cycles, or cpu-clock where there are none */
	uint64_t rate;
	uint32_t stack_size;
	uint32_t sample_wakeup, sideband_wakeup; /* bytes in a ring that wake us */
	bool enable_on_exec;
	bool inherit;

	/* What the kernel turned out not to give; settled by the first event that is opened. */
	bool no_kernel;	     /* it refuses to sample the kernel */
	bool no_lost_format; /* older than 6.0: it does not say at the end what was lost */
	bool no_cycles;	     /* no hardware counter here */
};

/* Whether there is an event of that name. */
bool event_is_known(const char *name);

/* The name of the event that is sampled, after the first one has been opened. */
const char *event_name(const struct event_setup *setup);

/*
 * Opens an event on `cpu`, of one task (its children too with `inherit`) or, with pid -1, of all.
 * Where the kernel refuses a part, asks for less and notes it in `setup`. A descriptor or -errno:
 * -EACCES, -EPERM: not allowed; -ESRCH: no such task; -ENOENT: no such event here.
 */
int event_open_sample(struct event_setup *setup, pid_t pid, int cpu);
int event_open_sideband(struct event_setup *setup, pid_t pid, int cpu);

/*
 * The same for code of the kernel, always of all tasks. -EINVAL: the kernel does not tell of it
 * (before 5.1).
 */
int event_open_kernel_code(const struct event_setup *setup, int cpu);

/* How many samples the kernel lost of an event, 0 if it does not say: PERF_FORMAT_LOST. */
uint64_t event_read_lost(const struct event_setup *setup, int fd);
