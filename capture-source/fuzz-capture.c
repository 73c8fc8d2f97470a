/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile captures and folded stacks. An input is such a file; the whole stage replays it, and what
 * it writes has to be a stream.
 */
#include "capture-source/replay.h"
#include "common/cleanup.h"
#include "tests/fuzz/fuzz-stream.h"

enum { SAMPLES_TRIED_MAX = 1 << 16 }; /* folded text can ask for a great many */

static void replay(struct stage *stage, struct replay *replay)
{
	struct wire_hello hello = {
		.magic = WIRE_MAGIC,
		.version_major = WIRE_VERSION_MAJOR,
		.version_minor = WIRE_VERSION_MINOR,
	};
	FILE *errors = fuzz_be_silent();

	if (replay_start(stage, replay, &hello) == 0) {
		stage_put(stage, WIRE_RECORD_hello, &hello);
		stage_send_early_warnings(stage);
		replay_run(stage, replay);
		wire_writer_flush(&stage->writer);
	}
	stderr = errors;
	fuzz_check(stage->writer.error == 0);
}

/* Whether folded text asks for more samples than are worth the time. */
static bool is_too_much(const uint8_t *bytes, size_t size)
{
	uint64_t n = 0, all = 0;

	for (size_t i = 0; i < size; i++) {
		n = bytes[i] >= '0' && bytes[i] <= '9' ? n * 10 + bytes[i] - '0' : 0;
		if (n > SAMPLES_TRIED_MAX)
			return true;
		all += bytes[i] == '\n' ? SAMPLES_TRIED_MAX / 16 : 0;
	}
	return all > 16ULL * SAMPLES_TRIED_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct stage_program program = { .name = "fuzz", .role = STAGE_SOURCE };
	static struct replay state;
	struct stage stage = { .program = &program, .quiet = true };
	char path[64];
	bool is_capture = syscap_file_is((const char *)bytes, size);

	if (!is_capture && is_too_much(bytes, size))
		return 0;
	_cleanup_fd_ int in = fuzz_make_file(bytes, size);
	_cleanup_fd_ int out = memfd_create("fuzz-stream", MFD_CLOEXEC);

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
