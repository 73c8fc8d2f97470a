/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For targets that make a stream of hostile files: files, silence, stream checks. */
#pragma once

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/stage/stage-internal.h"
#include "tests/fuzz/fuzz.h"

/*
 * A memfd reused by every run, because making one takes longer than most inputs. All zero at first.
 */
struct fuzz_file {
	int fd;
	char *map; /* mapped when it is read in place */
};

enum { FUZZ_OUTPUT_MAX = 256 * 1024 * 1024 };

/* Rewinds the file; data of the previous run are overwritten. */
static inline void fuzz_file_start(struct fuzz_file *file)
{
	if (!file->fd)
		file->fd = memfd_create("fuzz-file", MFD_CLOEXEC);
	fuzz_check(file->fd > 0 && lseek(file->fd, 0, SEEK_SET) == 0);
}

static inline void fuzz_file_put(const struct fuzz_file *file, const void *bytes, size_t size)
{
	fuzz_check(write(file->fd, bytes, size) == (ssize_t)size);
}

/* Truncates the file at its position and rewinds it for reading. */
static inline void fuzz_file_finish(const struct fuzz_file *file)
{
	fuzz_check(ftruncate(file->fd, lseek(file->fd, 0, SEEK_CUR)) == 0);
	fuzz_check(lseek(file->fd, 0, SEEK_SET) == 0);
}

/* A reader at the first record written since the start; needs no deinit. */
static inline struct wire_reader fuzz_file_reader(struct fuzz_file *file)
{
	off_t size = lseek(file->fd, 0, SEEK_CUR);

	fuzz_check(size >= 0 && size <= FUZZ_OUTPUT_MAX);
	if (!file->map)
		file->map = mmap(NULL, FUZZ_OUTPUT_MAX, PROT_READ, MAP_SHARED, file->fd, 0);
	fuzz_check(file->map != MAP_FAILED);
	return (struct wire_reader){ .fd = -1, .buffer = file->map, .map_size = size, .end = size };
}

/* Discards the line printed for each damaged input. Returns the previous stderr. */
static inline FILE *fuzz_be_silent(void)
{
	static FILE *nowhere;
	FILE *errors = stderr;

	if (!nowhere)
		nowhere = fopen("/dev/null", "we");
	fuzz_check(nowhere);
	stderr = nowhere;
	return errors;
}

/* The whole output must consist of valid records. */
static inline void fuzz_check_stream(struct fuzz_file *file)
{
	struct wire_reader reader = fuzz_file_reader(file);
	enum wire_outcome outcome;
	struct wire_hello hello;
	struct wire_raw raw;

	if (!reader.map_size)
		return;
	fuzz_check(wire_reader_hello(&reader, &hello) == WIRE_OK);
	while ((outcome = wire_reader_next(&reader, &raw)) == WIRE_OK) {
		union wire_view view;

		fuzz_check(wire_decode(wire_type(raw.header->type), raw.header, raw.header->size,
				       reader.peer_minor, &view) == WIRE_OK);
	}
	fuzz_check(outcome == WIRE_E_MORE && reader.start == reader.end);
}

/* Runs a whole source from its hello to its last record, if it starts. */
static inline void fuzz_run_source(struct stage *stage, void *state)
{
	struct wire_hello hello = {
		.magic = WIRE_MAGIC,
		.version_major = WIRE_VERSION_MAJOR,
		.version_minor = WIRE_VERSION_MINOR,
	};
	FILE *errors = fuzz_be_silent();

	if ((!stage->program->open || stage->program->open(stage, state) == 0) &&
	    stage->program->start(stage, state, &hello) == 0) {
		stage_put(stage, WIRE_RECORD_hello, &hello);
		stage_send_early_warnings(stage);
		stage->program->run(stage, state);
		wire_writer_flush(&stage->writer);
	}
	stderr = errors;
	fuzz_check(stage->writer.error == 0);
}

/*
 * Runs a source that reads a file, whose path is stored at `path` in its state; its output must be
 * a valid stream. Files that others can change are copied, others are used in place.
 */
static inline void fuzz_source(const struct stage_program *program, void *state, const char **path,
			       const uint8_t *bytes, size_t size)
{
	static struct fuzz_file in, out;
	struct stage stage = { .program = program, .quiet = true };
	char name[64];

	fuzz_file_start(&in);
	fuzz_file_put(&in, bytes, size);
	fuzz_file_finish(&in);
	fuzz_check(fchmod(in.fd, size % 2 ? 0666 : 0600) == 0);
	fuzz_file_start(&out);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", in.fd);
	*path = name;
	fuzz_check(wire_writer_init(&stage.writer, out.fd) == 0);
	fuzz_run_source(&stage, state);
	fuzz_check_stream(&out);
	program->deinit(state);
	wire_writer_deinit(&stage.writer);
	counters_deinit(&stage.run_counters);
	counters_deinit(&stage.counters);
}
