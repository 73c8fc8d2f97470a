/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a stage, from its options to its exit status; stage.h has the order. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/priority.h"
#include "common/file/compression.h"
#include "common/stage/stage-internal.h"

enum {
	WIDE_PIPE = 256 * 1024,
	MEMORY_MAPPED_MIN = 256 * 1024, /* bytes; so large blocks return to the kernel when freed */
};

static bool is_file_type(int fd, mode_t type)
{
	struct stat status;

	return fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == type;
}

/* The next file that is opened would take a closed descriptor 0, 1 or 2. */
static int ensure_standard_descriptors(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
		if (fd < 0)
			return -errno;
	} while (fd <= STDERR_FILENO);
	close(fd);
	return 0;
}

/*
 * A wider pipe has fewer wake-ups, but data should be read while it is in the second-level cache:
 * with 1 MiB a replay took 8 % more. As wide as this user may.
 */
static void widen_pipe(int fd)
{
	if (!is_file_type(fd, S_IFIFO))
		return;
	for (int size = WIDE_PIPE; size > 64 * 1024; size /= 2)
		if (fcntl(fd, F_SETPIPE_SZ, size) >= 0)
			return;
}

static int check_terminals(const struct stage *stage)
{
	if (stage->program->role != STAGE_SOURCE && isatty(STDIN_FILENO)) {
		stage_error(stage,
			    "standard input is a terminal: pipe a stream into it (see --help)");
		return -EINVAL;
	}
	if (stage->program->role != STAGE_SINK && isatty(STDOUT_FILENO)) {
		stage_error(stage, "standard output is a terminal: pipe it into the next stage, or "
				   "into frame-dump to read it");
		return -EINVAL;
	}
	return 0;
}

static int open_streams(struct stage *stage)
{
	int r = 0;

	if (stage->program->role != STAGE_SOURCE) {
		widen_pipe(STDIN_FILENO);
		r = wire_reader_init(&stage->reader, STDIN_FILENO);
	}
	if (r == 0 && stage->program->role != STAGE_SINK) {
		widen_pipe(STDOUT_FILENO);
		r = wire_writer_init(&stage->writer, STDOUT_FILENO);
		stage->writer.gives_up = stage_must_stop;
	}
	if (r < 0)
		stage_error(stage, "%s", strerror(-r));
	return r;
}

static int flush(struct stage *stage)
{
	return stage->program->role == STAGE_SINK ? 0 : wire_writer_flush(&stage->writer);
}

