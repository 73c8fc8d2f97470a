/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perfdata-source: replays a perf.data file, or the output of `perf record -o -`, as a stream. */
#include <seccomp.h>
#include <stddef.h>

#include "common/stage/sandbox.h"
#include "perfdata-source/replay.h"

enum { MEMORY_MAX = 1 << 30 };

enum { KEY_COPY_STACKS = 0x100 };

static const struct argp_option option_table[] = {
	{ "copy-stacks", KEY_COPY_STACKS, NULL, 0,
	  "Copy stacks into a pipe too (default: send only their offsets in FILE)", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct perfdata_replay *replay = state->input;

	switch (key) {
	case KEY_COPY_STACKS:
		replay->copies_stacks = true;
		return 0;
	case ARGP_KEY_ARG:
		if (replay->path)
			stage_usage_error(
				state, "unexpected argument '%s': only one FILE is allowed", arg);
		replay->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!replay->path)
			replay->path = "-";
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void init(void *data)
{
	struct perfdata_replay *replay = data;

	replay->file.input.fd = -1;
	replay->images.server_fd = -1;
	replay->kernel_names.kallsyms_fd = -1;
	replay->kernel_names.copy_fd = -1;
}

/* All files were opened before the sandbox is entered. */
static void describe_sandbox(const void *self, struct sandbox *sandbox)
{
	SANDBOX_ALLOW(sandbox, SCMP_SYS(uname), SCMP_SYS(statx));
	sandbox->memory_max = MEMORY_MAX;
}

int main(int argc, char **argv)
{
	static const struct stage_program program = {
		.name = "perfdata-source",
		.arguments = "[FILE]",
		.summary = "Replays a perf.data file as a stream.",
		.role = STAGE_SOURCE,
		.self_size = sizeof(struct perfdata_replay),
		.options = option_table,
		.parse_option = parse_option,
		.init = init,
		.open = replay_open,
		.describe_sandbox = describe_sandbox,
		.start = replay_start,
		.run = replay_run,
		.deinit = replay_deinit,
	};

	return stage_main(argc, argv, &program);
}
