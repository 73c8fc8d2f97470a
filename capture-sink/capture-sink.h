/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the sink knows while it writes a stream. */
#pragma once

#include "formats/format.h"
#include "formats/view-counts.h"
#include "heap/heap-recorder.h"

enum { IMAGES_SHOWN = 5 };

struct counted_image {
	uint64_t n_samples;
	uint32_t name; /* with its build-id */
};

struct progress {
	uint64_t shown_at; /* of CLOCK_MONOTONIC; 0: not shown */
	uint64_t n_shown, n_lost;
};

struct capture_sink {
	struct heap_recorder recording; /* its profile is empty if the format follows the stream */
	struct view_counts counted;	/* for the summary, and formats that are made of them */
	enum heap_metric heap_metric;	/* for formats that tell one amount a stack */
	enum heap_unit heap_unit;
	struct output output;
	const char *path;
	enum output_file_mode mode;
	const struct format *format;
	void *writer;	       /* of a format that follows the stream */
	struct stage *stage;   /* NULL: the stream has not begun */
	const char *base_path; /* a page to compare with; NULL: none */
	char *base;	       /* its data */
	size_t base_size;
	struct progress progress;
	uint64_t flushed_time; /* of CLOCK_MONOTONIC */
	/* Images without debug information that most samples are in, those with the most first. */
	struct counted_image without_debug[IMAGES_SHOWN];
};

/* progress.c: while a stream comes, one line on a terminal, of how much there is and was lost. */
void progress_show(struct capture_sink *self);

/* Before anything else is written there. */
void progress_clear(struct capture_sink *self);

/* summary.c: what a person reads at the end. */
void summary_print(const struct capture_sink *self, enum stage_stream_end end);
