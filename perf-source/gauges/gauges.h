/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counters of the whole machine, read from /proc and /sys at intervals by a thread of their own, so
 * that a slow file cannot delay a stack. A missing or damaged line only costs its counter a value.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/stage/stage.h"
#include "perf-source/perf/side-thread.h"

enum {
	GAUGES_MAX = 1024,	  /* as many as a record holds */
	GAUGE_SNAPSHOTS_MAX = 64, /* not yet emitted; older ones are dropped and counted */
	GAUGE_TEXT_MAX = 1 << 20, /* bytes of a file that are read */
};

/* The name of a gauge, a counter of the stream, in the sizes of Sysprof, and its values' unit. */
struct gauge_name {
	char category[32], name[32], description[52];
	uint32_t divisor; /* of its values: 100 means hundredths */
};

struct gauge {
	struct gauge_name name;
	uint64_t value;
	bool has_value; /* in this reading */
	uint64_t total; /* the file's last value, of one that only grows */
	uint64_t total_at;
};

struct snapshot {
	uint64_t time;
	size_t n;
	struct wire_counter_value values[]; /* numbered from 1 on */
};

struct gauges;

struct gauge_file {
	const char *path;
	/* `text` ends with a zero byte, and is changed. `time` is when it was read. */
	void (*parse)(struct gauges *gauges, char *text, uint64_t time, const char *what);
	const char *what; /* part of the names of gauges */
};

struct gauges {
	const char *root;		/* prefix of each path; empty except in tests */
	const struct gauge_file *files; /* borrowed */
	size_t n_files;
	char *text; /* of the file being read */
	struct gauge *gauges;
	size_t n_gauges;
	uint64_t n_refused; /* gauges beyond the limit */

	/* Shared by the thread and gauges_emit(). */
	struct side_thread thread;
	uint64_t interval; /* nanoseconds */
	pthread_mutex_t lock;
	struct snapshot *snapshots[GAUGE_SNAPSHOTS_MAX];
	size_t n_snapshots, n_emitted; /* gauges whose names were emitted */
	uint64_t n_dropped;	       /* snapshots */
	uint64_t oldest;	       /* time of the first waiting snapshot; UINT64_MAX: none */
};

/* 0 or -ENOMEM. `root` and `files` are borrowed. */
int gauges_init(struct gauges *gauges, const char *root, const struct gauge_file *files,
		size_t n_files);
void gauges_deinit(struct gauges *gauges);

/* Reads every file once, and queues the values as a snapshot of `time`. 0 or -ENOMEM. */
int gauges_read(struct gauges *gauges, uint64_t time);

/* Starts a thread that does so every `interval` nanoseconds. 0 or -errno. */
int gauges_start(struct gauges *gauges, uint64_t interval);
void gauges_stop(struct gauges *gauges);

/* Emits the snapshots up to a time, and each counter's name before its first value. 0 or -errno. */
int gauges_emit(struct gauges *gauges, struct stage *stage, uint64_t until);

/* Whether a snapshot up to `until` waits. Takes no lock, as it is called for each record. */
static inline bool gauges_have(const struct gauges *gauges, uint64_t until)
{
	return __atomic_load_n(&gauges->oldest, __ATOMIC_RELAXED) <= until;
}

/* For parsers of files: the gauge of that name, added if it is new; NULL: no room. */
struct gauge *gauges_find(struct gauges *gauges, const struct gauge_name *name);
