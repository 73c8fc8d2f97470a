/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For targets that make a stream of hostile files: the file, silence, and whether it is a stream.
 */
#pragma once

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/stage-internal.h"
#include "tests/fuzz/fuzz.h"

/* A file of an input; what others can change is copied, what they cannot is used where it lies. */
static inline int fuzz_make_file(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("fuzz-input", MFD_CLOEXEC);

	fuzz_check(fd >= 0 && (size_t)write(fd, bytes, size) == size);
	fuzz_check(fchmod(fd, size % 2 ? 0666 : 0600) == 0);
	return fd;
}

/* There is a line for each damaged input: nobody reads them. Returns what stderr was. */
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

/* Everything that was written has to be records that can be read. */
static inline void fuzz_check_stream(int fd)
{
	struct wire_reader reader;
	enum wire_outcome outcome;
	struct wire_hello hello;
	struct wire_raw raw;

	lseek(fd, 0, SEEK_SET);
	fuzz_check(wire_reader_init(&reader, fd) == 0);
	fuzz_check(wire_reader_fill(&reader) == 0);
	if (!reader.at_end)
		fuzz_check(wire_reader_hello(&reader, &hello) == WIRE_OK);
	while (!reader.at_end) {
		union wire_view view;

		while ((outcome = wire_reader_next(&reader, &raw)) == WIRE_OK)
			fuzz_check(wire_decode(wire_type(raw.header->type), raw.header,
					       raw.header->size, reader.peer_minor,
					       &view) == WIRE_OK);
		fuzz_check(outcome == WIRE_E_MORE);
		fuzz_check(wire_reader_fill(&reader) == 0);
	}
	wire_reader_deinit(&reader);
}

/* A whole source: from its hello to its last record, if it starts at all. */
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
 * A source that reads a file, whose path its state has at `path`; what it writes has to be a
 * stream.
 */
static inline void fuzz_source(const struct stage_program *program, void *state, const char **path,
			       const uint8_t *bytes, size_t size)
{
	struct stage stage = { .program = program, .quiet = true };
	_cleanup_fd_ int in = fuzz_make_file(bytes, size);
	_cleanup_fd_ int out = memfd_create("fuzz-stream", MFD_CLOEXEC);
	char name[64];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", in);
	*path = name;
	fuzz_check(out >= 0 && wire_writer_init(&stage.writer, out) == 0);
	fuzz_run_source(&stage, state);
	fuzz_check_stream(out);
	program->deinit(state);
	wire_writer_deinit(&stage.writer);
	counters_deinit(&stage.own_counters);
	counters_deinit(&stage.counters);
}
