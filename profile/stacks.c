/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/arch/arch.h"
#include "common/base/text.h"
#include "common/stream/sample.h"
#include "profile/interpreter-frames.h"
#include "profile/stacks.h"

void stacks_init(struct stacks *stacks, const struct stacks_user *user)
{
	stacks->user = user;
	names_init(&stacks->names);
}

void stacks_deinit(struct stacks *stacks)
{
	frame_cache_deinit(&stacks->frames);
	stack_memo_deinit(&stacks->memo);
	names_deinit(&stacks->names);
	identity_deinit(&stacks->identity);
}

static void clean_text(char *text, size_t size)
{
	char clean[sizeof(((struct wire_hello *)NULL)->host)];

	assert(size <= sizeof(clean));
	text_clean(text, strnlen(text, size), clean, size);
	strcpy(text, clean);
}

int stacks_start(struct stacks *stacks, const struct wire_hello *hello)
{
	int r = stacks->user->add_known_stack ? stack_memo_init(&stacks->memo) : 0;

	stacks->hello = *hello;
	stacks->arch = arch_find(hello->machine);
	/* Clean the texts that outputs show: a stream's author may have put anything there. */
	clean_text(stacks->hello.host, sizeof(stacks->hello.host));
	clean_text(stacks->hello.event, sizeof(stacks->hello.event));
	events_init(&stacks->events, hello);
	stacks->last_time = hello->start_time;
	stacks->has_symbols = strstr(hello->stages, "symbolizer") != NULL;
	return r < 0 ? r : frame_cache_init(&stacks->frames);
}

static void pass_time(struct stacks *stacks, uint64_t time)
{
	if (time > stacks->last_time)
		stacks->last_time = time;
}

void stacks_finish(struct stacks *stacks, struct stage *stage)
{
	identity_count_refused(&stacks->identity, stage);
	if (stacks->names.n_refused)
		*counters_get(&stage->counters, "refused", "names") = stacks->names.n_refused;
	if (stacks->names.inlined.n_refused)
		*counters_get(&stage->counters, "refused", "inlined-calls") +=
			stacks->names.inlined.n_refused;
	pass_time(stacks, stage->end_time);
}

/*
 * Returns a frame's name and the user's value, from the cache if it is there. An entry without a
 * final name is removed again, so that the next stack looks the name up anew.
 */
static int find_frame(struct stage *stage, struct stacks *stacks, const struct named_stack *stack,
		      const struct wire_frame *frame, struct named_frame *ret, bool *are_final)
{
	bool is_new;
	struct frame_cache_entry *entry = frame_cache_find(
		&stacks->frames, &stacks->identity.processes, stack->process, frame, &is_new);
	struct frame_name name = { .is_final = true };
	int r = 0;

	if (is_new) {
		name = names_of_frame(&stacks->names, &stacks->identity, stack->process, frame,
				      stack->record->time);
		entry->number = name.label;
		if (stacks->user->add_frame)
			r = stacks->user->add_frame(stage, stacks, stack, frame, &name,
						    &entry->value);
	}
	*ret = (struct named_frame){ entry->number, frame->flags, entry->value };
	if (!name.is_final && stacks->has_symbols) {
		frame_cache_forget(&stacks->frames, entry);
		*are_final = false;
	}
	return r;
}

/* Everything that the names of a stack depend on, except names that are not final. */
static struct stack_key key_of(const struct stacks *stacks, const struct named_stack *stack)
{
	const struct wire_frames *frames = &stack->record->frames;
	const uint64_t state[] = {
		stack->record->end,
		stack->process ? process_version(stack->process) : 0,
		process_version(&stacks->identity.processes.kernel),
		stacks->frames.era,
	};

	static_assert(sizeof(*frames->data) % sizeof(uint64_t) == 0, "frames are whole words");
	return stack_memo_key(
		&stacks->memo, (const uint64_t *)frames->data,
		frames->n * sizeof(*frames->data) / sizeof(uint64_t),
		stack_memo_state(&stacks->memo, state, sizeof(state) / sizeof(*state)));
}

static void find_shown(struct stacks *stacks, struct named_stack *stack)
{
	size_t n = stacks->hides_interpreters
			   ? interpreter_frames_hide(&stacks->names, &stacks->identity.images,
						     stack, stacks->shown_frames)
			   : 0;

	stack->shown = n ? stacks->shown_frames : stack->frames;
	stack->n_shown = n ? n : stack->record->frames.n;
}

