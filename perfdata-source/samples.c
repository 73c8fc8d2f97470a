/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Emits events before all samples, as perf-source does. A stream has at most WIRE_EVENTS_MAX. If a
 * file has more (perf record -e 'syscalls:*'), of which most never occurred, emits an event with
 * its first sample; samples of events beyond the limit are dropped, counted by name.
 */
#include <inttypes.h>
#include <stdio.h>

#include "common/base/perf-counter.h"
#include "common/stream/sample.h"
#include "perfdata-source/samples.h"

static int put_event(struct stage *stage, struct perfdata_replay *replay, uint32_t number)
{
	const struct perf_events *events = &replay->header.events;
	bool is_clock = event_is_clock(events_first(events, number));
	char title[EVENT_NAME_SIZE];
	struct wire_event event = {
		.number = replay->samples.n_emitted++,
		.kind = WIRE_event_kind_ON_CPU,
		.unit = is_clock ? WIRE_event_unit_NANOSECONDS : WIRE_event_unit_EVENTS,
	};

	replay->samples.stream_number[number] = event.number + 1;
	events_title(events, number, title);
	if (events->n_numbers == 1 && perf_counter_name_is_clock(title) == is_clock)
		return 0; /* the hello has it */
	event.name = wire_string(title, sizeof(title));
	return stage_put(stage, WIRE_RECORD_event, &event);
}

int samples_begin(struct stage *stage, struct perfdata_replay *replay)
{
	uint32_t n = replay->header.events.n_numbers;
	int r = 0;

	group_values_init(&replay->samples.values);
	for (uint32_t i = 0; n <= WIRE_EVENTS_MAX && i < n && r == 0; i++)
		r = put_event(stage, replay, i);
	return r;
}

/* Drops a sample whose event is beyond the limit. */
static void skip(struct stage *stage, struct samples *samples, const struct event *event)
{
	uint64_t *n = counters_get(&stage->counters, "too-many-events", event->name);

	samples->n_skipped += *n == 0;
	samples->n_samples_skipped++;
	++*n;
	stage_drop(stage, "too-many-events", 1);
}

void samples_warn_of_skipped(struct stage *stage, const struct perfdata_replay *replay)
{
	if (replay->samples.n_skipped)
		stage_warn(stage,
			   "%" PRIu64 " samples of %" PRIu32
			   " events were dropped (see too-many-events in --stats): a stream has at "
			   "most %d events",
			   replay->samples.n_samples_skipped, replay->samples.n_skipped,
			   WIRE_EVENTS_MAX);
}

/* Extracts the addresses of one side, kernel or user, from a call chain. */
static size_t take_chain(const struct parsed_sample *sample, uint64_t side, uint64_t *ret,
			 size_t n_max)
{
	uint64_t context = 0;
	size_t n = 0;

	for (uint64_t i = 0; i < sample->n_chain && n < n_max; i++) {
		uint64_t address = layout_word(sample->chain, i);

		if (address >= (uint64_t)-PERF_RECORD_CONTEXT_MARKS)
			context = address;
		else if (context == side)
			ret[n++] = address;
	}
	return n;
}

static bool is_kernel_address(uint64_t address)
{
	return address >> 63;
}

/*
 * Emits a stack for a sample without stack bytes: from perf's call chain, which the kernel made by
 * frame pointers, or without -g from its address alone.
 */
static int put_stack(struct stage *stage, struct perfdata_replay *replay,
		     const struct parsed_sample *sample, const struct wire_sample *common)
{
	static uint64_t user[WIRE_FRAMES_MAX - WIRE_KERNEL_FRAMES_MAX];
	static struct wire_frame frames[WIRE_FRAMES_MAX];
	size_t n_user = take_chain(sample, PERF_CONTEXT_USER, user, sizeof(user) / sizeof(*user));
	struct wire_addrs kernel = common->kernel;
	size_t n = 0;
	struct wire_stack stack = wire_stack_of_sample(common);

	if (!n_user && !kernel.n && is_kernel_address(common->address))
		kernel = (struct wire_addrs){ &common->address, 1 };
	else if (!n_user && !kernel.n && common->address)
		user[n_user++] = common->address;
	stack.end = n_user || !sample->n_chain ? WIRE_stack_end_NOT_UNWOUND
					       : WIRE_stack_end_NO_USER_REGS;
	for (size_t i = 0; i < kernel.n; i++)
		frames[n++] = (struct wire_frame){
			kernel.data[i],
			MAPPING_KERNEL,
			WIRE_frame_flags_KERNEL | (i ? 0 : WIRE_frame_flags_EXACT),
		};
	for (size_t i = 0; i < n_user; i++)
		frames[n++] = (struct wire_frame){
			user[i],
			processes_find_mapping(&replay->processes, sample->pid, user[i] - (i > 0)),
			i ? WIRE_frame_flags_FRAME_POINTER : WIRE_frame_flags_EXACT,
		};
	stack.frames = (struct wire_frames){ frames, n };
	return stage_put(stage, WIRE_RECORD_stack, &stack);
}

