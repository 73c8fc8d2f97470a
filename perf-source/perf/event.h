/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * perf_event_open(2): what is requested and what the kernel grants. Each CPU has sampling events
 * and a dummy event that only reports processes and mappings (side-band), in a ring of its own so
 * that samples cannot crowd it out. A third event shares that ring: it reports kernel code that any
 * task loads or removes. Waits take two more (off-cpu.h), each with its own ring: one reports
 * switches, the other samples threads as they are switched out.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/source/perf-record.h"
#include "perf-source/perf/sampled-event.h"

struct event_setup {
	struct sampled_event events[SAMPLED_EVENTS_MAX];
	size_t n_events;
	bool is_anybodys; /* the first event is the default: it may fall back to cpu-clock */
	uint64_t rate;
	bool is_counted; /* samples of events are of so many occurrences, without their period */
	uint32_t stack_size;
	uint32_t sample_wakeup, switch_wakeup, sideband_wakeup; /* bytes written that wake us */
	uint32_t waking_tracepoint;				/* 0: unavailable or not wanted */
	int waits_program_fd;	 /* of waits that are sampled; borrowed, -1: none */
	bool has_switch_program; /* switches are paired in the kernel (switch-program.h) */
	bool has_sample_parts;	 /* a BPF program emits contexts and stacks (sample-parts.h) */
	bool has_wait_parts;	 /* the same of waits */
	bool enable_on_exec;
	bool inherit;

	/* What the kernel does not grant; settled when the first event is opened. */
	bool no_kernel;	     /* sampling the kernel is refused */
	bool no_lost_format; /* before 6.0: no count of lost records (PERF_FORMAT_LOST) */
	bool no_first;	     /* cpu-clock has replaced the first event */
};

/* The layout of samples of the sampled events. */
static inline uint64_t event_sample_type(const struct event_setup *setup)
{
	return setup->is_counted ? PERF_RECORD_COUNTED_TYPE : PERF_RECORD_SAMPLE_TYPE;
}

/*
 * Opens an event on `cpu` for one task (with `inherit` also its children) or, with pid -1, for all
 * tasks; `number` is that of a sampled event. Where the kernel refuses a part, requests less and
 * records that in `setup`. A descriptor or -errno: -EACCES, -EPERM: not allowed; -ESRCH: no such
 * task; -ENOENT: no such event here; -EBADMSG: the kernel rejects a tracepoint's filter.
 */
int event_open_sample(struct event_setup *setup, uint32_t number, pid_t pid, int cpu);
int event_open_sideband(struct event_setup *setup, pid_t pid, int cpu);

/* Parts of samples, of all tasks; enabled at once, as programs emit none without a sample. */
int event_open_sample_parts(const struct event_setup *setup, pid_t pid, int cpu);

/*
 * The same for waits, with what the sampling event was granted. -EACCES: the kernel may not be
 * sampled, but switches happen only there.
 */
int event_open_switches(const struct event_setup *setup, pid_t pid, int cpu);

/* Stacks of waits: PERF_RECORD_SAMPLE_RAW_TYPE, as those of wakings, which share the ring. */
int event_open_waits(const struct event_setup *setup, pid_t pid, int cpu);

/* Every switch, in addition to the waits that our BPF program emits. */
int event_open_all_switches(const struct event_setup *setup, pid_t pid, int cpu);

/* Wake-ups by a task, with pid -1 by any, and the waker's stack. Needs `waking_tracepoint`. */
int event_open_wakings(const struct event_setup *setup, pid_t pid, int cpu);

/* Kernel code that any task loads or removes. -EINVAL: not reported (before Linux 5.1). */
int event_open_kernel_code(const struct event_setup *setup, pid_t pid, int cpu);

/* Whether this kernel counts lost records for each event (6.0): PERF_FORMAT_LOST. */
bool event_kernel_reports_lost(void);

/* The id by which samples name the event. 0 or -errno. */
int event_read_id(int fd, uint64_t *ret);

/* The event's count, of a clock in nanoseconds; 0 if it cannot be read. */
uint64_t event_read_value(int fd);

/* How many records of the event the kernel lost (PERF_FORMAT_LOST); 0 if it does not report it. */
uint64_t event_read_lost(const struct event_setup *setup, int fd);
