/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile files of perf. An input is such a file, or what came through a pipe; the whole stage
 * replays it, and what it writes has to be a stream.
 */
#include "common/cleanup.h"
#include "perfdata-source/replay.h"
#include "tests/fuzz/fuzz-stream.h"

static void replay(struct stage *stage, struct replay *replay)
{
	struct wire_hello hello = {
		.magic = WIRE_MAGIC,
		.version_major = WIRE_VERSION_MAJOR,
		.version_minor = WIRE_VERSION_MINOR,
	};
	FILE *errors = fuzz_be_silent();

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct stage_program program = { .name = "fuzz", .role = STAGE_SOURCE };
	static struct replay state;
	struct stage stage = { .program = &program, .quiet = true };
	_cleanup_fd_ int in = fuzz_make_file(bytes, size);
	_cleanup_fd_ int out = memfd_create("fuzz-stream", MFD_CLOEXEC);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", in);
	memset(&state, 0, sizeof(state));
	state.path = path;
	fuzz_check(out >= 0 && wire_writer_init(&stage.writer, out) == 0);
	replay(&stage, &state);
	fuzz_check_stream(out);
	replay_deinit(&state);
	wire_writer_deinit(&stage.writer);
	counters_deinit(&stage.own_counters);
	counters_deinit(&stage.counters);
	return 0;
}
