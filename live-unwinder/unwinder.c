/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "common/stream/sample.h"
#include "live-unwinder/unwinder.h"

enum { FRAMES_DEFAULT = 512 };

static void forget_process(struct process *process, void *arg)
{
	struct live_unwinder *self = arg;

	engines_forget_process(&self->engines, process);
	trace_contexts_forget(&self->trace_contexts, process->number);
	scripts_forget(&self->scripts, process->number);
}

/* 0, or -ECANCELED after an error message. */
static int read_user_rules(struct stage *stage, struct live_unwinder *self)
{
	struct user_rules_error error;
	int r;

	if (!self->user_rules_path)
		return 0;
	r = user_rules_read(unwind_arch_find(self->arch->elf_machine), self->user_rules_path,
			    &self->user_rules, &error);
	if (r == 0)
		return 0;
	if (r < 0)
		stage_error(stage, "could not read '%s': %s", self->user_rules_path, strerror(-r));
	else if (error.other_line)
		stage_error(stage, "'%s':%zu: %s: line %zu", self->user_rules_path, error.line,
			    error.text, error.other_line);
	else if (error.line)
		stage_error(stage, "'%s':%zu: %s", self->user_rules_path, error.line, error.text);
	else
		stage_error(stage, "'%s': %s", self->user_rules_path, error.text);
	return -ECANCELED;
}

static int start_engines(struct stage *stage, struct live_unwinder *self,
			 const struct wire_hello *hello)
{
	const struct engine_sources sources = { &self->files, &self->tables };

	self->stack_asked = hello->stack_size;
	if (self->keeps_tables)
		table_cache_open(&self->cache);
	/*
	 * A stream without a server is recorded, and must give the same result each time. User
	 * rules hold from an image's first sample on.
	 */
	table_store_init(&self->tables, &self->files, &self->cache,
			 self->waits_for_tables || self->files.client.fd < 0 ||
					 self->user_rules_path || self->arch != arch_host()
				 ? TABLE_STORE_WAIT
				 : TABLE_STORE_DO_WITHOUT);
	if (self->user_rules_path)
		self->tables.user_rules = &self->user_rules;
	/* In a replayed file these two times were not taken at exactly the same moment. */
	if (hello->start_unix_time && self->files.client.has_server)
		self->files.unix_time_ahead = hello->start_unix_time - hello->start_time;
	return engines_init(&self->engines, &sources, &stage->counters);
}

static int verify_result(const struct stage *stage, const struct live_unwinder *self, int r)
{
	if (r >= 0)
		return r;
	stage_error(stage, "could not write '%s': %s", self->verify.dump_path, strerror(-r));
	return -ECANCELED;
}

static int start_verify(struct stage *stage, struct live_unwinder *self,
			const struct wire_hello *hello)
{
	int r = verify_start(&self->verify, stage, hello, self->n_frames_max);

	if (r == -EEXIST) {
		stage_error(stage, "'%s' exists: choose another name", self->verify.dump_path);
		return -ECANCELED;
	}
	return verify_result(stage, self, r);
}

/* 0, or -ECANCELED after an error message. */
static int find_arch(struct stage *stage, struct live_unwinder *self,
		     const struct wire_hello *hello)
{
	self->arch = arch_find(hello->machine);
	if (!self->arch || hello->register_mask != self->arch->register_mask) {
		stage_error(stage, "the stream was recorded on an unsupported architecture");
		return -ECANCELED;
	}
	if (self->arch == arch_host() || (!engines_first(&self->engines)->is_of_host &&
					  !(self->verify.every && engines_reference()->is_of_host)))
		return 0;
	stage_error(stage,
		    "elfutils cannot unwind a stream recorded on %s on this machine: omit "
		    "--engine=dwfl and --verify",
		    self->arch->name);
	return -ECANCELED;
}

