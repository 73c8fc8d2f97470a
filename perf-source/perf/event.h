/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * perf_event_open(2): what is asked of the kernel, and what it grants. Two kinds of events are
 * opened on each CPU: those that sample, and a dummy that only tells of processes and mappings
 * (side-band), with a ring of its own so that samples cannot crowd it out. A third one shares that
 * ring: it tells of code of the kernel that comes and goes, whoever makes it do so. For waits there
 * are two more (off-cpu.h), each with a ring of its own: what tells of switches, and samples of who
 * is switched out.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "perf-source/perf/sampled-event.h"

struct event_setup {
	struct sampled_event events[SAMPLED_EVENTS_MAX];
	size_t n_events;
	bool is_anybodys; /* the first event is nobody's wish: cpu-clock does where it is missing */
	uint64_t rate;
	uint32_t stack_size;
	uint32_t sample_wakeup, switch_wakeup, sideband_wakeup; /* bytes in a ring that wake us */
	uint32_t waking_tracepoint; /* 0: not to be had, or not wanted */
	bool has_switch_program;    /* switches are paired in the kernel (switch-program.h) */
	bool enable_on_exec;
	bool inherit;

	/* What the kernel turned out not to give; settled by the first event that is opened. */
	bool no_kernel;	     /* it refuses to sample the kernel */
	bool no_lost_format; /* older than 6.0: it does not say at the end what was lost */
	bool no_first;	     /* cpu-clock has taken the place of the first event */
};

/*
 * Opens an event on `cpu`, one of those that are sampled by its number, of one task (its children
 * too with `inherit`) or, with pid -1, of all. Where the kernel refuses a part, asks for less and
 * notes it in `setup`. A descriptor or -errno: -EACCES, -EPERM: not allowed; -ESRCH: no such task;
 * -ENOENT: no such event here; -EBADMSG: the kernel does not understand a tracepoint's filter.
 */
int event_open_sample(struct event_setup *setup, uint32_t number, pid_t pid, int cpu);
int event_open_sideband(struct event_setup *setup, pid_t pid, int cpu);

/*
 * The same for waits, with what the sampling event was granted. -EACCES: without the kernel's side
 * there is nothing, as everybody is switched out by the kernel.
 */
int event_open_switches(const struct event_setup *setup, pid_t pid, int cpu);

/* PERF_RECORD_SAMPLE_RAW_TYPE, as are wakings, whose ring it is. */
int event_open_waits(const struct event_setup *setup, pid_t pid, int cpu);

/* Each switch, beside what a program tells of them. */
int event_open_all_switches(const struct event_setup *setup, pid_t pid, int cpu);

/* Whom a task wakes, with pid -1 each, and what it does then. Only with `waking_tracepoint`. */
int event_open_wakings(const struct event_setup *setup, pid_t pid, int cpu);

/*
 * The same for code of the kernel, of all tasks. -EINVAL: the kernel does not tell of it
 * (before 5.1).
 */
int event_open_kernel_code(const struct event_setup *setup, pid_t pid, int cpu);

/* Whether this kernel tells at the end what was lost (6.0): PERF_FORMAT_LOST. */
bool event_kernel_reports_lost(void);

/* By which its samples name an event. 0 or -errno. */
int event_read_id(int fd, uint64_t *ret);

/* What it has counted, of a clock nanoseconds; 0 if the kernel does not say. */
uint64_t event_read_value(int fd);

/* How many samples the kernel lost of an event, 0 if it does not say: PERF_FORMAT_LOST. */
uint64_t event_read_lost(const struct event_setup *setup, int fd);
