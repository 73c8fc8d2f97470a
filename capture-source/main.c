/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture-source: reads a Sysprof capture or folded stacks as a stream. */
#include "capture-source/replay.h"
#include "common/stage/sandbox.h"

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct replay *replay = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (replay->path)
			stage_usage_error(
				state, "unexpected argument '%s': only one FILE is allowed", arg);
		replay->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!replay->path)
			stage_usage_error(
				state, "missing FILE: name a capture such as out.syscap, or - for "
				       "standard input");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The file is open by then, so no more than every stage needs. */
static void describe_sandbox(const void *self, struct sandbox *sandbox)
{
}

int main(int argc, char **argv)
{
	static const struct stage_program program = {
		.name = "capture-source",
		.arguments = "FILE",
		.summary = "Reads a Sysprof capture or folded stacks and writes them as a stream.",
		.role = STAGE_SOURCE,
		.self_size = sizeof(struct replay),
		.parse_option = parse_option,
		.open = replay_open,
		.describe_sandbox = describe_sandbox,
		.start = replay_start,
		.run = replay_run,
		.deinit = replay_deinit,
	};

	return stage_main(argc, argv, &program);
}