int unwinder_start(struct stage *stage, void *data, struct wire_hello *hello)
{
	struct live_unwinder *self = data;
	int r = find_arch(stage, self, hello);

	if (r < 0)
		return r;
	self->frames = calloc(WIRE_FRAMES_MAX + 1, sizeof(*self->frames));
	self->stack_pointers = calloc(WIRE_FRAMES_MAX + 1, sizeof(*self->stack_pointers));
	if (!self->frames || !self->stack_pointers)
		return -ENOMEM;
	scripts_init(&self->scripts);
	self->identity.processes.forget = forget_process;
	self->identity.processes.arg = self;
	for (size_t i = 0; i < wire_names_stack_end.n; i++)
		self->n_ends[wire_names_stack_end.names[i].number] = counters_get(
			&stage->counters, "stacks", wire_names_stack_end.names[i].text);
	r = read_user_rules(stage, self);
	if (r < 0)
		return r;
	stack_file_init(&self->recording, stage, &self->identity.images);
	r = elf_cache_init(&self->files, stage, &self->identity.images, hello);
	if (self->files.client.was_refused)
		stage_warn(
			stage,
			"the process at the image server's address is not the image server: files "
			"are opened by path instead");
	if (r == 0)
		r = start_engines(stage, self, hello);
	return r < 0 ? r : start_verify(stage, self, hello);
}

/* Copies the kernel's own chain: its first address is exact, the others are return addresses. */
static size_t add_kernel_frames(const struct live_unwinder *self, const struct wire_sample *sample,
				struct wire_frame *frames)
{
	for (size_t i = 0; i < sample->kernel.n; i++) {
		uint32_t exact = i ? 0 : WIRE_frame_flags_EXACT;
		const struct mapping *mapping =
			mapping_table_find(process_mappings(&self->identity.processes.kernel),
					   sample->kernel.data[i] - !exact);

		frames[i] = (struct wire_frame){
			.address = sample->kernel.data[i],
			.mapping = mapping ? mapping->number : 0,
			.flags = WIRE_frame_flags_KERNEL | exact,
		};
	}
	return sample->kernel.n;
}

/*
 * During execve(2) a task has its new memory but still the registers of its old program: they point
 * nowhere, and their targets cannot be read.
 */
static bool is_being_executed(const struct unwinding *unwinding)
{
	const struct wire_sample *sample = unwinding->sample;
	const struct process *process = unwinding->process;

	return process && process->origin == WIRE_origin_EXECUTED && sample->kernel.n &&
	       sample->stack.size == 0 &&
	       !mapping_table_find(process_mappings(process),
				   unwinding_register(unwinding, unwinding->arch->pc));
}

/* The answer by the words that the kernel's walk has kept, of a stack that it has not copied. */
static void unwind_by_words(struct live_unwinder *self, struct unwinding *unwinding)
{
	engines_unwind_by_words(&self->engines, unwinding);
	if (!self->n_by_words)
		self->n_by_words = counters_get(self->verify.counters, "engine", "kernel-walk");
	++*self->n_by_words;
}

/* Of a stack that it has walked, and copied as well. 0 or -errno of the dump. */
static int judge(struct live_unwinder *self, struct unwinding *copied)
{
	struct unwinding by_words = verify_begin(&self->verify, copied);

	by_words.words = copied->sample->words;
	by_words.is_alone = true;
	engines_unwind_by_words(&self->engines, &by_words);
	return verify_judge(&self->verify, &self->identity, &by_words, copied);
}

/* 0 or -errno of the dump. */
static int ask_engines(struct live_unwinder *self, struct unwinding *unwinding)
{
	struct unwinding other;
	bool is_of_tables;
	int r = 0;

	if (unwinding->words.n) {
		unwind_by_words(self, unwinding);
		return 0;
	}
	is_of_tables = engines_unwind(&self->engines, unwinding);
	if (unwinding->sample->words.n)
		r = judge(self, unwinding);
	if (r < 0 || !is_of_tables || !verify_is_due(&self->verify))
		return r;
	other = verify_begin(&self->verify, unwinding);
	engines_unwind_by_reference(&self->engines, &other);
	return verify_compare(&self->verify, &self->identity, unwinding, &other);
}

