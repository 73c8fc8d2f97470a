/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perf-source: what it was asked for, and what it has while it records. */
#pragma once

#include "common/stage/stage.h"
#include "common/source/command.h"
#include "common/image-server/image-server.h"
#include "common/source/images.h"
#include "perf-source/perf/coming.h"
#include "perf-source/followed.h"
#include "perf-source/perf/gaps.h"
#include "perf-source/hotplug.h"
#include "perf-source/gauges/gauges.h"
#include "perf-source/marks.h"
#include "perf-source/perf/merge.h"
#include "perf-source/missing.h"
#include "common/source/processes.h"
#include "common/source/register-writers.h"
#include "perf-source/off-cpu/off-cpu.h"
#include "perf-source/perf/event-set.h"
#include "perf-source/perf/sample-filter.h"
#include "perf-source/off-cpu/scheduler.h"
#include "perf-source/off-cpu/switch-program.h"

struct perf_source_options {
	struct sampled_event events[SAMPLED_EVENTS_MAX];
	size_t n_events;	    /* 0: the best there is */
	size_t first_of_last;	    /* of those that the last option has named */
	const char *default_filter; /* of the best there is; NULL: none */
	uint64_t rate;
	uint32_t stack_size;
	size_t ring_bytes;	/* 0: enough for the rate and stack size */
	uint64_t duration;	/* nanoseconds, 0: until stopped */
	const char *marks_path; /* NULL: no marks */
	bool has_waits;
	bool has_scheduler;
	uint64_t counter_interval; /* nanoseconds; 0: no counters */
	uint64_t least_wait;	   /* nanoseconds; 0: a threshold that rises where there are many */
	bool all;
	pid_t *pids;
	size_t n_pids;
	char **command; /* NULL: none; with `all` or `pids` it only tells how long */
};

struct perf_source {
	struct perf_source_options options;
	struct command command;
	int *pid_fds; /* of the options' pids */
	bool follows; /* events are those of CPUs, and of them what `followed` concerns */
	struct followed followed;
	struct missing missing;
	struct hotplug hotplug;
	struct image_server server;
	struct event_set event_set;
	struct sample_filter filters[SAMPLED_EVENTS_MAX]; /* of its counters */
	size_t n_filters;
	struct merge merge;
	struct gaps gaps; /* of the rings of side-band */
	struct coming coming;
	struct register_writers register_writers;
	struct images images;
	struct processes processes;
	struct off_cpu off_cpu;
	struct switch_program switch_program; /* where event_set has it */
	struct scheduler *scheduler;	      /* owned; NULL: no marks of it */
	struct gauges gauges;
	struct marks marks;
	uint64_t lost_emitted; /* samples and events that LOST records told of */
	bool must_read_again;
	uint64_t read_again_at; /* all processes, not before */
	uint64_t images_checked_at;
	uint64_t start_time, realtime_ahead;
};

/* setup.c: opens everything and fills in the hello. Says itself what went wrong. */
int perf_source_start(struct stage *stage, void *self, struct wire_hello *hello);

/* limits.c: how often to sample, how much of a stack, and into how large rings. */
enum { RING_DEFAULT_MIN = 4 * 1024 * 1024 };

int limits_paranoid(void); /* kernel.perf_event_paranoid */
void limits_lower_rate(struct stage *stage, struct perf_source_options *options);
void limits_choose_stack_size(struct perf_source_options *options);
size_t limits_ring_bytes(struct stage *stage, const struct perf_source_options *options);
size_t limits_least_ring_bytes(const struct perf_source_options *options);
uint64_t limits_ring_milliseconds(const struct perf_source_options *options, size_t ring_bytes);

/* begin.c: emits what is there already, and lets the events begin. 0 or -errno. */
int perf_source_begin(struct stage *stage, struct perf_source *self);

/* statistics.c: at the end, counts for --stats, and warns of samples that are missing. */
void perf_source_count(struct stage *stage, struct perf_source *self);

/* recorder.c: records until it is time to stop. */
int perf_source_run(struct stage *stage, void *self);

/* Waits for those who still need images. */
int perf_source_close(struct stage *stage, void *self);
void perf_source_deinit(void *self);
