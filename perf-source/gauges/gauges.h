/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the whole machine does: counters that are read from /proc and /sys every now and then, by a
 * thread of their own, so that no file that is slow to read can delay a stack. A line that is
 * missing or makes no sense costs its counter a value, and nothing else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/stage/stage.h"
#include "perf-source/perf/side-thread.h"

enum {
	GAUGES_MAX = 1024,	  /* as many as a record holds */
	GAUGE_SNAPSHOTS_MAX = 64, /* that wait to be told; older ones go, and are counted */
	GAUGE_TEXT_MAX = 1 << 20, /* bytes of a file that are looked at */
};

/* What a gauge, a counter of a stream, is called, as Sysprof has room for it, and how its values
 * are to be read. */
struct gauge_name {
	char category[32], name[32], description[52];
	uint32_t divisor; /* of its values: 100 means hundredths */
};

struct gauge {
	struct gauge_name name;
	uint64_t value;
	bool has_value; /* this time */
	uint64_t total; /* what the file told last, where that grows */
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
	const char *what; /* for names of gauges */
};

struct gauges {
	const char *root;		/* before each path; empty but in tests */
	const struct gauge_file *files; /* borrowed */
	size_t n_files;
	char *text; /* of the file that is read */
	struct gauge *gauges;
	size_t n_gauges;
	uint64_t n_refused; /* gauges beyond the limit */

	/* Between the thread and whoever tells. */
	struct side_thread thread;
	uint64_t interval; /* nanoseconds */
	pthread_mutex_t lock;
	struct snapshot *snapshots[GAUGE_SNAPSHOTS_MAX];
	size_t n_snapshots, n_emitted; /* gauges whose names were told */
	uint64_t n_dropped;	       /* snapshots */
	uint64_t oldest;	       /* time of the first snapshot that waits; UINT64_MAX: none */
};

/* 0 or -ENOMEM. `root` and `files` are borrowed. */
int gauges_init(struct gauges *gauges, const char *root, const struct gauge_file *files,
		size_t n_files);
void gauges_deinit(struct gauges *gauges);

/* Reads every file once, and keeps what it says as a snapshot of `time`. 0 or -ENOMEM. */
int gauges_read(struct gauges *gauges, uint64_t time);

/* From now on a thread does so every `interval` nanoseconds. 0 or -errno. */
int gauges_start(struct gauges *gauges, uint64_t interval);
void gauges_stop(struct gauges *gauges);

/* Tells the snapshots up to a time, and names of counters before they are needed. 0 or -errno. */
int gauges_emit(struct gauges *gauges, struct stage *stage, uint64_t until);

/* Whether a snapshot waits that is no later than this: without a lock, for each record. */
static inline bool gauges_have(const struct gauges *gauges, uint64_t until)
{
	return __atomic_load_n(&gauges->oldest, __ATOMIC_RELAXED) <= until;
}

/* For the parsers of files: the gauge of that name, a new one if need be; NULL: no
 * room. */
struct gauge *gauges_find(struct gauges *gauges, const struct gauge_name *name);
