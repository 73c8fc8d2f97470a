/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>

#include "preload-source/reader/heap-encoder.h"

int heap_encoder_init(struct heap_encoder *encoder, struct stage *stage,
		      const struct processes *processes)
{
	*encoder = (struct heap_encoder){
		.stage = stage,
		.processes = processes,
		.n_raw = counters_get(&stage->counters, "heap", "raw-stacks"),
		.n_late = counters_get(&stage->counters, "events", "late"),
	};
	return stack_memo_init(&encoder->memo);
}

void heap_encoder_deinit(struct heap_encoder *encoder)
{
	stack_memo_deinit(&encoder->memo);
}

static enum wire_stack_end end_of(uint32_t end)
{
	switch (end) {
	case HEAP_END_COMPLETE:
		return WIRE_stack_end_COMPLETE;
	case HEAP_END_FRAME_LIMIT:
		return WIRE_stack_end_FRAME_LIMIT;
	default:
		return WIRE_stack_end_NO_UNWIND_INFO;
	}
}

void heap_encoder_note_look(const struct heap_encoder *encoder,
			    struct heap_encoder_process *process, uint32_t generation)
{
	generation &= HEAP_GENERATION_MASK;
	process->generation = generation;
	process->looks[generation & (HEAP_ENCODER_LOOKS - 1)].generation = generation;
	process->looks[generation & (HEAP_ENCODER_LOOKS - 1)].next_mapping =
		encoder->processes->n_mappings;
}

void heap_encoder_forget_look(struct heap_encoder_process *process)
{
	process->generation = HEAP_ENCODER_NO_GENERATION;
}

/* The number from which on mappings did not exist yet in a generation; 0: unknown generation. */
static uint32_t find_bound(const struct heap_encoder_process *process, uint32_t generation)
{
	uint32_t i = generation & (HEAP_ENCODER_LOOKS - 1);

	if (generation == process->generation)
		return UINT32_MAX;
	return process->looks[i].generation == generation ? process->looks[i].next_mapping : 0;
}

/* A frame whose code was unmapped, or mapped later, has an address and no mapping. */
static struct wire_frame make_frame(const struct heap_encoder *encoder,
				    const struct mapping_table *mappings, uint64_t address,
				    uint32_t bound)
{
	const struct mapping *mapping = mappings ? mapping_table_find(mappings, address - 1) : NULL;
	struct wire_frame frame = { .address = address };

	if (!mapping || mapping->number >= bound)
		return frame;
	frame.mapping = mapping->number;
	/* Anonymous code is left by the frame pointer only. */
	if (images_is_memory(encoder->processes->images, mapping->image))
		frame.flags = WIRE_frame_flags_FRAME_POINTER;
	return frame;
}

static bool has_unproved_step(const struct wire_frames *frames)
{
	for (size_t i = 0; i < frames->n; i++)
		if (frames->data[i].flags & WIRE_frame_flags_FRAME_POINTER)
			return true;
	return false;
}

static int put_stack(struct heap_encoder *encoder, const struct heap_encoder_process *process,
		     const struct ring_record *record, uint64_t time)
{
	struct wire_frame frames[HEAP_FRAMES_MAX];
	struct wire_heap_stack stack = {
		.time = time,
		.process = process->upid,
		.number = encoder->n_stacks,
		.end = end_of(record->stack_end),
		.frames = { frames, record->n },
	};
	const struct mapping_table *mappings = processes_mappings(encoder->processes, process->pid);
	uint32_t bound = find_bound(process, record->generation);

	for (uint32_t i = 0; i < record->n; i++)
		frames[i] = make_frame(encoder, mappings, record->words[i], bound);
	frames[record->n - 1].flags = 0; /* the outermost frame has no caller */
	if (stack.end == WIRE_stack_end_COMPLETE && has_unproved_step(&stack.frames))
		stack.end = WIRE_stack_end_UNPROVED;
	return stage_put(encoder->stage, WIRE_RECORD_heap_stack, &stack);
}

int heap_encoder_stack(struct heap_encoder *encoder, const struct heap_encoder_process *process,
		       const struct ring_record *record, uint64_t time, uint32_t *ret_number)
{
	const uint64_t state[] = { process->upid, process->maps_version, record->generation,
				   record->stack_end };
	struct stack_key key = stack_memo_key(
		&encoder->memo, record->words, record->n,
		stack_memo_state(&encoder->memo, state, sizeof(state) / sizeof(*state)));
	uint64_t known = stack_memo_find(&encoder->memo, key);

	if (known) {
		*ret_number = known;
		return 0;
	}
	*ret_number = ++encoder->n_stacks;
	stack_memo_keep(&encoder->memo, key, *ret_number);
	return put_stack(encoder, process, record, time);
}

/* Emits only the caller's address, as code of a raw stack of another generation may be unmapped. */
static int put_outdated(struct heap_encoder *encoder, const struct heap_encoder_process *process,
			const struct ring_record *record, uint64_t time)
{
	const struct wire_frame caller = { .address = record->caller };
	const struct wire_heap_stack stack = {
		.time = time,
		.process = process->upid,
		.number = encoder->n_stacks,
		.end = WIRE_stack_end_NO_MAPPING,
		.frames = { &caller, 1 },
	};

	return stage_put(encoder->stage, WIRE_RECORD_heap_stack, &stack);
}

int heap_encoder_raw(struct heap_encoder *encoder, const struct heap_encoder_process *process,
		     const struct ring_record *record, uint32_t tid, uint64_t time,
		     uint32_t *ret_number)
{
	/* DWARF's numbers of HEAP_RAW_REGISTERS, in their order (psABI x86-64, 3.36). */
	static const uint8_t kept[HEAP_RAW_REGISTERS] = { 16, 7, 6, 3, 12, 13, 14, 15 };
	const struct arch *arch = arch_host();
	uint64_t registers[ARCH_REGISTERS_MAX] = { 0 };
	struct wire_heap_sample sample = {
		.time = time,
		.process = process->upid,
		.tid = tid,
		.number = ++encoder->n_stacks,
		.caller = record->caller,
		.registers = { registers, arch->n_registers },
		.stack = { record->words, record->n * sizeof(*record->words) },
	};
	int r;

	*ret_number = sample.number;
	if (record->generation != process->generation)
		return put_outdated(encoder, process, record, time);
	for (uint32_t i = 0; i < HEAP_RAW_REGISTERS; i++)
		registers[arch->sample_index[kept[i]]] = record->registers[i];
	++*encoder->n_raw;
	r = stage_put(encoder->stage, WIRE_RECORD_heap_sample, &sample);
	/* The writer borrows the stack bytes, which the next record overwrites. */
	return r < 0 ? r : wire_writer_flush(&encoder->stage->writer);
}

int heap_encoder_flush(struct heap_encoder *encoder)
{
	return heap_events_send(&encoder->events, encoder->stage, encoder->upid);
}

int heap_encoder_event(struct heap_encoder *encoder, const struct heap_encoder_process *process,
		       const struct heap_event *event)
{
	int r = 0;

	if (encoder->upid != process->upid || heap_event_writer_is_full(&encoder->events))
		r = heap_encoder_flush(encoder);
	encoder->upid = process->upid;
	heap_event_write(&encoder->events, event);
	return r;
}
