/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the sink knows while it writes, and what a file format has to do. A format gets stacks whose
 * frames have names already; all else that it needs is in the tables here.
 */
#pragma once

#include "formats/output.h"
#include "formats/leaf-counts.h"
#include "formats/stack-counts.h"
#include "heap/heap-profile.h"
#include "profile/stacks.h"

enum { CAPTURE_IMAGES_SHOWN = 5 };

struct counted_image {
	uint64_t n_samples;
	uint32_t name; /* with its build-id */
};

struct progress {
	uint64_t shown_at; /* of CLOCK_MONOTONIC; 0: not shown */
	uint64_t n_shown, n_lost;
};

struct capture {
	struct stacks stacks; /* first: see stacks.h */
	struct stack_counts counts;
	struct leaf_counts leaves;
	struct heap heap;	      /* if the stream tells of any */
	enum heap_metric heap_metric; /* for formats that tell one amount a stack */
	enum heap_unit heap_unit;
	const char *view_name; /* what is counted for the summary, and where there is one amount */
	struct view view;
	bool has_view;
	bool tells_tid;		     /* folded stacks are of single threads */
	uint64_t n_counted;	     /* in that view */
	uint64_t n_waits, n_wakeups; /* stacks that are such */
	uint64_t on_cpu_ns, waited_ns;
	struct output output;
	const char *path;
	const struct format *format;
	void *format_data; /* the format's own */
	struct stage *stage;
	const char *base_path; /* a page to compare with; NULL: none */
	char *base;	       /* its data */
	size_t base_size;
	struct progress progress;
	uint64_t flushed_time; /* of CLOCK_MONOTONIC */
	/* Images without debug information that most samples are in, those with the most first. */
	struct counted_image without_debug[CAPTURE_IMAGES_SHOWN];
};

struct format {
	const char *name;   /* for -f, and the ending of a file's name */
	const char *lacks;  /* what it cannot hold of what a stream tells; NULL: nothing much */
	bool keeps_history; /* of a heap, what was alive at any time */
	size_t data_size;
	/* All return 0 or -errno, and may be NULL but for `end`. */
	int (*begin)(struct capture *capture);
	/*
	 * A frame that was not met before, or not lately: `ret_value` is kept for when it is met
	 * again.
	 */
	int (*add_frame)(struct capture *capture, const struct named_stack *stack,
			 const struct wire_frame *frame, const struct frame_name *name,
			 uint64_t *ret_value);
	int (*add_stack)(struct capture *capture, const struct named_stack *stack);
	/* Of allocations; without the first, their stacks have no place. */
	int (*add_heap_stack)(struct capture *capture, const struct named_stack *stack,
			      const struct wire_heap_stack *record);
	int (*add_heap_events)(struct capture *capture, const struct wire_heap_events *events);
	int (*add_heap_lost)(struct capture *capture, const struct wire_heap_lost *lost);
	int (*add_mark)(struct capture *capture, const struct wire_mark *mark);
	int (*add_counter)(struct capture *capture, const struct wire_counter *counter);
	int (*add_counter_values)(struct capture *capture,
				  const struct wire_counter_values *values);
	int (*add_thread_time)(struct capture *capture, const struct wire_thread_time *record);
	int (*add_file)(struct capture *capture, const struct wire_file *file);
	int (*add_message)(struct capture *capture, const struct wire_message *message);
	int (*add_lost)(struct capture *capture, const struct wire_lost *lost);
	int (*exit_process)(struct capture *capture, const struct process *process, uint64_t time);
	int (*end)(struct capture *capture, enum stage_stream_end end);
	void (*free)(struct capture *capture);
};

extern const struct format format_firefox, format_folded, format_html, format_otlp, format_pprof,
	format_speedscope, format_syscap;

/* The format of that name, or of a file's name; NULL: there is none. */
const struct format *format_find(const char *name);
const struct format *format_of_path(const char *path);

/* What a person reads at the end. */
void summary_print_capture(const struct capture *capture, enum stage_stream_end end);
