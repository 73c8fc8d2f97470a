/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile captures and folded-stack files: the whole stage replays each input and must write a
 * valid stream.
 */
#include "capture-source/replay.h"
#include "tests/fuzz/fuzz-stream.h"

enum { SAMPLES_TRIED_MAX = 64 }; /* folded text can demand very many samples */

#define COUNT_MAX (1ULL << 32) /* per line */

static const struct stage_program program = {
	.name = "fuzz",
	.role = STAGE_SOURCE,
	.open = replay_open,
	.start = replay_start,
	.run = replay_run,
	.deinit = replay_deinit,
};

/*
 * Whether folded text demands more samples than are worth the time: all records of a line are
 * alike. A count that would be refused costs nothing.
 */
static bool is_too_much(const uint8_t *bytes, size_t size)
{
	uint64_t n = 0, all = 0;

	for (size_t i = 0; i <= size; i++) {
		if (i == size || bytes[i] == '\n' || bytes[i] == 0)
			all += n <= COUNT_MAX ? n : 0;
		if (i < size && bytes[i] >= '0' && bytes[i] <= '9')
			n = n > COUNT_MAX ? n : n * 10 + bytes[i] - '0';
		else
			n = 0;
	}
	return all > SAMPLES_TRIED_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct replay state;

	if (!syscap_file_is((const char *)bytes, size) && is_too_much(bytes, size))
		return 0;
	memset(&state, 0, sizeof(state));
	fuzz_source(&program, &state, &state.path, bytes, size);
	return 0;
}
