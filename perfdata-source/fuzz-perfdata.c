/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile perf.data files and pipes: the whole stage replays each input and must write a valid
 * stream.
 */
#include "perfdata-source/replay.h"
#include "tests/fuzz/fuzz-stream.h"

static const struct stage_program program = {
	.name = "fuzz",
	.role = STAGE_SOURCE,
	.open = replay_open,
	.start = replay_start,
	.run = replay_run,
	.deinit = replay_deinit,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct perfdata_replay state;

	memset(&state, 0, sizeof(state));
	state.file.input.fd = -1;
	state.images.server_fd = -1;
	state.kernel_names.kallsyms_fd = state.kernel_names.copy_fd = -1;
	fuzz_source(&program, &state, &state.path, bytes, size);
	return 0;
}
