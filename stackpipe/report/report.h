/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a report shows, and its text and JSON writers. */
#pragma once

#include <regex.h>
#include <stdio.h>

#include "profile/counts.h"
#include "profile/label.h"
#include "profile/recorder.h"

enum report_kind {
	REPORT_FUNCTIONS, /* functions and processes: the default report */
	REPORT_TREE,	  /* call tree, from the outermost frames */
	REPORT_CALLERS,	  /* of a function */
	REPORT_CALLEES,
};

enum report_group {
	REPORT_BY_PROCESS,
	REPORT_BY_THREAD,
	REPORT_BY_IMAGE,
	REPORT_BY_CALL,
	REPORT_BY_CGROUP,
	REPORT_BY_WAKER, /* waits by the thread that ended them */
};

/* A text of samples that must match. */
struct report_condition {
	struct label label;
	regex_t *regex;
};

enum { REPORT_CONDITIONS_MAX = 16 };

struct report_options {
	const char *path;
	enum report_kind kind;
	enum tree_detail detail;
	bool is_json, is_shown;
	bool hides_interpreters; /* see interpreter-frames.h */
	bool shows_kernel;	 /* also the kernel's functions of a waiting thread */
	size_t name_width;	 /* columns for a name; 0: standard output is no terminal */
	size_t n_rows;
	double min_percent; /* smallest branch of a call tree that is shown */
	double from, to;    /* seconds since the start; to 0: until the end */
	regex_t *process, *thread, *cgroup, *symbol, *subject;	   /* NULL: no filter */
	int64_t pid;						   /* -1: no filter */
	struct report_condition conditions[REPORT_CONDITIONS_MAX]; /* all must hold */
	size_t n_conditions;
	struct label by; /* LABEL_NONE: functions and processes are listed */
	const char *by_name;
	const char *view_name; /* NULL: default view */
	struct view view;
	const char *unit_name; /* of the amount column */
	uint64_t unit;	       /* divides amounts for display; 0: not divided */
};

struct report_row {
	uint32_t name;
	uint64_t n;
	uint32_t id; /* PID or TID, else 0 */
};

/* The largest first. */
int report_compare_rows(const void *a, const void *b);

/* The sum of each label (report_options.by); name 0: of samples without one. */
struct report_labels {
	struct report_row *rows; /* owned */
	size_t n;
	struct pair_map index; /* (name, 0) → index */
};

struct report {
	const struct report_options *options;
	struct recorder *recorder;
	enum stage_stream_end end;
	struct tree tree;
	struct counts counts;
	struct counts waits;	/* only for a first look at a recording with waits */
	bool is_first_look;	/* no --view given, and the recording has waits */
	bool *is_thread;	/* by thread: passes the filters */
	const bool *is_subject; /* by function: its name matches `subject` */
	struct report_labels labels;
};

void report_print_text(const struct report *report, FILE *out);
/* Parts of report_print_text(): the function list, the call tree. */
void report_print_functions(const struct report *report, FILE *out);
void report_print_tree(const struct report *report, FILE *out);

void report_print_json(const struct report *report, FILE *out);

/*
 * Lists counts by process, thread, image, control group, waker or system call (or other reason of a
 * wait), the largest first. The caller frees the list. 0 or -ENOMEM.
 */
int report_group(const struct report *report, enum report_group group, struct report_row **ret,
		 size_t *ret_n);

/*
 * Lists what was waited for and in which function of the program: the innermost that belongs
 * neither to the kernel nor to the C library. The largest first; the caller frees. 0 or -ENOMEM.
 */
struct report_wait {
	uint32_t reason, function; /* names; function 0: none of the program */
	uint64_t n;
};
int report_waits(const struct report *report, struct report_wait **ret, size_t *ret_n);

/* report-labels.c: whether all conditions hold, and the sums of labels. 0 or -ENOMEM. */
void report_labels_init(struct report_labels *labels);
void report_labels_deinit(struct report_labels *labels);
bool report_labels_match(const struct report *report, const struct profile_sample *sample);
int report_labels_add(struct report *report, const struct profile_sample *sample, uint64_t n);
void report_labels_sort(struct report_labels *labels);

/* Lists selected threads with known CPU times, by falling count; the caller frees. 0 or -ENOMEM. */
int report_threads_by_time(const struct report *report, uint32_t **ret, size_t *ret_n);

/* Converts an amount to the unit of the column, `unit_name`. */
static inline double report_shown(const struct report *report, uint64_t n)
{
	return report->options->unit ? (double)n / report->options->unit : n;
}

static inline double report_percent(const struct report *report, uint64_t n)
{
	return report->counts.sum ? 100.0 * n / report->counts.sum : 0;
}
