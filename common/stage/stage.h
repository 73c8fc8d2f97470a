/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What all stages have in common: a stage describes itself (struct stage_program) and is run by
 * stage_main(), which does in this order: sane standard descriptors, options, signals, hello,
 * the stage's own start, its sandbox, records until `end`, the stage's own finish, statistics,
 * `end`, exit status. A source has its sandbox in front of its start, which reads its file.
 *
 * A filter or sink is a table of handlers, one for each record type that it cares about; a filter
 * passes everything else on byte for byte. A source has no input and a `run` of its own.
 *
 * Stopping: sources act on the first SIGINT or SIGTERM (stop, drain, end). The others ignore it,
 * because it reaches the whole pipeline and `end` is on its way; a second signal, or 5 s without
 * `end`, stops them where they are, and what they leave is marked incomplete.
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
 * In the environment: the command of ours that has started the stage, as a user knows it. It tells
 * if another stage dies, and it is whose options were wrong. And the descriptor for a byte that
 * says that nothing is in the way of this stage.
 */
#define STAGE_FRONT "STACKPIPE_FRONT"
#define STAGE_READY_FD "STACKPIPE_READY_FD"

/* And its own standard output, for what a source runs. */
#define STAGE_COMMAND_OUTPUT_FD "STACKPIPE_COMMAND_OUTPUT_FD"

enum {
	STAGE_EXIT_OK = 0,
	STAGE_EXIT_FAILED = 1,
	STAGE_EXIT_USAGE = 2,
	STAGE_PATIENCE_S = 5, /* between a signal and giving up on `end` */
	STAGE_EARLY_MAX = 16, /* warnings kept until the hello has gone */
	STAGE_TICK_MS = 1000, /* how often `tick` is called at least, unless a stage says */
};

enum stage_role {
	STAGE_SOURCE,
	STAGE_FILTER,
	STAGE_SINK,
};

/* Of a stage that has one: --sandbox. */
enum stage_sandbox_mode {
	STAGE_SANDBOX_AUTO, /* as much as can be had */
	STAGE_SANDBOX_REQUIRED,
	STAGE_SANDBOX_OFF,
};

/* How a stream came to its end. */
enum stage_stream_end {
	STAGE_STREAM_WHOLE,	 /* `end` was read, and nothing was missing */
	STAGE_STREAM_INCOMPLETE, /* an upstream stage died, or said that something is missing */
	STAGE_STREAM_DAMAGED,	 /* a record could not be read */
	STAGE_STREAM_STOPPED,	 /* a person did not want to wait */
};

struct stage;
struct sandbox;

/* A handler's answer, or -errno. */
enum {
	STAGE_CONSUMED = 0, /* the record was replaced, or is of no use downstream */
	STAGE_PASS = 1,	    /* it goes on as it is */
};

struct stage_handler {
	enum wire_record_id id; /* 0 ends a table */
	int (*handle)(struct stage *stage, void *self, const void *view);
	size_t part; /* of the stage's state, which is `self`: where it lies there */
};

struct stage_program {
	const char *name;
	const char *arguments; /* for --help, e.g. "OUTPUT" */
	const char *summary;   /* for --help, one sentence */
	enum stage_role role;
	size_t self_size; /* of the stage's own state, zeroed before `init` */
	int tick_ms;	  /* how often `tick` is called at least; 0: STAGE_TICK_MS */
	const struct argp_option *options;
	argp_parser_t parse_option; /* state->input is the stage's own state */
	const struct stage_handler *handlers;
	/* Instead of handlers: every record, `end` too; a type not known here has no view. */
	int (*each)(struct stage *stage, void *self, const struct wire_raw *raw, const void *view);

	/* All of these get the stage's own state, may be NULL, and return 0 or -errno. */
	void (*init)(void *self);		      /* defaults, before the options */
	int (*open)(struct stage *stage, void *self); /* before the input is read */
	/* What it needs from then on (of a source), or behind `start`; NULL: it has no sandbox. */
	void (*describe_sandbox)(const void *self, struct sandbox *sandbox);
	int (*start)(struct stage *stage, void *self, struct wire_hello *hello); /* may edit it */
	int (*run)(struct stage *stage, void *self);  /* a source's work */
	int (*tick)(struct stage *stage, void *self); /* now and then, while waiting too */
	int (*finish)(struct stage *stage, void *self, enum stage_stream_end end);
	int (*close)(struct stage *stage, void *self); /* after `end` has been written */
	void (*deinit)(void *self);
};

struct stage {
	const struct stage_program *program;
	struct wire_reader reader;    /* not of a source */
	struct wire_writer writer;    /* not of a sink */
	struct wire_hello hello;      /* as it goes downstream */
	struct counters counters;     /* they go downstream, too: the same for the same input */
	struct counters run_counters; /* what depends on this run: in the file of --stats alone */
	uint64_t samples_in, samples_out; /* allocations and frees are samples, too */
	uint64_t last_time; /* of the stream so far: a source sets it, elsewhere samples do */
	uint64_t end_time;  /* of the `end` record */
	char *early[STAGE_EARLY_MAX];
	size_t n_early;
	bool quiet;
	const char *front; /* NULL: a shell's pipeline, or none */
	int ready_fd, command_output_fd;
	const char *stats_path;
	FILE *stats_file;
	int memory_fd; /* for --stats: of peak-memory.h */
	enum stage_sandbox_mode sandbox_mode;
	struct wire_sandbox sandbox; /* what is in force */
	int exit_status;
	bool has_full_sum; /* what its input tells cannot be counted: see stage_sum() */
};

/* Runs a stage to its end; what main() returns. */
int stage_main(int argc, char **argv, const struct stage_program *program);

/* Adds a record to the output: 0 or -errno, as wire_writer_put(). A sink has none: nothing. */
int stage_put(struct stage *stage, enum wire_record_id id, const void *view);

/* A mode by its name; exits as stage_usage_error() does. */
enum stage_sandbox_mode stage_sandbox_mode(const char *name, const struct argp_state *state);

/* For option parsers: one line on what is wrong with the command line, and exit. */
void stage_usage_error(const struct argp_state *state, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/*
 * Adds a number that the input tells. If there is no room for it (sum.h), the input is damaged or
 * forged: the stage says so at its end, which is that of an incomplete stream.
 */
static inline void stage_sum(struct stage *stage, uint64_t *sum, uint64_t more)
{
	stage->has_full_sum |= !sum_add(sum, more);
}

/* Counts samples that go no further, by reason (a literal). */
void stage_drop(struct stage *stage, const char *reason, uint64_t n);

/* The same of samples that should have come, and never did. */
void stage_miss(struct stage *stage, const char *reason, uint64_t n);

/* The reason of samples that the kernel had no room for: these, and no others, are lost. */
#define STAGE_KERNEL_LOST "kernel-lost"

/* For descriptions of sandboxes: what asking for images needs, and a thread of one's own. */
void stage_sandbox_allow_images(struct sandbox *sandbox);
void stage_sandbox_allow_thread(struct sandbox *sandbox);

/* Whether a source has been asked to stop. */
bool stage_should_stop(void);

/* Whether somebody has lost patience: stop at once. */
bool stage_must_stop(void);

/*
 * One line on stderr, "stage: error: text" or "stage: text"; for programs, never for libraries.
 * stage_warn() also sends it downstream, so that a capture tells it; only it is silent under
 * --quiet.
 */
void stage_error(const struct stage *stage, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void stage_warn(struct stage *stage, const char *format, ...) __attribute__((format(printf, 2, 3)));