/* Looks up frames from the first one that differs from the last stack. */
static int find_frames(struct stage *stage, struct stacks *stacks, struct named_stack *stack,
		       bool *are_final)
{
	const struct wire_frames *frames = &stack->record->frames;
	size_t n = frames->n;
	int r = 0;

	*are_final = true;
	for (size_t i = frame_cache_match(&stacks->frames, &stacks->identity.processes,
					  stack->process, frames);
	     i < n && r == 0; i++)
		r = find_frame(stage, stacks, stack, &frames->data[n - 1 - i],
			       &stacks->named_frames[i], are_final);
	if (r == 0)
		find_shown(stacks, stack);
	return r;
}

static int add_new_stack(struct stage *stage, struct stacks *stacks, struct named_stack *stack,
			 uint64_t *ret_value)
{
	bool are_final;
	int r = find_frames(stage, stacks, stack, &are_final);

	*ret_value = 0;
	if (r == 0)
		r = stacks->user->add_stack(stage, stacks, stack, ret_value);
	if (!are_final)
		*ret_value = 0;
	return r;
}

static int add_stack(struct stage *stage, struct stacks *stacks, struct named_stack *stack)
{
	struct stack_key key;
	uint64_t value;
	int r;

	if (!stacks->user->add_known_stack)
		return add_new_stack(stage, stacks, stack, &value);
	key = key_of(stacks, stack);
	value = stack_memo_find(&stacks->memo, key);
	if (value)
		return stacks->user->add_known_stack(stage, stacks, stack, value);
	r = add_new_stack(stage, stacks, stack, &value);
	if (value)
		stack_memo_keep(&stacks->memo, key, value);
	return r;
}

/* The index in `n_ends`; 0: an end reason that this release does not have. */
static uint32_t end_of(const struct wire_stack *stack)
{
	return stack->end < STACKS_ENDS ? stack->end : 0;
}

int stacks_handle_stack(struct stage *stage, void *data, const void *view)
{
	struct stacks *stacks = data;
	const struct wire_stack *record = view;
	struct named_stack stack = {
		.record = record,
		.process = process_table_find(&stacks->identity.processes, record->process),
		.frames = stacks->named_frames,
	};
	int r;

	pass_time(stacks, record->time);
	sum_add(&stacks->n_ends[end_of(record)], wire_stack_samples(record));
	r = add_stack(stage, stacks, &stack);
	/* samples_out: the part of samples_in that was kept. The user may subtract some. */
	stage->samples_out += r == 0 ? wire_stack_samples(record) : 0;
	return r;
}

int stacks_handle_heap_stack(struct stage *stage, void *data, const void *view)
{
	struct stacks *stacks = data;
	const struct wire_heap_stack *heap_stack = view;
	struct process *process =
		process_table_find(&stacks->identity.processes, heap_stack->process);
	const struct wire_stack record = {
		.time = heap_stack->time,
		.process = heap_stack->process,
		.tid = process ? process->pid : 0,
		.end = heap_stack->end,
		.frames = heap_stack->frames,
	};
	struct named_stack stack = {
		.record = &record,
		.process = process,
		.frames = stacks->named_frames,
	};
	bool are_final;
	int r;

	pass_time(stacks, record.time);
	if (!stacks->user->add_heap_stack)
		return 0;
	r = find_frames(stage, stacks, &stack, &are_final);
	return r < 0 ? r : stacks->user->add_heap_stack(stage, stacks, &stack, heap_stack);
}

/* A sample that was not unwound: its frames are the kernel's chain and the user's pc. */
int stacks_handle_sample(struct stage *stage, void *data, const void *view)
{
	struct stacks *stacks = data;
	const struct wire_sample *sample = view;
	struct wire_stack stack = wire_stack_of_sample(sample);
	size_t n = 0;

	stack.end = sample->registers.n ? WIRE_stack_end_NOT_UNWOUND : WIRE_stack_end_NO_USER_REGS;
	for (; n < sample->kernel.n; n++)
		stacks->raw_frames[n] = (struct wire_frame){
			.address = sample->kernel.data[n],
			.flags = WIRE_frame_flags_KERNEL | (n ? 0 : WIRE_frame_flags_EXACT),
		};
	if (stacks->arch && sample->registers.n == stacks->arch->n_registers)
		stacks->raw_frames[n++] = (struct wire_frame){
			.address = arch_sampled(stacks->arch, sample->registers.data,
						stacks->arch->pc),
			.flags = WIRE_frame_flags_EXACT,
		};
	stack.frames = (struct wire_frames){ stacks->raw_frames, n };
	return stacks_handle_stack(stage, data, &stack);
}

