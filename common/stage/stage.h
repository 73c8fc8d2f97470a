/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What all stages have in common. A stage describes itself (struct stage_program); stage_main()
 * runs it in this order: standard descriptors, options, signals, hello, `start`, sandbox, records
 * until `end`, `finish`, statistics, `end`, exit status. A source enters its sandbox before
 * `start`, which reads its file.
 *
 * A filter or sink has a table of handlers, one for each record type that it needs; a filter passes
 * all other records on byte for byte. A source has no input, and a `run` of its own.
 *
 * Sources act on the first SIGINT or SIGTERM (stop, drain, end). Other stages ignore it, because it
 * reaches the whole pipeline and `end` is on its way; a second signal, or 5 s without `end`, stops
 * them at once, and their output is marked incomplete.
 */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

#include "common/base/counters.h"
#include "common/base/sum.h"
#include "common/wire/wire-reader.h"
#include "common/wire/wire-writer.h"
#include "common/wire/wire.h"

/*
 * Environment, set by the `stackpipe` command that started the stage: its name for messages (it
 * reports the death of other stages, and usage errors are its own), and a descriptor for a byte
 * that reports that this stage is ready.
 */
#define STAGE_FRONT "STACKPIPE_FRONT"
#define STAGE_READY_FD "STACKPIPE_READY_FD"

/* Its own standard output, for the command that a source runs. */
#define STAGE_COMMAND_OUTPUT_FD "STACKPIPE_COMMAND_OUTPUT_FD"

enum {
	STAGE_EXIT_OK = 0,
	STAGE_EXIT_FAILED = 1,
	STAGE_EXIT_USAGE = 2,
	STAGE_PATIENCE_S = 5, /* between a signal and stopping without `end` */
	STAGE_EARLY_MAX = 16, /* warnings kept until the hello is sent */
	STAGE_TICK_MS = 1000, /* the longest time between calls of `tick`, by default */
};

enum stage_role {
	STAGE_SOURCE,
	STAGE_FILTER,
	STAGE_SINK,
};

/* --sandbox, of a stage that has one. */
enum stage_sandbox_mode {
	STAGE_SANDBOX_AUTO, /* as much as is available */
	STAGE_SANDBOX_REQUIRED,
	STAGE_SANDBOX_OFF,
};

/* How a stream ended. */
enum stage_stream_end {
	STAGE_STREAM_WHOLE,	 /* `end` was read, and nothing was missing */
	STAGE_STREAM_INCOMPLETE, /* an upstream stage died, or reported that data is missing */
	STAGE_STREAM_DAMAGED,	 /* a record could not be read */
	STAGE_STREAM_STOPPED,	 /* the user did not wait for `end` */
};

struct stage;
struct sandbox;

/* A handler's result, or -errno. */
enum {
	STAGE_CONSUMED = 0, /* the record was replaced, or is of no use downstream */
	STAGE_PASS = 1,	    /* pass it on as it is */
};

struct stage_handler {
	enum wire_record_id id; /* 0 ends a table */
	int (*handle)(struct stage *stage, void *self, const void *view);
	size_t part; /* offset of `self` in the stage's state */
};

struct stage_program {
	const char *name;
	const char *arguments; /* for --help, e.g. "OUTPUT" */
	const char *summary;   /* for --help, one sentence */
	enum stage_role role;
	size_t self_size; /* of the stage's own state, zeroed before `init` */
	int tick_ms;	  /* the longest time between calls of `tick`; 0: STAGE_TICK_MS */
	const struct argp_option *options;
	argp_parser_t parse_option; /* state->input is the stage's own state */
	const struct stage_handler *handlers;
	/* Instead of handlers: gets all records, also `end`; `view` is NULL for unknown types. */
	int (*each)(struct stage *stage, void *self, const struct wire_raw *raw, const void *view);

