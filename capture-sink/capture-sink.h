/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of capture-sink, and functions of its files. */
#pragma once

#include "formats/format.h"
#include "formats/view-counts.h"
#include "heap/heap-recorder.h"

enum { IMAGES_SHOWN = 5, RESOURCE_ATTRIBUTES_MAX = 32 };

struct counted_image {
	uint64_t n_samples;
	uint32_t name; /* with its build-id */
};

struct progress {
	uint64_t shown_at; /* CLOCK_MONOTONIC; 0: not shown */
	uint64_t n_shown, n_lost;
};

struct capture_sink {
	struct heap_recorder recording; /* no profile, if the format follows the stream */
	struct view_counts counted;	/* for the summary, and for formats with is_of_counts */
	bool has_interpreter, hides_interpreters; /* was given; interpreter-frames.h */
	enum heap_metric heap_metric;		  /* for formats with one amount per stack */
	enum heap_unit heap_unit;
	struct output output;
	const char *path;
	enum output_file_mode mode;
	const struct format *format;
	void *writer;	     /* of a format that follows the stream */
	struct stage *stage; /* NULL: the stream has not begun */
	struct export_attribute attributes[RESOURCE_ATTRIBUTES_MAX];
	size_t n_attributes;
	const char *base_path; /* a page to compare with; NULL: none */
	char *base;	       /* its data */
	size_t base_size;
	struct progress progress;
	uint64_t flushed_time; /* CLOCK_MONOTONIC */
	/* The images without debug information that have the most samples, largest first. */
	struct counted_image without_debug[IMAGES_SHOWN];
};

/* progress.c: shows samples and losses so far in one line of a terminal. */
void progress_show(struct capture_sink *self);

/* Clears the line before other output. */
void progress_clear(struct capture_sink *self);

/* summary.c: prints the summary for users at the end. */
void summary_print(const struct capture_sink *self, enum stage_stream_end end);
