/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perf-source: its options, and its state while it records. */
#pragma once

#include "common/image-server/image-server.h"
#include "common/source/command.h"
#include "common/source/images.h"
#include "common/source/processes.h"
#include "common/source/register-writers.h"
#include "common/stage/stage.h"
#include "perf-source/bpf/context-program.h"
#include "perf-source/bpf/sample-program.h"
#include "perf-source/bpf/switch-program.h"
#include "perf-source/context/contexts.h"
#include "perf-source/followed.h"
#include "perf-source/gauges/gauges.h"
#include "perf-source/hotplug.h"
#include "perf-source/marks.h"
#include "perf-source/missing.h"
#include "perf-source/off-cpu/off-cpu.h"
#include "perf-source/off-cpu/scheduler.h"
#include "perf-source/perf/coming.h"
#include "perf-source/perf/event-set.h"
#include "perf-source/perf/gaps.h"
#include "perf-source/perf/merge.h"
#include "perf-source/perf/sample-parts.h"
#include "perf-source/unwind/kernel-walks.h"

/* Where stacks are unwound. */
enum unwind_mode {
	UNWIND_MODE_AUTO,   /* in the kernel, if it can run programs */
	UNWIND_MODE_KERNEL, /* there, or it is an error */
	UNWIND_MODE_COPY,   /* by live-unwinder: all are copied */
};

struct perf_source_options {
	struct sampled_event events[SAMPLED_EVENTS_MAX];
	size_t n_events;	    /* 0: the default event */
	size_t first_of_last;	    /* index of the first event of the last -e */
	const char *default_filter; /* of the default event; NULL: none */
	uint64_t rate;
	bool has_rate;	/* -F was given */
	uint64_t count; /* occurrences of an event for one sample; 0: it is sampled at the rate */
	uint32_t stack_size;
	uint64_t stack_limit;	/* bytes up to which deep stacks are read; 0: none */
	size_t ring_bytes;	/* 0: enough for the rate and stack size */
	uint64_t duration;	/* nanoseconds, 0: until stopped */
	const char *marks_path; /* NULL: no marks */
	bool has_waits;
	bool has_scheduler;
	bool no_contexts;
	bool no_interpreters;
	bool needs_interpreters; /* without what they need it fails */
	enum unwind_mode unwind;
	bool no_cache;
	int compression_level; /* 0: the stream is not compressed */
	uint32_t judged_every; /* of so many stacks that the kernel walks one is copied as well */
	uint64_t counter_interval; /* nanoseconds; 0: no counters */
	uint64_t least_wait;	   /* nanoseconds; 0: a threshold that rises with many waits */
	bool all;
	pid_t *pids;
	size_t n_pids;
	char **command; /* NULL: none; with `all` or `pids` it only sets the duration */
};

struct perf_source {
	struct perf_source_options options;
	struct command command;
	int *pid_fds; /* pidfds of options.pids */
	bool follows; /* events are CPU-wide, and only what `followed` concerns is taken */
	struct followed followed;
	struct missing missing;
	struct hotplug hotplug;
	struct image_server server;
	struct event_set event_set;
	struct sample_program sample_programs[SAMPLED_EVENTS_MAX]; /* of counters */
	size_t n_sample_programs;
	struct sample_program waits_program; /* of waits that are sampled; may not be loaded */
	struct sample_parts *sample_parts;   /* of each ring */
	struct merge merge;
	struct gaps gaps; /* of the side-band rings */
	struct coming coming;
	struct register_writers register_writers;
	struct images images;
	struct processes processes;
	struct context_program context_program;
	const char *why_no_interpreters; /* are read; NULL: they are, unless they are not wanted */
	struct contexts contexts;
	const char *why_no_kernel_walks; /* of stacks; NULL: there are, unless not wanted */
	struct kernel_walks kernel_walks;
	uint64_t *looked_at; /* for these, up to where in each side-band ring; NULL: nothing is */
	struct off_cpu off_cpu;
	struct switch_program switch_program; /* if event_set.setup.has_switch_program */
	struct scheduler *scheduler;	      /* owned; NULL: without --scheduler */
	struct gauges gauges;
	struct marks marks;
	uint64_t n_scripts;    /* numbers of memory records so far */
	uint64_t lost_emitted; /* records of sample rings, by PERF_RECORD_LOST */
	bool must_read_again;
	uint64_t read_again_at; /* all processes, no earlier */
	uint64_t images_checked_at;
	uint64_t start_time, realtime_ahead;
};

/* setup.c: opens everything, fills in the hello, and reports errors. */
int perf_source_start(struct stage *stage, void *self, struct wire_hello *hello);

/*
 * programs.c: loads the BPF programs of sampled events (0 or -errno; -ECANCELED after a message),
 * and of waits; opens the events to which they emit parts of samples, when the others are open; has
 * them emit to those of event_set.events from an index on (both 0 or -errno).
 */
int programs_load(struct stage *stage, struct perf_source *self);
void programs_load_of_waits(struct stage *stage, struct perf_source *self);
int programs_open_outputs(struct perf_source *self);
int programs_set_outputs(struct perf_source *self, size_t first);

/* Begins to keep up what the kernel walks stacks by, if it does. 0 or -errno. */
int programs_begin_walks(struct perf_source *self);

/* That many bytes that count against the share of parts have been read from a CPU's ring. */
void programs_note_read(struct perf_source *self, enum ring_kind kind, uint32_t cpu, size_t bytes);

/* How many objects of interpreters had no room. */
uint64_t programs_count_left(const struct perf_source *self);

/* limits.c: the rate, the stack size and the size of rings. */
enum {
	RING_DEFAULT_MIN = 4 * 1024 * 1024,
	STACK_LIMIT_MAX = 64 * 1024 * 1024,
	/* Of a sample whose stack our program reads: few have more, the average is 1 to 6 KiB. */
	STACK_BYTES_READ = 8192,
};
#define STACK_LIMIT_UNSET UINT64_MAX

int limits_paranoid(void); /* kernel.perf_event_paranoid */
void limits_lower_rate(struct stage *stage, struct perf_source_options *options);
void limits_raise_count(struct stage *stage, struct sampled_event *event);
void limits_choose_stack_size(struct perf_source_options *options);
/* `stack_bytes`: what a sample's stack takes in a ring. */
size_t limits_ring_bytes(struct stage *stage, const struct perf_source_options *options,
			 uint32_t stack_bytes);
size_t limits_least_ring_bytes(const struct perf_source_options *options);
uint64_t limits_ring_milliseconds(const struct perf_source_options *options, size_t ring_bytes);

/* begin.c: emits what exists already, and enables the events. 0 or -errno. */
int perf_source_begin(struct stage *stage, struct perf_source *self);

/* statistics.c: at the end, counts for --stats, and warns of missing samples. */
void perf_source_count(struct stage *stage, struct perf_source *self);

/* recorder.c: records until it is time to stop. */
int perf_source_run(struct stage *stage, void *self);

/* Waits until no later stage needs images any more. */
int perf_source_close(struct stage *stage, void *self);
void perf_source_deinit(void *self);
