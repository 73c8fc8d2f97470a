/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All events of a recording and their rings: on each CPU one ring for samples, one for side-band
 * and two more for waits. Several sampled events, or events of several tasks, share these rings.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "perf-source/perf/event.h"
#include "perf-source/perf/ring.h"

enum {
	EVENT_SET_SMALL_MAX = 1024 * 1024,	  /* bytes of a ring that holds no stacks */
	EVENT_SET_SIDEBAND_MIN = 16 * 1024,	  /* several of the largest records */
	EVENT_SET_SIDEBAND_MAX = 8 * 1024 * 1024, /* 180 ms of a CPU that only maps: 45 MB/s */
	EVENT_SET_WAITS_MIN = 16 * 1024 * 1024,	  /* default of waits, at any sampling rate */
};

/* Rings by content: one of each kind for each CPU, in this order. */
enum ring_kind {
	RING_SIDEBAND,
	RING_SAMPLES,
	RING_SWITCHES, /* only with --scheduler, or with waits */
	RING_WAITS,    /* only with waits: stacks of threads switched out, and of wakers */
	N_RING_KINDS,
};

/* Whose stack a sample of RING_WAITS has; our BPF program emits both kinds by the first. */
enum { WAITS_GOING, WAITS_WAKING, WAITS_PARTS /* no sample: parts of one */ };

/* In RING_SAMPLES, the number of what is no sample: parts of one (sample-parts.h). */
enum { SAMPLE_PARTS = SAMPLED_EVENTS_MAX };

struct recorded_event {
	int fd; /* owned; by the ring if this event created it */
	enum ring_kind kind;
	uint32_t number; /* RING_SAMPLES: of the sampled event, SAMPLE_PARTS; RING_WAITS: WAITS_… */
	size_t cpu;	 /* index of its CPU */
	uint64_t id;	 /* by which records name the event */
};

struct event_set {
	struct event_setup setup;
	bool has_waits;
	bool has_switches;  /* every switch is recorded (--scheduler) */
	size_t ring_bytes;  /* of a ring of samples */
	size_t waits_bytes; /* of a ring of waits */
	int *cpus;	    /* all present, online or not */
	bool *is_online;
	size_t n_cpus;
	struct ring *rings; /* by kind, then by CPU */
	size_t n_rings;
	struct recorded_event *events; /* all open events */
	size_t n_events;
	uint32_t opening; /* number of the sampled event opened last */
};

static inline bool recorded_event_is_of_parts(const struct recorded_event *event)
{
	return (event->kind == RING_SAMPLES && event->number == SAMPLE_PARTS) ||
	       (event->kind == RING_WAITS && event->number == WAITS_PARTS);
}

/* Finds the CPUs; `setup` and the sizes of rings have been filled in. 0 or -errno. */
int event_set_init(struct event_set *event_set);

/* Closes everything, but keeps `setup`, with what the kernel did not grant. */
void event_set_deinit(struct event_set *event_set);

/*
 * Opens events of one task, or with pid -1 of all. 0 or -errno: -ESRCH: the task has exited;
 * -EACCES, -EPERM: not allowed; -ENOENT: no such event; -EMFILE; -ENOBUFS: smaller rings may fit.
 */
int event_set_add(struct event_set *event_set, pid_t pid);

/* Opens the events of all tasks again on a CPU (its index) that was offline. */
int event_set_open_again(struct event_set *event_set, size_t cpu);

/* The same where those of tasks go on by themselves: the events of parts are of their CPU. */
int event_set_open_parts_again(struct event_set *event_set, size_t cpu);

/* Enables all events of a CPU. 0 or -errno. */
int event_set_enable_cpu(struct event_set *event_set, size_t cpu);

/*
 * Opens the events that report kernel code, after all others; they are enabled at once. 0 or
 * -errno: -EINVAL, -EACCES, -EPERM: it is not reported (event.h); other events are unaffected.
 */
int event_set_add_kernel_code(struct event_set *event_set);

/* Likewise opens events that report every switch, where a BPF program pairs waits. */
int event_set_add_switches(struct event_set *event_set);

/* Opens the events of parts of samples on a CPU (its index) that has rings, if they are needed. */
int event_set_add_parts(struct event_set *event_set, size_t cpu);

/* Likewise opens wake-up events of all tasks; event_set_add() opens those of single tasks. */
int event_set_add_wakings(struct event_set *event_set);

/* To be called when all events that event_set_find_event() is to find are open. */
void event_set_sort_events(struct event_set *event_set);

/* The event that a sample names; NULL: not ours. */
const struct recorded_event *event_set_find_event(const struct event_set *event_set, uint64_t id);

/* Enables the events of the kinds `first` to `last`. 0 or -errno. */
int event_set_enable(struct event_set *event_set, enum ring_kind first, enum ring_kind last);
void event_set_disable(struct event_set *event_set);

/* Nanoseconds that the recorded tasks have run, by the first event, which must be a clock. */
uint64_t event_set_time(const struct event_set *event_set);

/* The kernel's count of all lost records of that kind's events; and those that are parts. */
uint64_t event_set_lost(const struct event_set *event_set, enum ring_kind kind);
uint64_t event_set_lost_parts(const struct event_set *event_set, enum ring_kind kind);

static inline struct ring *event_set_ring(const struct event_set *event_set, enum ring_kind kind,
					  size_t cpu)
{
	return &event_set->rings[kind * event_set->n_cpus + cpu];
}

static inline enum ring_kind event_set_ring_kind(const struct event_set *event_set, size_t ring)
{
	return ring / event_set->n_cpus;
}