/* For a stack in an unavailable file: only the sampled instruction is known. */
static void end_without_stack(const struct live_unwinder *self, struct unwinding *unwinding)
{
	unwinding_add_sampled(unwinding);
	unwinding->end = WIRE_stack_end_IMAGE_UNAVAILABLE;
	unwinding->failed_image =
		image_table_find(&self->identity.images, unwinding->sample->stack_image);
}

static int unwind_user(struct live_unwinder *self, struct unwinding *unwinding)
{
	bool has_registers = unwinding->sample->registers.n == self->arch->n_registers;

	if (has_registers && unwinding->sample->stack_image) {
		end_without_stack(self, unwinding);
		return 0;
	}
	if (!has_registers || is_being_executed(unwinding)) {
		unwinding->end = WIRE_stack_end_NO_USER_REGS;
		return 0;
	}
	unwinding_add_sampled(unwinding);
	unwinding->end = WIRE_stack_end_NO_MAPPING;
	if (!unwinding->process)
		return 0;
	unwinding->end = WIRE_stack_end_NO_UNWIND_INFO;
	if (unwinding->sample->abi != 2) /* PERF_SAMPLE_REGS_ABI_64 */
		return 0;
	return ask_engines(self, unwinding);
}

/*
 * Corrects the end reason where mappings are missing. Frames are the best guess then, but reaching
 * an outermost frame proves nothing.
 */
static void doubt_end(struct unwinding *unwinding)
{
	if (unwinding->end == WIRE_stack_end_NO_MAPPING && unwinding->process &&
	    process_is_over_limit(unwinding->process))
		unwinding->end = WIRE_stack_end_MAPPING_LIMIT;
	if (!(unwinding->sample->flags & WIRE_sample_flags_MAPPINGS_LOST))
		return;
	if (unwinding->end == WIRE_stack_end_COMPLETE || unwinding->end == WIRE_stack_end_UNPROVED)
		unwinding->end = WIRE_stack_end_MAPPINGS_LOST;
}

/* The counter of stacks that ended in an image for one reason. */
static uint64_t *find_fault(struct stage *stage, struct live_unwinder *self,
			    const struct image *image, enum wire_stack_end end)
{
	uint64_t *known = pair_map_find(&self->faults, image->number, end), *counter;
	char name[4096];

	if (known)
		return (uint64_t *)*known;
	snprintf(name, sizeof(name), "%.4000s: %s", image->path,
		 wire_name_text(&wire_names_stack_end, end));
	counter = counters_get(&stage->counters, "images-at-fault", name);
	pair_map_add(&self->faults, image->number, end, (uintptr_t)counter);
	return counter;
}

static void forget_faults(struct live_unwinder *self, uint64_t image)
{
	for (size_t end = 0; end < WIRE_STACK_ENDS_MAX; end++)
		pair_map_remove(&self->faults, image, end);
}

static void count_end(struct stage *stage, struct live_unwinder *self,
		      const struct unwinding *unwinding)
{
	++*self->n_ends[unwinding->end];
	if (unwinding->failed_image)
		++*find_fault(stage, self, unwinding->failed_image, unwinding->end);
}

int unwinder_handle_stack_part(struct stage *stage, void *data, const void *view)
{
	struct live_unwinder *self = data;

	return deep_stack_add(&self->deep, view);
}

/*
 * Puts the parts before a sample behind its own stack. Of what they are cut by, only an absent page
 * is no end of what was asked for.
 */
static void continue_stack(struct live_unwinder *self, struct unwinding *unwinding,
			   struct wire_sample *sample)
{
	if (sample->registers.n != self->arch->n_registers) {
		deep_stack_forget(&self->deep);
		return;
	}
	deep_stack_join(&self->deep, sample, unwinding_register(unwinding, self->arch->sp));
	if (sample->stack_cut == WIRE_stack_cut_ABSENT)
		unwinding->stack_asked = UINT32_MAX;
}

