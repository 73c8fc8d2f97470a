/* SPDX-License-Identifier: GPL-3.0-or-later */
/* live-unwinder: replaces every sample by its call stack. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/arch.h"
#include "common/descriptor-limit.h"
#include "common/identity.h"
#include "common/image-files.h"
#include "common/stage.h"
#include "live-unwinder/engine-dwfl.h"
#include "live-unwinder/engine-table.h"

enum { DEFAULT_FRAMES = 512, KEY_ENGINE = 0x100, KEY_MAX_FRAMES };

struct live_unwinder {
	struct identity identity; /* first: see identity.h */
	size_t n_frames_max;
	struct image_files files;
	enum { ENGINE_AUTO, ENGINE_TABLE, ENGINE_DWFL } engine;
	struct engine_dwfl *dwfl;
	struct tables tables;
	struct engine_table *table;
	uint64_t *n_by_table, *n_by_dwfl;
	uint64_t *n_left[ENGINE_TABLE_OUTCOMES]; /* to dwfl, by enum engine_table_outcome */
	struct wire_frame *frames;		 /* room for the kernel's and the user's */
	uint64_t *n_ends[16];			 /* counters by enum wire_stack_end */
};

static void forget_process(struct process *process, void *arg)
{
	struct live_unwinder *self = arg;

	if (self->dwfl)
		engine_dwfl_forget(self->dwfl, process);
}

static int start_tables(struct stage *stage, struct live_unwinder *self)
{
	static const char *const outcomes[ENGINE_TABLE_OUTCOMES] = {
		[ENGINE_TABLE_E_RULE] = "rule",
		[ENGINE_TABLE_E_REGISTER] = "register",
		[ENGINE_TABLE_E_BAD] = "bad-unwind-info",
		[ENGINE_TABLE_E_PENDING] = "no-table",
	};

	self->n_by_table = counters_get(&stage->counters, "engine", "table");
	self->n_by_dwfl = counters_get(&stage->counters, "engine", "dwfl");
	for (size_t i = ENGINE_TABLE_OK + 1; i < ENGINE_TABLE_OUTCOMES; i++)
		self->n_left[i] = counters_get(&stage->counters, "left-to-dwfl", outcomes[i]);
	tables_init(&self->tables, &self->files);
	return engine_table_new(&self->tables, &self->table);
}

static int start(struct stage *stage, void *data, struct wire_hello *hello)
{
	struct live_unwinder *self = data;
	int r;

	if (hello->machine != arch_host.machine ||
	    hello->register_mask != arch_host.register_mask) {
		stage_error(stage, "error: the stream was recorded on another kind of machine");
		return -ECANCELED;
	}
	descriptor_limit_raise(); /* each image that is in use takes one */
	self->frames =
		calloc(WIRE_KERNEL_FRAMES_MAX + self->n_frames_max + 1, sizeof(*self->frames));
	if (!self->frames)
		return -ENOMEM;
	self->identity.processes.forget = forget_process;
	self->identity.processes.arg = self;
	for (size_t i = 0; i < wire_names_stack_end.n; i++)
		self->n_ends[wire_names_stack_end.names[i].number] = counters_get(
			&stage->counters, "stacks", wire_names_stack_end.names[i].text);
	r = image_files_init(&self->files, stage, &self->identity.images, hello);
	if (r == 0)
		r = engine_dwfl_new(&self->files, hello->register_mask, &self->dwfl);
	return r < 0 ? r : start_tables(stage, self);
}

/* The kernel has unwound its own side. Its first address is exact, the others are returned to. */
static size_t add_kernel_frames(const struct live_unwinder *self, const struct wire_sample *sample,
				struct wire_frame *frames)
{
	for (size_t i = 0; i < sample->kernel.n; i++) {
		uint32_t exact = i ? 0 : WIRE_frame_flags_EXACT;
		const struct mapping *mapping = mapping_table_find(
			&self->identity.processes.kernel.mappings, sample->kernel.data[i] - !exact);

		frames[i] = (struct wire_frame){
			.address = sample->kernel.data[i],
			.mapping = mapping ? mapping->number : 0,
			.flags = WIRE_frame_flags_KERNEL | exact,
		};
	}
	return sample->kernel.n;
}

/*
 * In the middle of execve(2) a task has its new memory and still the registers with which it
 * called: they point nowhere, and what they point to cannot be read.
 */
static bool is_being_executed(const struct unwinding *unwinding)
{
	const struct wire_sample *sample = unwinding->sample;
	const struct process *process = unwinding->process;

	return process && process->origin == WIRE_origin_EXECUTED && sample->kernel.n &&
	       sample->stack.size == 0 &&
	       !mapping_table_find(&process->mappings, sample->registers.data[arch_host.ip_index]);
}