/* Emits a sample of an event (NULL: unknown). `common` has all but the event's number. */
static int put_sample(struct stage *stage, struct perfdata_replay *replay,
		      const struct ordered *record, const struct event *event,
		      struct wire_sample *common)
{
	struct samples *samples = &replay->samples;
	int r = 0;

	stage->samples_in++;
	if (!event || event->number == EVENT_NOT_SAMPLED) {
		stage_drop(stage, "unknown-event", 1);
		return 0;
	}
	if (!samples->stream_number[event->number]) {
		if (samples->n_emitted == WIRE_EVENTS_MAX) {
			skip(stage, samples, event);
			return 0;
		}
		r = put_event(stage, replay, event->number);
	}
	if (r < 0)
		return r;
	common->event = samples->stream_number[event->number] - 1;
	return record->event->stack_size ? stage_put(stage, WIRE_RECORD_sample, common)
					 : put_stack(stage, replay, &record->sample, common);
}

/* Emits a sample of each group member that has counted since the previous sample. */
static int put_members(struct stage *stage, struct perfdata_replay *replay,
		       const struct ordered *record, struct wire_sample *common)
{
	const struct parsed_sample *sample = &record->sample;
	int r = 0;

	for (uint64_t i = 0; i < sample->n_values && r == 0; i++) {
		const uint8_t *value = sample->values + i * sample->value_words * sizeof(uint64_t);
		uint64_t id = layout_word(value, 1);
		const struct event *event = events_of_id(&replay->header.events, id);

		r = group_values_take(&replay->samples.values, record->event, sample->tid, id,
				      layout_word(value, 0), &common->weight);
		if (r == 0 && common->weight)
			r = put_sample(stage, replay, record, event, common);
	}
	return r;
}

int samples_take(struct stage *stage, struct perfdata_replay *replay, const struct ordered *record,
		 uint64_t time)
{
	const struct parsed_sample *sample = &record->sample;
	const struct arch *arch = replay->header.events.arch;
	uint64_t registers[ARCH_REGISTERS_MAX], kernel[WIRE_KERNEL_FRAMES_MAX], address = 0;
	bool has_user = sample->abi && sample->registers && record->event->has_registers &&
			record->event->stack_size;
	struct wire_sample out = {
		.time = time,
		.tid = sample->tid,
		.cpu = sample->cpu,
		.weight = sample->period ? sample->period : record->event->period,
		.address = sample->address,
		.abi = has_user ? sample->abi : 0,
		.kernel = { kernel, take_chain(sample, PERF_CONTEXT_KERNEL, kernel,
					       WIRE_KERNEL_FRAMES_MAX) },
	};
	int r;

	if (has_user && register_writers_were_interrupted(&replay->kernel_names.writers, kernel,
							  out.kernel.n)) {
		++*counters_get(&stage->counters, "samples", "registers-being-written");
		out.abi = has_user = false;
	}
	for (size_t i = 0; has_user && i < arch->n_registers; i++)
		registers[i] = layout_word(sample->registers, record->event->register_at[i]);
	if (has_user) {
		address = arch_sampled(arch, registers, arch->pc);
		out.registers = (struct wire_addrs){ registers, arch->n_registers };
		if (!record->is_in_file ||
		    !stack_reference_fill(&replay->stack_reference, sample, &out))
			out.stack = (struct wire_blob){ sample->stack, sample->stack_size };
	}
	r = processes_of_sample(&replay->processes, sample->pid, address, time, &out.process);
	if (r < 0)
		return r;
	return sample->values ? put_members(stage, replay, record, &out)
			      : put_sample(stage, replay, record, record->event, &out);
}