	/* All get the stage's own state, may be NULL, and return 0 or -errno. */
	void (*init)(void *self);		      /* defaults, before the options */
	int (*open)(struct stage *stage, void *self); /* before the input is read */
	/* Needed by a source from `start` on, by others after it; NULL: no sandbox. */
	void (*describe_sandbox)(const void *self, struct sandbox *sandbox);
	int (*start)(struct stage *stage, void *self, struct wire_hello *hello); /* may edit it */
	int (*run)(struct stage *stage, void *self);  /* a source's work */
	int (*tick)(struct stage *stage, void *self); /* regularly, while waiting too */
	/* While there is no input: some milliseconds of work. False: there is none to do now. */
	bool (*idle)(void *self);
	int (*finish)(struct stage *stage, void *self, enum stage_stream_end end);
	int (*close)(struct stage *stage, void *self); /* after `end`, written or not */
	void (*deinit)(void *self);
};

struct stage {
	const struct stage_program *program;
	struct wire_reader reader;	  /* not of a source */
	struct wire_writer writer;	  /* not of a sink */
	struct wire_hello hello;	  /* as sent downstream */
	struct counters counters;	  /* sent downstream, too: the same for the same input */
	struct counters run_counters;	  /* of this run: only in the --stats file */
	uint64_t samples_in, samples_out; /* including allocations and frees */
	uint64_t last_time; /* of the stream so far; set by a source, elsewhere by samples */
	uint64_t end_time;  /* of the `end` record */
	char *early[STAGE_EARLY_MAX];
	size_t n_early;
	bool quiet;
	const char *front; /* NULL: started by a shell's pipeline, or alone */
	int ready_fd, command_output_fd;
	const char *stats_path;
	FILE *stats_file;
	int memory_fd; /* for --stats: of peak-memory.h */
	enum stage_sandbox_mode sandbox_mode;
	struct wire_sandbox sandbox; /* what is in force */
	int exit_status;
	bool has_full_sum; /* a sum from its input has overflowed: see stage_sum() */
};

/* Runs a stage to its end; returns the exit status. */
int stage_main(int argc, char **argv, const struct stage_program *program);

/* Adds a record to the output; does nothing in a sink. 0 or -errno, as wire_writer_put(). */
int stage_put(struct stage *stage, enum wire_record_id id, const void *view);

/* Returns a mode by its name; exits with a usage error if it is unknown. */
enum stage_sandbox_mode stage_sandbox_mode(const char *name, const struct argp_state *state);

/* For option parsers: prints one line on a wrong command line, and exits. */
void stage_usage_error(const struct argp_state *state, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/*
 * Adds a number from the input. If the sum overflows (sum.h), the input is damaged or forged: the
 * stage reports that at its end, and its output is marked incomplete.
 */
static inline void stage_sum(struct stage *stage, uint64_t *sum, uint64_t more)
{
	stage->has_full_sum |= !sum_add(sum, more);
}

/* Counts dropped samples by reason (a literal). */
void stage_drop(struct stage *stage, const char *reason, uint64_t n);

/* The same for samples that should have arrived, and never did; they also count as read. */
void stage_miss(struct stage *stage, const char *reason, uint64_t n);

/* The drop reason of samples that found a kernel ring full; only these count as lost. */
#define STAGE_KERNEL_LOST "kernel-lost"

/* For sandbox descriptions: what image requests need, and what starting a thread needs. */
void stage_sandbox_allow_images(struct sandbox *sandbox);
void stage_sandbox_allow_thread(struct sandbox *sandbox);

/* Whether a source must stop: a signal came. */
bool stage_should_stop(void);

/* Whether to stop at once: a second signal came, or `end` did not come in time. */
bool stage_must_stop(void);

/*
 * Print one line on stderr, "stage: error: text" or "stage: text"; for programs, never libraries.
 * stage_warn() also sends it downstream, for captures; it alone is silent under --quiet.
 */
void stage_error(const struct stage *stage, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void stage_warn(struct stage *stage, const char *format, ...) __attribute__((format(printf, 2, 3)));
