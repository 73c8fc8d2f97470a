/* SPDX-License-Identifier: GPL-3.0-or-later */
/* live-unwinder: replaces every sample by its call stack. */
#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/stage/sandbox.h"
#include "common/stage/stage.h"
#include "live-unwinder/unwinder.h"

enum {
	KEY_ENGINE = 0x100,
	KEY_UNWIND_RULES,
	KEY_MAX_FRAMES,
	KEY_NO_CACHE,
	KEY_VERIFY,
	KEY_VERIFY_DUMP
};

static error_t parse_engine(const char *name, struct argp_state *state)
{
	struct live_unwinder *self = state->input;
	const struct engine *chosen = engines_find(name, &self->engines.first);

	self->waits_for_tables = chosen && chosen->uses_tables;
	if (!strcmp(name, "auto"))
		self->engines.first = 0;
	else if (!chosen)
		stage_usage_error(state, "--engine takes auto, table or dwfl, not '%s'", name);
	return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct live_unwinder *self = state->input;
	unsigned long number;
	char *end;

	switch (key) {
	case KEY_ENGINE:
		return parse_engine(arg, state);
	case KEY_UNWIND_RULES:
		self->user_rules_path = arg;
		return 0;
	case KEY_MAX_FRAMES:
		number = strtoul(arg, &end, 10);
		if (*end || number < 1 || number > WIRE_FRAMES_MAX - WIRE_KERNEL_FRAMES_MAX)
			stage_usage_error(state, "--max-frames takes 1 to %d, not '%s'",
					  WIRE_FRAMES_MAX - WIRE_KERNEL_FRAMES_MAX, arg);
		self->n_frames_max = number;
		return 0;
	case KEY_NO_CACHE:
		self->keeps_tables = false;
		return 0;
	case KEY_VERIFY:
		number = strtoul(arg, &end, 10);
		if (*arg == '-' || *end || number < 1) /* strtoul() accepts a sign */
			stage_usage_error(state, "--verify takes a number of at least 1, not '%s'",
					  arg);
		self->verify.every = number;
		return 0;
	case KEY_VERIFY_DUMP:
		self->verify.dump_path = arg;
		return 0;
	case ARGP_KEY_END:
		if (self->user_rules_path && !engines_first(&self->engines)->uses_tables)
			stage_usage_error(
				state, "--unwind-rules requires --engine=auto or --engine=table");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_table[] = {
	{ "engine", KEY_ENGINE, "ENGINE", 0,
	  "Unwinder: table (compiled unwind tables), dwfl (elfutils) or auto (tables first, then "
	  "elfutils; default)",
	  0 },
	{ "unwind-rules", KEY_UNWIND_RULES, "FILE", 0,
	  "Prefer the unwind rules in FILE to the unwind information of the images (default: none)",
	  0 },
	{ "intervals", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0 },
	{ "no-cache", KEY_NO_CACHE, NULL, 0,
	  "Do not cache unwind tables on disk (default: cache large ones)", 0 },
	{ "verify", KEY_VERIFY, "N", 0,
	  "Unwind every Nth sample with elfutils too, and compare (default: off)", 0 },
	{ "verify-dump", KEY_VERIFY_DUMP, "FILE", 0,
	  "Write the first 16 samples that differ, from elfutils or from what the kernel has walked, to FILE "
	  "as a stream (default: none)",
	  0 },
	{ "max-frames", KEY_MAX_FRAMES, "N", 0,
	  "Maximum number of user frames per stack (default 512, at most 15488)", 0 },
	{ 0 },
};

static const struct stage_handler handlers[] = {
	/* The first of a type wins. */
	{ WIRE_RECORD_image_exit, unwinder_handle_image_exit },
	{ WIRE_RECORD_process, unwinder_handle_process },
	IDENTITY_HANDLERS(offsetof(struct live_unwinder, identity)),
	{ WIRE_RECORD_sample, unwinder_handle_sample },
	{ WIRE_RECORD_stack_part, unwinder_handle_stack_part },
	{ WIRE_RECORD_process_context, unwinder_handle_process_context },
	{ WIRE_RECORD_runtime, unwinder_handle_runtime },
	{ WIRE_RECORD_memory, unwinder_handle_memory },
	{ WIRE_RECORD_heap_sample, unwinder_handle_heap_sample },
	{ 0 },
};

/* Tables are compiled in a thread, and elfutils reads files itself. */
static void describe_sandbox(const void *data, struct sandbox *sandbox)
{
	const struct live_unwinder *self = data;

	stage_sandbox_allow_images(sandbox);
	stage_sandbox_allow_thread(sandbox);
	SANDBOX_ALLOW(sandbox, SCMP_SYS(openat), SCMP_SYS(fstatfs));
	sandbox->memory_max = UNWINDER_MEMORY_MAX;
	if (self->cache.dir_fd >= 0) {
		SANDBOX_ALLOW(sandbox, SCMP_SYS(utimensat), SCMP_SYS(renameat), SCMP_SYS(unlinkat));
		sandbox_allow_directory(sandbox, self->cache.dir_fd, SANDBOX_READ_AND_WRITE);
	}
	if (self->files.client.fd < 0) /* a recorded stream */
		sandbox_allow_programs(sandbox);
}

/* Parsing rules needs the stream's machine (unwinder_start()); only readability is checked here. */
static int check_rules(struct stage *stage, void *data)
{
	struct live_unwinder *self = data;

	if (!self->user_rules_path || !access(self->user_rules_path, R_OK))
		return 0;
	stage_error(stage, "could not read '%s': %s", self->user_rules_path, strerror(errno));
	return -ECANCELED;
}

int main(int argc, char **argv)
{
	static const struct stage_program program = {
		.name = "live-unwinder",
		.summary = "Replaces every sample of a stream with its call stack.",
		.role = STAGE_FILTER,
		.self_size = sizeof(struct live_unwinder),
		.options = option_table,
		.parse_option = parse_option,
		.handlers = handlers,
		.init = unwinder_init,
		.open = check_rules,
		.start = unwinder_start,
		.describe_sandbox = describe_sandbox,
		.finish = unwinder_finish,
		.deinit = unwinder_deinit,
	};

	return stage_main(argc, argv, &program);
}