int unwinder_handle_process(struct stage *stage, void *data, const void *view)
{
	struct live_unwinder *self = data;
	int r = scripts_take_process(&self->scripts, view);

	return r < 0 ? r : identity_handle_process(stage, &self->identity, view);
}

int unwinder_handle_runtime(struct stage *stage, void *data, const void *view)
{
	struct live_unwinder *self = data;
	int r = scripts_take_runtime(&self->scripts, view);

	return r < 0 ? r : STAGE_PASS;
}

int unwinder_handle_memory(struct stage *stage, void *data, const void *view)
{
	struct live_unwinder *self = data;
	int r = scripts_take_memory(&self->scripts, view);

	return r < 0 ? r : STAGE_PASS;
}

int unwinder_handle_process_context(struct stage *stage, void *data, const void *view)
{
	struct live_unwinder *self = data;

	return trace_contexts_publish(&self->trace_contexts, stage, view);
}

int unwinder_handle_sample(struct stage *stage, void *data, const void *view)
{
	struct live_unwinder *self = data;
	struct wire_sample sample = *(const struct wire_sample *)view;
	size_t n_kernel = add_kernel_frames(self, &sample, self->frames);
	struct unwinding unwinding = {
		.arch = self->arch,
		.sample = &sample,
		.process = process_table_find(&self->identity.processes, sample.process),
		.frames = self->frames + n_kernel,
		.stack_pointers = self->stack_pointers,
		.n_frames_max = self->n_frames_max,
		.stack_asked = self->stack_asked,
	};
	struct wire_stack stack = wire_stack_of_sample(&sample);
	int r;

	if (sample.stack_image)
		stack_file_fetch(&self->recording, &sample); /* else it still refers to the file */
	continue_stack(self, &unwinding, &sample);
	if (!sample.stack.size)
		unwinding.words = sample.words;
	unwinding.calls = scripts_find_calls(&self->scripts, &self->files, &unwinding);
	r = verify_result(stage, self, unwind_user(self, &unwinding));
	if (r < 0)
		return r;
	doubt_end(&unwinding);
	scripts_add(&self->scripts, &self->identity.processes, WIRE_FRAMES_MAX - n_kernel,
		    &unwinding);
	doubt_end(&unwinding); /* a script's last function may be the end */
	count_end(stage, self, &unwinding);
	stack.end = unwinding.end;
	stack.frames = (struct wire_frames){ self->frames, n_kernel + unwinding.n_frames };
	r = trace_contexts_find(&self->trace_contexts, stage, &sample, &stack.trace_context);
	return r < 0 ? r : stage_put(stage, WIRE_RECORD_stack, &stack);
}

/* Drops the preload library's frames, which are inside the allocator's caller. */
static void skip_inner(struct unwinding *unwinding, uint64_t caller)
{
	for (size_t i = 0; i < unwinding->n_frames; i++) {
		if (unwinding->frames[i].address != caller)
			continue;
		unwinding->frames += i;
		unwinding->n_frames -= i;
		return;
	}
}

/* An allocation's stack is unwound like a sample's; heap_events refer to it by number. */
int unwinder_handle_heap_sample(struct stage *stage, void *data, const void *view)
{
	struct live_unwinder *self = data;
	const struct wire_heap_sample *record = view;
	const struct wire_sample sample = {
		.time = record->time,
		.process = record->process,
		.tid = record->tid,
		.abi = 2, /* PERF_SAMPLE_REGS_ABI_64 */
		.registers = record->registers,
		.stack = record->stack,
	};
	struct unwinding unwinding = {
		.arch = self->arch,
		.sample = &sample,
		.process = process_table_find(&self->identity.processes, record->process),
		.frames = self->frames,
		.n_frames_max = self->n_frames_max,
	};
	struct wire_heap_stack stack = {
		.time = record->time,
		.process = record->process,
		.number = record->number,
	};
	int r = verify_result(stage, self, unwind_user(self, &unwinding));

	if (r < 0)
		return r;
	count_end(stage, self, &unwinding);
	skip_inner(&unwinding, record->caller);
	stack.end = unwinding.end;
	stack.frames = (struct wire_frames){ unwinding.frames, unwinding.n_frames };
	return stage_put(stage, WIRE_RECORD_heap_stack, &stack);
}

