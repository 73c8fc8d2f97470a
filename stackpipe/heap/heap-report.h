/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a report of a heap is about, and the ways of writing it. */
#pragma once

#include "heap/heap-recorder.h"
#include "stackpipe/report/report.h"

struct heap_report {
	struct report_options options; /* of the lists in it */
	enum heap_metric metric;
	enum heap_unit unit;
	enum heap_scope scope;
	double points[HEAP_POINTS_MAX]; /* seconds since the beginning, to compare; negative: none
					 */
	struct heap_recorder *heap;
	enum stage_stream_end end;
};

/* What a thread is called, as far as it is known still. */
const char *heap_thread_name(struct heap_recorder *self, const struct heap_thread *thread);

/* Two recordings, by their paths. */
struct heap_against {
	const struct heap_report *report; /* what is compared, and how */
	const char *before, *after;
};

/* heap-against.c: an exit status. */
int heap_against_print(const struct heap_against *against);

/* All of it was gathered. 0 or -errno, of memory or of the output. */
int heap_report_print_text(struct heap_report *report, FILE *out);
int heap_report_print_json(struct heap_report *report, FILE *out);

/* Counts of one metric over the functions of a heap. */
struct heap_counts {
	struct tree tree;
	struct counts counts;
};

int heap_counts_init(struct heap_counts *counts, struct heap_report *report,
		     enum heap_metric metric);
void heap_counts_deinit(struct heap_counts *counts);

/* A change between the two points, by function; those with the largest first. The caller frees. */
struct heap_change {
	uint32_t function;
	int64_t self, total;
};
int heap_changes(const struct heap_counts *before, const struct heap_counts *after,
		 struct heap_change **ret, size_t *ret_n);
