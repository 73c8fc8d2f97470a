/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile files of perf. An input is such a file, or what came through a pipe; the whole stage
 * replays it, and what it writes has to be a stream.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/stage-internal.h"
#include "perfdata-source/replay.h"
#include "tests/fuzz/fuzz.h"

static int make_file(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("fuzz-perfdata", MFD_CLOEXEC);

	fuzz_check(fd >= 0 && (size_t)write(fd, bytes, size) == size);
	/* What others can change is copied, what they cannot is used where it lies. */
	fuzz_check(fchmod(fd, size % 2 ? 0666 : 0600) == 0);
	return fd;
}

/* In silence: there is a line for each damaged input. */
static void replay(struct stage *stage, struct replay *replay)
{
	struct wire_hello hello = {
		.magic = WIRE_MAGIC,
		.version_major = WIRE_VERSION_MAJOR,
		.version_minor = WIRE_VERSION_MINOR,
	};

	static FILE *nowhere;
	FILE *errors = stderr;

	if (!nowhere)
		nowhere = fopen("/dev/null", "we");
	fuzz_check(nowhere);
	stderr = nowhere;
	replay->file.input.fd = -1;
	replay->images.server_fd = -1;
	if (replay_start(stage, replay, &hello) == 0) {
		stage_put(stage, WIRE_RECORD_hello, &hello);
		stage_send_early_warnings(stage);
		replay_run(stage, replay);
		wire_writer_flush(&stage->writer);
	}
	stderr = errors;
	fuzz_check(stage->writer.error == 0);
}

static void check_stream(int fd)
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct stage_program program = { .name = "fuzz", .role = STAGE_SOURCE };
	static struct replay state;
	struct stage stage = { .program = &program, .quiet = true };
	_cleanup_fd_ int in = make_file(bytes, size);
	_cleanup_fd_ int out = memfd_create("fuzz-stream", MFD_CLOEXEC);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", in);
	memset(&state, 0, sizeof(state));
	state.path = path;
	fuzz_check(out >= 0 && wire_writer_init(&stage.writer, out) == 0);
	replay(&stage, &state);
	check_stream(out);
	replay_deinit(&state);
	wire_writer_deinit(&stage.writer);
	counters_deinit(&stage.own_counters);
	counters_deinit(&stage.counters);
	return 0;
}