/* The whole sample is elfutils' as soon as the tables do not know one of its frames. */
static void ask_engines(struct live_unwinder *self, struct unwinding *unwinding)
{
	if (self->engine != ENGINE_DWFL) {
		enum engine_table_outcome outcome = engine_table_unwind(self->table, unwinding);

		if (outcome == ENGINE_TABLE_OK) {
			++*self->n_by_table;
			return;
		}
		++*self->n_left[outcome];
	}
	++*self->n_by_dwfl;
	engine_dwfl_unwind(self->dwfl, unwinding);
}

static void unwind_user(struct live_unwinder *self, struct unwinding *unwinding)
{
	if (unwinding->sample->registers.n != arch_host.n_registers ||
	    is_being_executed(unwinding)) {
		unwinding->end = WIRE_stack_end_NO_USER_REGS;
		return;
	}
	unwinding_add_sampled(unwinding);
	if (!unwinding->process)
		unwinding->end = WIRE_stack_end_NO_MAPPING;
	else if (unwinding->sample->abi != 2) /* PERF_SAMPLE_REGS_ABI_64 */
		unwinding->end = WIRE_stack_end_NO_UNWIND_INFO;
	else
		ask_engines(self, unwinding);
}

static void count_end(struct stage *stage, const struct live_unwinder *self,
		      const struct unwinding *unwinding)
{
	char name[4096];

	++*self->n_ends[unwinding->end];
	if (!unwinding->failed_image)
		return;
	snprintf(name, sizeof(name), "%.4000s: %s", unwinding->failed_image->path,
		 wire_name_text(&wire_names_stack_end, unwinding->end));
	++*counters_get(&stage->counters, "images-at-fault", name);
}

static int handle_sample(struct stage *stage, void *data, const void *view)
{
	struct live_unwinder *self = data;
	const struct wire_sample *sample = view;
	size_t n_kernel = add_kernel_frames(self, sample, self->frames);
	struct unwinding unwinding = {
		.sample = sample,
		.process = process_table_find(&self->identity.processes, sample->process),
		.frames = self->frames + n_kernel,
		.n_frames_max = self->n_frames_max,
	};
	struct wire_stack stack = {
		.time = sample->time,
		.process = sample->process,
		.tid = sample->tid,
		.cpu = sample->cpu,
		.weight = sample->weight,
	};

	unwind_user(self, &unwinding);
	count_end(stage, self, &unwinding);
	stack.end = unwinding.end;
	stack.frames = (struct wire_frames){ self->frames, n_kernel + unwinding.n_frames };
	return stage_put(stage, WIRE_RECORD_stack, &stack);
}

static int finish(struct stage *stage, void *data, enum stage_stream_end end)
{
	struct live_unwinder *self = data;

	identity_count_refused(&self->identity, stage);
	return 0;
}

static error_t parse_engine(const char *name, struct argp_state *state)
{
	static const char *const names[] = {
		[ENGINE_AUTO] = "auto",
		[ENGINE_TABLE] = "table",
		[ENGINE_DWFL] = "dwfl",
	};
	struct live_unwinder *self = state->input;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i])) {
			self->engine = i;
			return 0;
		}
	stage_usage_error(state, "--engine takes auto, table or dwfl, not '%s'", name);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct live_unwinder *self = state->input;
	unsigned long number;
	char *end;

	switch (key) {
	case KEY_ENGINE:
		return parse_engine(arg, state);
	case KEY_MAX_FRAMES:
		number = strtoul(arg, &end, 10);
		if (*end || number < 1 || number > WIRE_FRAMES_MAX - WIRE_KERNEL_FRAMES_MAX)
			stage_usage_error(state, "--max-frames takes 1 to %d, not '%s'",
					  WIRE_FRAMES_MAX - WIRE_KERNEL_FRAMES_MAX, arg);
		self->n_frames_max = number;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void init(void *data)
{
	struct live_unwinder *self = data;

	self->n_frames_max = DEFAULT_FRAMES;
	self->files.client.fd = -1;
}

static void deinit(void *data)
{
	struct live_unwinder *self = data;

	self->table = engine_table_free(self->table);
	tables_deinit(&self->tables);
	self->dwfl = engine_dwfl_free(self->dwfl);
	identity_deinit(&self->identity);
	image_files_deinit(&self->files);
	free(self->frames);
}

static const struct argp_option option_table[] = {
	{ "engine", KEY_ENGINE, "ENGINE", 0, "How to unwind: auto, table or dwfl (elfutils)", 0 },
	{ "max-frames", KEY_MAX_FRAMES, "N", 0, "User frames of a stack at most (512)", 0 },
	{ 0 },
};

static const struct stage_handler handlers[] = {
	IDENTITY_HANDLERS,
	{ WIRE_RECORD_sample, handle_sample },
	{ 0 },
};

int main(int argc, char **argv)
{
	static const struct stage_program program = {
		.name = "live-unwinder",
		.summary = "Replaces every sample of a stream by its call stack.",
		.role = STAGE_FILTER,
		.self_size = sizeof(struct live_unwinder),
		.options = option_table,
		.parse_option = parse_option,
		.handlers = handlers,
		.init = init,
		.start = start,
		.finish = finish,
		.deinit = deinit,
	};

	return stage_main(argc, argv, &program);
}