static uint32_t later(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Adds this stage to the hello and sends it at once, so that later stages can prepare. */
static int send_hello(struct stage *stage)
{
	struct wire_hello *hello = &stage->hello;
	size_t used = strlen(hello->stages);
	int r;

	snprintf(hello->stages + used, sizeof(hello->stages) - used, "%s%s", used ? "|" : "",
		 stage->program->name);
	hello->magic = WIRE_MAGIC;
	hello->version_major = WIRE_VERSION_MAJOR;
	hello->version_minor = later(hello->version_minor, WIRE_VERSION_MINOR);
	r = stage_put(stage, WIRE_RECORD_hello, hello);
	if (r == 0)
		r = stage_report_sandbox(stage);
	if (r == 0)
		r = stage_send_early_warnings(stage);
	return r < 0 ? r : flush(stage);
}

static int report_damage(const struct stage *stage, const struct wire_raw *raw,
			 enum wire_outcome outcome)
{
	const struct wire_type *type = raw ? wire_type(raw->header->type) : NULL;

	stage_error(stage, "damaged stream: record %llu%s%s%s: %s",
		    (unsigned long long)stage->reader.n_records, type ? " (" : "",
		    type ? type->name : "", type ? ")" : "", wire_outcome_text(outcome));
	return -EBADMSG;
}

/* Waits for input, in pieces if there is a `tick`. 0 or -errno; -EINTR: stage_must_stop(). */
static int fill(struct stage *stage, void *self)
{
	struct pollfd input = { stage->reader.fd, POLLIN, 0 };
	int r;

	for (;;) {
		if (stage_must_stop())
			return -EINTR;
		if (stage->program->idle && poll(&input, 1, 0) == 0 && stage->program->idle(self))
			continue;
		r = 1;
		if (stage->program->tick) {
			int error = stage->program->tick(stage, self);

			if (error < 0)
				return error;
			r = poll(&input, 1,
				 stage->program->tick_ms ? stage->program->tick_ms : STAGE_TICK_MS);
		}
		if (r > 0) {
			r = wire_reader_fill(&stage->reader);
			if (r != -EINTR)
				return r > 0 ? report_damage(stage, NULL, r) : r;
		} else if (r < 0 && errno != EINTR) {
			return -errno;
		}
	}
}

/* Reports the effect of an error elsewhere, unless a front-end does, which sees all stages. */
static void report_neighbour(const struct stage *stage, const char *text)
{
	if (!stage->front)
		stage_error(stage, "%s", text);
}

/* Describes input that is not a stream; `text`, unless it is compressed. */
static const char *describe_input(const struct wire_reader *reader, const char *text, char *room,
				  size_t size)
{
	const char *program =
		compression_program(reader->buffer + reader->start, reader->end - reader->start);

	if (!program)
		return text;
	snprintf(room, size, "standard input: " COMPRESSION_OF_INPUT, program);
	return room;
}

static int read_hello(struct stage *stage, void *self)
{
	enum wire_outcome outcome;
	char room[128];
	int r;

	while ((outcome = wire_reader_hello(&stage->reader, &stage->hello)) == WIRE_E_MORE) {
		r = fill(stage, self);
		if (r < 0)
			return r;
		if (stage->reader.at_end) {
			report_neighbour(
				stage, describe_input(&stage->reader,
						      "standard input ended before a stream began",
						      room, sizeof(room)));
			return -ECANCELED;
		}
	}
	if (outcome == WIRE_E_VERSION)
		stage_error(stage,
			    "the stream has a different protocol version: use stages of the same "
			    "release");
	else if (outcome)
		stage_error(stage, "%s",
			    describe_input(&stage->reader,
					   "standard input is not a stackpipe stream", room,
					   sizeof(room)));
	return outcome ? -EBADMSG : 0;
}

/* The handler of a record type; NULL: there is none. */
static const struct stage_handler *find_handler(const struct stage *stage, uint16_t type)
{
	const struct stage_handler *handler = stage->program->handlers;

	while (handler && handler->id && handler->id != type)
		handler++;
	return handler && handler->id ? handler : NULL;
}

static int decode(struct stage *stage, const struct wire_raw *raw, union wire_view *ret)
{
	const struct wire_type *type = wire_type(raw->header->type);
	enum wire_outcome outcome =
		wire_decode(type, raw->header, raw->header->size, stage->reader.peer_minor, ret);

	return outcome ? report_damage(stage, raw, outcome) : 0;
}

/* Counts the samples of a record; `view` is only decoded if is_decoded(). */
static uint64_t take_samples(struct stage *stage, const struct wire_raw *raw,
			     const union wire_view *view)
{
	uint16_t type = raw->header->type;
	uint64_t n = wire_samples(type, view);

	stage_sum(stage, &stage->samples_in, n);
	/* The first field of both is the time. */
	if ((type == WIRE_RECORD_sample || type == WIRE_RECORD_stack) &&
	    raw->header->size >= sizeof(*raw->header) + sizeof(uint64_t))
		stage->last_time = *(const uint64_t *)(raw->header + 1);
	return n;
}

/* Whether a record must be decoded: for a handler, or to count its samples. */
static bool is_decoded(const struct stage *stage, uint16_t type, bool has_handler)
{
	return wire_type(type) &&
	       (has_handler || stage->program->each || wire_samples_are_reported(type));
}

/* Handles a record, or passes it on. 0 or -errno. */
static int dispatch(struct stage *stage, void *self, const struct wire_raw *raw)
{
	uint16_t type = raw->header->type;
	const struct stage_handler *handler = find_handler(stage, type);
	union wire_view view;
	uint64_t n_samples;
	int r = STAGE_PASS;

	if (!wire_type(type))
		++*counters_get(&stage->counters, "records", "unknown-type");
	if (is_decoded(stage, type, handler != NULL) && decode(stage, raw, &view) < 0)
		return -EBADMSG;
	n_samples = take_samples(stage, raw, &view);
	if (stage->program->each)
		return stage->program->each(stage, self, raw, wire_type(type) ? &view : NULL);
	if (handler)
		r = handler->handle(stage, (char *)self + handler->part, &view);
	if (r == STAGE_PASS && stage->program->role == STAGE_FILTER) {
		stage_sum(stage, &stage->samples_out, n_samples);
		r = wire_writer_pass(&stage->writer, raw);
	}
	return r < 0 ? r : 0;
}

static bool totals_agree(const struct stage *stage, const struct wire_end *end)
{
	uint64_t totals[WIRE_TYPE_MAX] = { 0 };

	for (size_t i = 0; i < end->totals.n; i++)
		if (end->totals.data[i].type < WIRE_TYPE_MAX)
			totals[end->totals.data[i].type] = end->totals.data[i].n;
	totals[WIRE_RECORD_end] = 1;
	return !memcmp(totals, stage->reader.totals, sizeof(totals));
}

/* Handles the `end` record. Returns how the stream ended; -errno: the record is damaged. */
static int take_end(struct stage *stage, void *self, const struct wire_raw *raw)
{
	union wire_view view;
	int r = decode(stage, raw, &view);

	if (r == 0 && stage->program->each)
		r = stage->program->each(stage, self, raw, &view);
	if (r < 0)
		return r;
	stage->end_time = view.end.time;
	if (!totals_agree(stage, &view.end)) {
		stage_error(stage, "damaged stream: records are missing");
		return -EBADMSG;
	}
	if (!(view.end.flags & WIRE_end_flags_INCOMPLETE))
		return STAGE_STREAM_WHOLE;
	report_neighbour(stage, "the stream is incomplete: an earlier stage failed or was stopped");
	return STAGE_STREAM_INCOMPLETE;
}

/* Reads all records up to `end`. Returns how the stream ended, or -errno. */
static int read_records(struct stage *stage, void *self)
{
	enum wire_outcome outcome;
	struct wire_raw raw;
	int r;

	for (;;) {
		while ((outcome = wire_reader_next(&stage->reader, &raw)) == WIRE_OK) {
			if (raw.header->type == WIRE_RECORD_end)
				return take_end(stage, self, &raw);
			r = dispatch(stage, self, &raw);
			if (r < 0)
				return r;
		}
		if (outcome != WIRE_E_MORE)
			return report_damage(stage, NULL, outcome);
		r = flush(stage); /* before fill() invalidates what it borrows */
		if (r < 0)
			return r;
		r = fill(stage, self);
		if (r < 0)
			return r;
		if (stage->reader.at_end) {
			report_neighbour(stage,
					 "the stream has no end record: an upstream stage died");
			return STAGE_STREAM_INCOMPLETE;
		}
	}
}

/* Returns how a stream ended: damaged, if one of its sums has overflowed. */
static enum stage_stream_end compare_sums(const struct stage *stage, enum stage_stream_end end)
{
	if (!stage->has_full_sum || end != STAGE_STREAM_WHOLE)
		return end;
	stage_error(stage, "damaged %s: its counts exceed 64 bits",
		    stage->program->role == STAGE_SOURCE ? "input" : "stream");
	return STAGE_STREAM_DAMAGED;
}

/* Completes the output after the end of the input, however that came. */
static int end_stream(struct stage *stage, void *self, enum stage_stream_end end)
{
	const struct stage_program *program = stage->program;
	int r = 0, error = 0;

	end = compare_sums(stage, end);
	if (program->finish)
		r = program->finish(stage, self, end);
	end = compare_sums(stage, end);
	if (end != STAGE_STREAM_WHOLE && stage->exit_status == STAGE_EXIT_OK)
		stage->exit_status = STAGE_EXIT_FAILED;
	if (r == 0)
		r = stage_send_end(stage, end);
	if (r == 0 && program->role != STAGE_SINK)
		r = wire_writer_finish(&stage->writer);
	if (program->close) /* a command has its own status, even if nobody reads the end */
		error = program->close(stage, self);
	return r < 0 ? r : error;
}

/* Whether the stream is being recorded now, so that a slow stage loses samples. */
static bool is_live(const struct stage *stage)
{
	struct stat status;

	return *stage->hello.image_server && fstat(STDIN_FILENO, &status) == 0 &&
	       !S_ISREG(status.st_mode);
}

static int run_on_stream(struct stage *stage, void *self)
{
	enum stage_stream_end end;
	int r, error;

	r = read_hello(stage, self);
	if (r < 0)
		return r;
	if (is_live(stage))
		priority_raise();
	if (stage->program->start) {
		r = stage->program->start(stage, self, &stage->hello);
		if (r < 0)
			return r;
	}
	r = stage_enter_sandbox(stage, self);
	if (r == 0)
		r = send_hello(stage);
	if (r == 0)
		r = read_records(stage, self);
	if (r == -EBADMSG)
		end = STAGE_STREAM_DAMAGED;
	else if (r == -EINTR)
		end = STAGE_STREAM_STOPPED;
	else if (r < 0)
		return r;
	else
		end = r;
	error = end_stream(stage, self, end);
	return r < 0 ? r : error;
}

static int run_source(struct stage *stage, void *self)
{
	int r = stage_enter_sandbox(stage, self), error;

	if (r == 0 && stage->program->start)
		r = stage->program->start(stage, self, &stage->hello);
	if (r == 0)
		r = send_hello(stage);
	if (r < 0)
		return r;
	r = stage->program->run(stage, self);
	if (r == -ECANCELED) { /* the source has reported an error: end the stream properly */
		error = end_stream(stage, self, STAGE_STREAM_INCOMPLETE);
		return error < 0 ? error : r;
	}
	if (r < 0)
		return r;
	return end_stream(stage, self,
			  stage_must_stop() ? STAGE_STREAM_STOPPED : STAGE_STREAM_WHOLE);
}

/* Reports an error, unless it was reported where it occurred. */
static void report(const struct stage *stage, int error)
{
	/* A reader that exits early, as `| head`, is not an error of a sink. */
	if (error == -EPIPE && stage->program->role == STAGE_SINK)
		return;
	if (error == -EPIPE)
		report_neighbour(stage, "the next stage has exited: the output ends here");
	else if (error == -EINTR)
		stage_error(stage, "stopped before the end of the stream");
	else if (error == -EFAULT) /* writev(2) from a mapped file: see on_cut_file() */
		stage_error(stage, "a file was truncated while it was read");
	else if (error == stage->writer.error && error < 0)
		stage_error(stage, "could not write to standard output: %s", strerror(-error));
	else if (error != -EBADMSG && error != -ECANCELED)
		stage_error(stage, "%s", strerror(-error));
}

static int run(struct stage *stage, void *self)
{
	const struct stage_program *program = stage->program;
	int r;

	if (check_terminals(stage) < 0)
		return STAGE_EXIT_USAGE;
	r = stage_open_stats(stage);
	if (r == 0)
		r = open_streams(stage);
	if (r < 0)
		return STAGE_EXIT_FAILED;
	r = program->open ? program->open(stage, self) : 0;
	if (r == 0)
		stage_report_ready(stage);
	if (r == 0)
		r = program->role == STAGE_SOURCE ? run_source(stage, self)
						  : run_on_stream(stage, self);
	if (r < 0)
		report(stage, r);
	stage_write_stats(stage);
	if (r < 0 && stage->exit_status == STAGE_EXIT_OK)
		return STAGE_EXIT_FAILED;
	return stage->exit_status;
}

/* glibc would raise its thresholds (mallopt(3)) and keep the memory of freed tables of images. */
static void give_memory_back(void)
{
	mallopt(M_MMAP_THRESHOLD, MEMORY_MAPPED_MIN);
	mallopt(M_TRIM_THRESHOLD, 2 * MEMORY_MAPPED_MIN);
}

int stage_main(int argc, char **argv, const struct stage_program *program)
{
	struct stage stage = { .program = program };
	_cleanup_free_ void *self = calloc(1, program->self_size ? program->self_size : 1);
	int status;

	status = self ? ensure_standard_descriptors() : -ENOMEM;
	if (status < 0) {
		stage_error(&stage, "could not start ('/dev/null'): %s", strerror(-status));
		return STAGE_EXIT_FAILED;
	}
	stage_find_front(&stage);
	give_memory_back();
	if (program->init)
		program->init(self);
	stage_parse_options(&stage, self, argc, argv);
	stage_catch_signals();
	status = run(&stage, self);
	if (program->deinit)
		program->deinit(self);
	wire_reader_deinit(&stage.reader);
	wire_writer_deinit(&stage.writer);
	counters_deinit(&stage.counters);
	counters_deinit(&stage.run_counters);
	return status;
}