int stacks_handle_symbol(struct stage *stage, void *data, const void *view)
{
	struct stacks *stacks = data;
	int r = names_add_symbol(&stacks->names, &stacks->identity, view);

	stacks->has_symbols = true;
	if (r == NAMES_REPLACED)
		frame_cache_forget_all(&stacks->frames);
	return r < 0 ? r : 0;
}

int stacks_handle_event(struct stage *stage, void *data, const void *view)
{
	struct stacks *stacks = data;

	events_add(&stacks->events, view);
	return 0;
}

int stacks_handle_cgroup(struct stage *stage, void *data, const void *view)
{
	struct stacks *stacks = data;

	return process_table_set_cgroup(&stacks->identity.processes, view);
}

int stacks_handle_symbols_void(struct stage *stage, void *data, const void *view)
{
	struct stacks *stacks = data;

	names_forget_places(&stacks->names);
	frame_cache_forget_all(&stacks->frames);
	return 0;
}

int stacks_handle_inlined(struct stage *stage, void *data, const void *view)
{
	struct stacks *stacks = data;

	return names_add_inlined(&stacks->names, view);
}

int stacks_handle_process(struct stage *stage, void *data, const void *view)
{
	const struct wire_process *record = view;
	struct stacks *stacks = data;

	pass_time(stacks, record->time);
	return identity_handle_process(stage, &stacks->identity, view);
}

int stacks_handle_thread(struct stage *stage, void *data, const void *view)
{
	struct stacks *stacks = data;
	int r = names_add_thread(&stacks->names, view);

	return r < 0 ? r : identity_handle_thread(stage, &stacks->identity, view);
}

int stacks_handle_process_exit(struct stage *stage, void *data, const void *view)
{
	const struct wire_process_exit *record = view;
	struct stacks *stacks = data;
	struct process *process = process_table_find(&stacks->identity.processes, record->process);
	int r = 0;

	pass_time(stacks, record->time);
	if (process && stacks->user->exit_process)
		r = stacks->user->exit_process(stage, stacks, process, record->time);
	identity_handle_process_exit(stage, &stacks->identity, view);
	names_forget_ended(&stacks->names, &stacks->identity);
	return r;
}

int stacks_handle_image_exit(struct stage *stage, void *data, const void *view)
{
	struct stacks *stacks = data;

	identity_handle_image_exit(stage, &stacks->identity, view);
	names_forget_ended(&stacks->names, &stacks->identity);
	return 0;
}

int stacks_handle_count(struct stage *stage, void *data, const void *view)
{
	struct stacks *stacks = data;
	const struct wire_count *count = view;

	if (strcmp(count->group.data, "dropped"))
		return 0;
	if (!strcmp(count->name.data, STAGE_KERNEL_LOST))
		stage_sum(stage, &stacks->n_lost, count->value);
	else
		stage_sum(stage, &stacks->n_skipped, count->value);
	return 0;
}

void stacks_find_no_room(struct stacks *stacks, uint32_t end, uint64_t n_samples)
{
	sum_take_off(&stacks->n_ends[end < STACKS_ENDS ? end : 0], n_samples);
	sum_add(&stacks->n_ends[WIRE_stack_end_MORE_STACKS], n_samples);
}

const char *stacks_end_name(uint32_t end)
{
	const char *name = wire_name_text(&wire_names_stack_end, end);

	return name ? name : "unknown-end";
}

void stacks_skip(struct stacks *stacks, uint32_t end, uint64_t n_samples)
{
	stacks->n_ends[end < STACKS_ENDS ? end : 0] -= n_samples;
	stacks->n_skipped += n_samples;
}

bool stacks_end_text(uint32_t end, char ret[STACKS_END_TEXT])
{
	if (end == WIRE_stack_end_COMPLETE)
		return false;
	snprintf(ret, STACKS_END_TEXT, "[%s]", stacks_end_name(end));
	return true;
}
