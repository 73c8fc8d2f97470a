/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the sink knows while it writes, and what a file format has to do. A format gets stacks whose
 * frames have names already; all else that it needs is in the tables here.
 */
#pragma once

#include "capture-sink/names.h"
#include "capture-sink/output.h"
#include "capture-sink/stack-counts.h"
#include "common/frame-cache.h"
#include "common/identity.h"
#include "common/stage.h"

enum {
	CAPTURE_END_TEXT = 64,
	CAPTURE_IMAGES_SHOWN = 5,
	CAPTURE_ENDS = 16, /* more than there are reasons for a stack's end */
};

struct counted_image {
	uint64_t n_samples;
	uint32_t name; /* with its build-id */
};

struct capture {
	struct identity identity; /* first: see identity.h */
	struct names names;
	struct stack_counts counts;
	struct frame_cache frames; /* number: the label; value: of `add_frame` */
	struct output output;
	const char *path;
	const struct format *format;
	void *format_data; /* the format's own */
	struct stage *stage;
	struct wire_hello hello;
	bool has_symbols; /* a symbolizer has seen the stream */
	uint64_t n_ends[CAPTURE_ENDS];
	uint64_t n_dropped;    /* by the stages before, and by the kernel */
	uint64_t last_time;    /* of the stream so far */
	uint64_t flushed_time; /* of CLOCK_MONOTONIC */
	/* Images without debug information that most samples are in, those with the most first. */
	struct counted_image without_debug[CAPTURE_IMAGES_SHOWN];
};

/* A stack on its way into the file. */
struct capture_stack {
	const struct wire_stack *record;
	struct process *process;	    /* NULL: not known */
	const struct capture_frame *frames; /* as many as in the record, but outermost first */
};

struct capture_frame {
	uint32_t label; /* see names.h */
	uint32_t flags; /* enum wire_frame_flags */
	uint64_t value; /* of the format's `add_frame` */
};

struct format {
	const char *name; /* for -f, and the ending of a file's name */
	size_t data_size;
	/* All return 0 or -errno, and may be NULL but for `end`. */
	int (*begin)(struct capture *capture);
	/*
	 * A frame that was not met before, or not lately: `ret_value` is kept for when it is met
	 * again.
	 */
	int (*add_frame)(struct capture *capture, const struct capture_stack *stack,
			 const struct wire_frame *frame, uint32_t name, uint64_t *ret_value);
	int (*add_stack)(struct capture *capture, const struct capture_stack *stack);
	int (*add_file)(struct capture *capture, const struct wire_file *file);
	int (*add_message)(struct capture *capture, const struct wire_message *message);
	int (*add_lost)(struct capture *capture, const struct wire_lost *lost);
	int (*exit_process)(struct capture *capture, const struct process *process, uint64_t time);
	int (*end)(struct capture *capture, enum stage_stream_end end);
	void (*free)(struct capture *capture);
};

extern const struct format format_folded, format_syscap;

/* The format of that name, or of a file's name; NULL: there is none. */
const struct format *format_find(const char *name);
const struct format *format_of_path(const char *path);

/* Why a stack ends, as a frame: "[stack-truncated]"; false: it is complete. */
bool capture_end_text(uint32_t end, char ret[CAPTURE_END_TEXT]);

/* What a person reads at the end. */
void summary_print_capture(const struct capture *capture, enum stage_stream_end end);
