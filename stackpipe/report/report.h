/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a report is about, and the two ways of writing it. */
#pragma once

#include <regex.h>
#include <stdio.h>

#include "profile/counts.h"
#include "profile/recorder.h"

enum report_kind {
	REPORT_FUNCTIONS, /* and processes: the first look */
	REPORT_TREE,	  /* who calls whom, from the outside */
	REPORT_CALLERS,	  /* of a function */
	REPORT_CALLEES,
};

enum report_group {
	REPORT_BY_PROCESS,
	REPORT_BY_THREAD,
	REPORT_BY_IMAGE,
	REPORT_BY_CALL,
	REPORT_BY_CGROUP,
	REPORT_BY_WAKER, /* of waits: the thread that has ended them */
};

struct report_options {
	const char *path;
	enum report_kind kind;
	enum tree_detail detail;
	bool is_json, is_shown;
	bool shows_kernel; /* what it does while something waits */
	size_t name_width; /* of a terminal's line; 0: it is none */
	size_t n_rows;
	double min_percent; /* of a call tree's branches */
	double from, to;    /* seconds since the beginning; to 0: the end */
	regex_t *process, *thread, *cgroup, *symbol, *subject; /* NULL: not asked for */
	int64_t pid;					       /* -1: not asked for */
	const char *view_name;				       /* NULL: what is usual */
	struct view view;
	const char *unit_name; /* of a column */
	uint64_t unit;	       /* of what is counted there; 0: as it is */
};

struct report {
	const struct report_options *options;
	struct recorder *recorder;
	enum stage_stream_end end;
	struct tree tree;
	struct counts counts;
	struct counts waits;	/* of a first look, where there are any */
	bool is_first_look;	/* nobody has asked for a view */
	bool *is_thread;	/* by thread: it is looked at */
	const bool *is_subject; /* by function: matches `subject` */
};

void report_print_text(const struct report *report, FILE *out);
/* Parts of it: single functions; who calls whom. */
void report_print_functions(const struct report *report, FILE *out);
void report_print_tree(const struct report *report, FILE *out);

void report_print_json(const struct report *report, FILE *out);

/*
 * A list of counts by process, thread, image, control group or, of waits, the system call (or why
 * else), the most first. 0 or -ENOMEM.
 */
struct report_row {
	uint32_t name;
	uint64_t n;
	uint32_t id; /* PID or TID; else nothing */
};
int report_group(const struct report *report, enum report_group group, struct report_row **ret,
		 size_t *ret_n);

/*
 * What was waited for, and in which function of the program: the innermost that is neither of the
 * kernel nor of the C library. The most first. 0 or -ENOMEM.
 */
struct report_wait {
	uint32_t reason, function; /* names; function 0: in none */
	uint64_t n;
};
int report_waits(const struct report *report, struct report_wait **ret, size_t *ret_n);

/* The threads that are looked at and whose time is known, those with the most counts first. */
int report_threads_by_time(const struct report *report, uint32_t **ret, size_t *ret_n);

/* What of an amount is shown in a column of `unit_name`. */
static inline double report_shown(const struct report *report, uint64_t n)
{
	return report->options->unit ? (double)n / report->options->unit : n;
}

static inline double report_percent(const struct report *report, uint64_t n)
{
	return report->counts.sum ? 100.0 * n / report->counts.sum : 0;
}
