/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a heap report shows, and its text and JSON writers. */
#pragma once

#include "heap/heap-recorder.h"
#include "stackpipe/report/report.h"

struct heap_report {
	struct report_options options; /* of its function lists and trees */
	enum heap_metric metric;
	enum heap_unit unit;
	enum heap_scope scope;
	double points[HEAP_POINTS_MAX]; /* --between: seconds since the start; -1: none */
	struct heap_recorder *heap;
	enum stage_stream_end end;
};

/* Returns the name of a thread; its process may have been forgotten already. */
const char *heap_thread_name(struct heap_recorder *self, const struct heap_thread *thread);

/* Two recordings to compare. */
struct heap_against {
	const struct heap_report *report; /* metric, unit and options */
	const char *before, *after;
};

/* In heap-against.c. Returns an exit status. */
int heap_against_print(const struct heap_against *against);

/* Print a finished report. 0 or -errno, for lack of memory or output errors. */
int heap_report_print_text(struct heap_report *report, FILE *out);
int heap_report_print_json(struct heap_report *report, FILE *out);

/* Counts of one metric by function. */
struct heap_counts {
	struct tree tree;
	struct counts counts;
};

int heap_counts_init(struct heap_counts *counts, struct heap_report *report,
		     enum heap_metric metric);
void heap_counts_deinit(struct heap_counts *counts);

/* Lists changes between the points by function, largest first; the caller frees. 0 or -ENOMEM. */
struct heap_change {
	uint32_t function;
	int64_t self, total;
};
int heap_changes(const struct heap_counts *before, const struct heap_counts *after,
		 struct heap_change **ret, size_t *ret_n);
