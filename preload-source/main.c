/* SPDX-License-Identifier: GPL-3.0-or-later */
/* preload-source: runs a program and records its allocations with their stacks. */
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "preload-source/preload-source.h"

enum {
	KEY_FOLLOW = 0x100,
	KEY_MAX_FRAMES,
	KEY_WHEN_FULL,
	KEY_MMAP,
	FRAMES_DEFAULT = 64,
	BLOCK_DEFAULT_MS = 1000
};

static const struct argp_option option_table[] = {
	{ "sample", 'S', "BYTES", 0,
	  "Record on average one allocation per BYTES allocated (default 0, every allocation; "
	  "suffix K or M)",
	  0 },
	{ "follow", KEY_FOLLOW, NULL, 0, "Also trace child processes", 0 },
	{ "mmap", KEY_MMAP, NULL, 0,
	  "Also record the program's own mappings: mmap(2), munmap(2), mremap(2)", 0 },
	{ "max-frames", KEY_MAX_FRAMES, "N", 0,
	  "Record at most N frames per stack, the innermost ones (default 64, at most 512)", 0 },
	{ "when-full", KEY_WHEN_FULL, "POLICY", 0,
	  "When a ring buffer is full: block[:MS] the thread for at most MS milliseconds at a "
	  "time (default block:1000), drop the event, or adapt: sample ever fewer allocations as "
	  "buffers fill",
	  0 },
	{ 0 },
};

static bool parse_bytes(const char *text, uint64_t *ret)
{
	char *end;
	double number = strtod(text, &end);

	if (end != text && (*end == 'K' || *end == 'M'))
		number *= *end++ == 'K' ? 1024 : 1024 * 1024;
	*ret = number;
	return end != text && !*end && number >= 0 && number <= 1e12;
}

static bool parse_number(const char *text, unsigned long most, unsigned long *ret)
{
	char *end;

	*ret = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && *ret <= most;
}

static bool parse_policy(const char *text, struct traced_policy *policy)
{
	unsigned long milliseconds = BLOCK_DEFAULT_MS;

	policy->when_full = HEAP_BLOCK;
	if (!strcmp(text, "drop"))
		policy->when_full = HEAP_DROP;
	else if (!strcmp(text, "adapt"))
		policy->when_full = HEAP_ADAPT;
	else if (strncmp(text, "block", 5) ||
		 (text[5] && (text[5] != ':' || !parse_number(text + 6, 3600000, &milliseconds))))
		return false;
	policy->block_ns = milliseconds * NANOSECONDS_A_MILLISECOND;
	return true;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct preload_source *self = state->input;
	struct preload_source_options *options = &self->options;
	unsigned long number;

	switch (key) {
	case 'S':
		if (!parse_bytes(arg, &options->policy.sampling))
			stage_usage_error(state, "-S takes a number of bytes, not '%s'", arg);
		return 0;
	case KEY_FOLLOW:
		options->children = PRELOAD_FOLLOW;
		return 0;
	case KEY_MMAP:
		options->policy.classes = TRACED_BLOCKS_AND_MAPPINGS;
		return 0;
	case KEY_MAX_FRAMES:
		if (!parse_number(arg, HEAP_FRAMES_MAX, &number) || !number)
			stage_usage_error(state, "--max-frames takes 1 to %d frames, not '%s'",
					  HEAP_FRAMES_MAX, arg);
		options->policy.max_frames = number;
		return 0;
	case KEY_WHEN_FULL:
		if (!parse_policy(arg, &options->policy))
			stage_usage_error(state,
					  "--when-full takes block, block:MS, drop or adapt, "
					  "not '%s'",
					  arg);
		return 0;
	case ARGP_KEY_ARGS:
		options->command = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		if (!options->command)
			stage_usage_error(state,
					  "no command to run: use preload-source -- COMMAND");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void init(void *data)
{
	struct preload_source *self = data;

	self->options.policy = (struct traced_policy){
		.when_full = HEAP_BLOCK,
		.block_ns = BLOCK_DEFAULT_MS * NANOSECONDS_A_MILLISECOND,
		.max_frames = FRAMES_DEFAULT,
	};
	self->command.pid_fd = self->command.start_fd = self->command.failed_fd = -1;
	self->images.server_fd = -1;
	self->opener.fd = self->target.fd = -1;
	self->listener.fd = self->doorbell.fd = self->doorbell.memory.fd = -1;
	self->shared.memory.fd = self->shared.cache.dir_fd = -1;
}

int main(int argc, char **argv)
{
	static const struct stage_program program = {
		.name = "preload-source",
		.arguments = "-- COMMAND ARG…",
		.summary = "Runs a program and records each allocation with its stack.",
		.role = STAGE_SOURCE,
		.self_size = sizeof(struct preload_source),
		.options = option_table,
		.parse_option = parse_option,
		.init = init,
		.open = preload_source_open,
		.describe_sandbox = preload_source_describe_sandbox,
		.start = preload_source_start,
		.run = preload_source_run,
		.close = preload_source_close,
		.deinit = preload_source_deinit,
	};

	return stage_main(argc, argv, &program);
}