int unwinder_handle_image_exit(struct stage *stage, void *data, const void *view)
{
	struct live_unwinder *self = data;
	const struct wire_image_exit *exit = view;

	table_store_forget(&self->tables, exit->image);
	engines_forget_image(&self->engines, exit->image);
	forget_faults(self, exit->image);
	return identity_handle_image_exit(stage, &self->identity, view);
}

/* Root may read every file, but not in a sandbox, which need not allow geteuid(2) for AT_EUID. */
static void report_denied(struct stage *stage, const struct elf_cache *files)
{
	bool is_sandbox_why = stage->sandbox_mode != STAGE_SANDBOX_OFF && getauxval(AT_EUID) == 0;

	if (!files->n_denied)
		return;
	stage_warn(stage, "no permission to read %zu of the files, first '%s'%s", files->n_denied,
		   files->denied_path ? files->denied_path : "",
		   is_sandbox_why ? ": use --sandbox=off to read them as root" : "");
}

/* Reports refused files that a replayed stream identifies by build-id alone. */
static void report_untrusted(struct stage *stage, const struct file_trust *trust)
{
	if (!trust->n_refused)
		return;
	*counters_get(&stage->counters, "refused", "untrusted-files") = trust->n_refused;
	stage_warn(stage,
		   "untrusted files were refused %" PRIu64
		   " times, first '%s': users other than root and you can write to them; replay as "
		   "their owner, or chown or chmod them",
		   trust->n_refused, trust->first_refused ? trust->first_refused : "");
}

static void report_judge(struct stage *stage, const struct verify *verify)
{
	if (verify->n_judged_different)
		stage_warn(
			stage,
			"%" PRIu64
			" stacks differ from what the kernel walked of them: please report them, with "
			"the file of --verify-dump",
			verify->n_judged_different);
}

int unwinder_finish(struct stage *stage, void *data, enum stage_stream_end end)
{
	struct live_unwinder *self = data;

	if (!stack_file_was_good(&self->recording) && stage->exit_status == STAGE_EXIT_OK)
		stage->exit_status = STAGE_EXIT_FAILED;
	identity_count_refused(&self->identity, stage);
	if (self->deep.n_refused)
		*counters_get(&stage->counters, "refused", "stack-parts") = self->deep.n_refused;
	trace_contexts_count(&self->trace_contexts, stage);
	scripts_count(&self->scripts, stage);
	report_denied(stage, &self->files);
	report_untrusted(stage, &self->files.client.trust);
	report_judge(stage, &self->verify);
	return verify_result(stage, self, verify_finish(&self->verify, stage->end_time));
}

void unwinder_init(void *data)
{
	struct live_unwinder *self = data;

	self->n_frames_max = FRAMES_DEFAULT;
	self->verify.dump_fd = -1;
	pair_map_init(&self->faults, UNWINDER_FAULTS_MAX);
	self->files.client.fd = -1;
	self->recording.fd = -1;
	self->cache.dir_fd = -1;
	self->keeps_tables = true;
}

void unwinder_deinit(void *data)
{
	struct live_unwinder *self = data;

	engines_deinit(&self->engines);
	if (self->tables.files)
		table_store_deinit(&self->tables);
	user_rules_deinit(&self->user_rules);
	table_cache_close(&self->cache);
	identity_deinit(&self->identity);
	stack_file_deinit(&self->recording);
	deep_stack_deinit(&self->deep);
	trace_contexts_deinit(&self->trace_contexts);
	scripts_deinit(&self->scripts);
	elf_cache_deinit(&self->files);
	verify_deinit(&self->verify);
	pair_map_deinit(&self->faults);
	free(self->frames);
	free(self->stack_pointers);
}
