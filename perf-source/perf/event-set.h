/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All events of a recording and their rings: on each CPU one ring for samples and one for
 * side-band, and two more for waits; where several events are sampled, or several tasks recorded,
 * those on one CPU share its rings.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "perf-source/perf/event.h"
#include "perf-source/perf/ring.h"

enum {
	EVENT_SET_SMALL_MAX = 1024 * 1024,	  /* bytes of a ring without stacks */
	EVENT_SET_SIDEBAND_MIN = 16 * 1024,	  /* several of the largest records */
	EVENT_SET_SIDEBAND_MAX = 8 * 1024 * 1024, /* 180 ms of a CPU that only maps: 45 MB/s */
	EVENT_SET_WAITS_MIN = 16 * 1024 * 1024,	  /* of waits, however few samples are asked for */
};

/* Rings by what they hold: of each kind one a CPU, in this order. */
enum ring_kind {
	RING_SIDEBAND,
	RING_SAMPLES,
	RING_SWITCHES, /* only where they are told, or waits are recorded */
	RING_WAITS,    /* only where waits are: stacks of who goes, and of who wakes */
	N_RING_KINDS,
};

/* Of whom a stack of waits is; a program in the kernel tells of both by the first. */
enum { WAITS_GOING, WAITS_WAKING };

struct recorded_event {
	int fd; /* those that own a ring are the rings' */
	enum ring_kind kind;
	uint32_t number; /* of RING_SAMPLES that of what is sampled, of RING_WAITS as above */
	uint64_t id;	 /* by which its records name it */
};

struct event_set {
	struct event_setup setup;
	bool has_waits;
	bool has_switches;  /* each is told, whatever it is for */
	size_t ring_bytes;  /* of a ring of samples */
	size_t waits_bytes; /* of a ring of waits */
	int *cpus;	    /* that are there, online or not */
	bool *is_online;
	size_t n_cpus;
	struct ring *rings; /* by kind, then by CPU */
	size_t n_rings;
	struct recorded_event *events; /* every one that is open */
	size_t n_events;
	uint32_t opening; /* which of the sampled ones was opened last */
};

/* Learns which CPUs are online; `setup` and `ring_bytes` have been filled in. 0 or -errno. */
int event_set_init(struct event_set *event_set);

/* Closes everything. What was asked for stays, with what the kernel did not give of it. */
void event_set_deinit(struct event_set *event_set);

/*
 * Opens events of one task, or with pid -1 of all. 0 or -errno: -ESRCH: the task has gone;
 * -EACCES, -EPERM: not allowed; -ENOENT: no such event; -EMFILE; -ENOBUFS: smaller rings might do.
 */
int event_set_add(struct event_set *event_set, pid_t pid);

/* Opens the events of all tasks again on a CPU, by its index, that was offline; they are on. */
int event_set_open_again(struct event_set *event_set, size_t cpu);

/*
 * Opens the events that tell of code of the kernel, behind all others; they are on at once. 0 or
 * -errno: -EINVAL, -EACCES, -EPERM: it is not told (event.h), and the rest is as before.
 */
int event_set_add_kernel_code(struct event_set *event_set);

/* Opens events that tell of each switch where a program does it for waits, likewise. */
int event_set_add_switches(struct event_set *event_set);

/* Opens the events that tell of who wakes whom, of all tasks, likewise: others have theirs. */
int event_set_add_wakings(struct event_set *event_set);

/* When all are open that are to be found. */
void event_set_sort_events(struct event_set *event_set);

/* The event that a sample names; NULL: none of ours. */
const struct recorded_event *event_set_find_event(const struct event_set *event_set, uint64_t id);

/* Enables the events of these kinds. 0 or -errno. */
int event_set_enable(struct event_set *event_set, enum ring_kind first, enum ring_kind last);
void event_set_disable(struct event_set *event_set);

/* Nanoseconds that tasks have run under the first event, which is a clock of theirs. */
uint64_t event_set_time(const struct event_set *event_set);

/* Records of that kind's events that the kernel says were lost in all. */
uint64_t event_set_lost(const struct event_set *event_set, enum ring_kind kind);

static inline struct ring *event_set_ring(const struct event_set *event_set, enum ring_kind kind,
					  size_t cpu)
{
	return &event_set->rings[kind * event_set->n_cpus + cpu];
}

static inline enum ring_kind event_set_ring_kind(const struct event_set *event_set, size_t ring)
{
	return ring / event_set->n_cpus;
}
