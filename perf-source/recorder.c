/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The main loop: takes perf's records and emits ours, until it is time to stop. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/arch/arch.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/script/script-place.h"
#include "common/source/kernel-symbol.h"
#include "common/source/source-output.h"
#include "perf-source/perf-source.h"
#include "perf-source/perf/sample.h"
#include "perf-source/ring-poll.h"
#include "perf-source/silent-threads.h"

enum {
	RELEASE_SHARE = 4, /* a 4th of a ring is read before its space is released */
};

#define READ_ALL_AGAIN_NS NANOSECONDS_A_SECOND /* at least, however much is lost */
#define CHECK_IMAGES_NS (NANOSECONDS_A_SECOND / 4)

/* PERF_SAMPLE_RAW: an event of our BPF program. */
static int take_raw(struct perf_source *self, const struct merge_record *record)
{
	const struct perf_record_raw *raw = (const void *)record->header;

	if (!perf_record_raw_has(raw, 0, 0) ||
	    !event_set_find_event(&self->event_set, raw->event_id))
		return 0;
	return self->off_cpu.backend->take_switch(&self->off_cpu, record->header, record->time);
}

/* Drops registers and stack of a sample taken while registers were written: two moments mix. */
static void lose_registers(struct stage *stage, struct perf_record_sample *sample)
{
	++*counters_get(&stage->counters, "samples", "registers-being-written");
	sample->abi = sample->n_registers = sample->stack_size = 0;
}

/* The parts that wait in the ring of a record. */
static struct sample_parts *sample_parts_of(struct perf_source *self,
					    const struct merge_record *record)
{
	return &self->sample_parts[record->ring];
}

/* What was emitted, or lost, before this record is of no later sample. */
static void clear_parts(struct perf_source *self, const struct merge_record *record)
{
	sample_parts_clear(sample_parts_of(self, record), &self->event_set.rings[record->ring]);
}

/*
 * Emits an object of an interpreter, at once: whatever becomes of its sample, the program does not
 * emit it again.
 */
static int put_object(struct stage *stage, struct perf_source *self,
		      const struct merge_record *record, const struct sample_part *part)
{
	const struct perf_record_raw *raw = (const void *)record->header;
	struct wire_memory out = { .time = record->time, .address = part->address };
	const char *bytes = (const char *)(part + 1) + sizeof(out.identity);
	int r;

	if (part->size < sizeof(out.identity) ||
	    (self->follows && !followed_has_sample(&self->followed, raw->pid)))
		return 0;
	memcpy(&out.identity, part + 1, sizeof(out.identity));
	out.bytes = (struct wire_blob){ bytes, part->size - sizeof(out.identity) };
	if (self->n_scripts < SCRIPT_NUMBERS_MAX - 1)
		out.number = ++self->n_scripts;
	r = processes_of_sample(&self->processes, raw->pid, 0, record->time, &out.process);
	return r < 0 ? r : stage_put(stage, WIRE_RECORD_memory, &out);
}

static int take_part(struct stage *stage, struct perf_source *self,
		     const struct merge_record *record)
{
	const struct perf_record_raw *raw = (const void *)record->header;
	const struct sample_part *part = sample_part_of(raw);

	if (!part)
		return 0;
	if (part->kind == SAMPLE_PART_DEEPER || part->kind == SAMPLE_PART_MEMORY)
		programs_note_read(self, event_set_ring_kind(&self->event_set, record->ring),
				   raw->cpu, raw->header.size);
	if (part->kind == SAMPLE_PART_MEMORY)
		return put_object(stage, self, record, part);
	return sample_parts_take(sample_parts_of(self, record),
				 &self->event_set.rings[record->ring], raw);
}

/* The parts of a sample; NULL: none. */
static const struct sample_parts *find_parts(struct perf_source *self,
					     const struct merge_record *record,
					     const struct perf_record_sample *sample)
{
	const struct sample_parts *parts = sample_parts_of(self, record);
	const struct arch *arch = arch_host();

	return sample->n_registers &&
			       sample_parts_are_of(parts, sample->tid,
						   arch_sampled(arch, sample->registers, arch->sp))
		       ? parts
		       : NULL;
}

static struct sample_context context_of(const struct sample_parts *parts)
{
	const struct sample_part *context = parts ? parts->context : NULL;
	const struct sample_part *walk = parts ? parts->walk : NULL;
	struct sample_context ret = { 0 };

	if (context) {
		ret.bytes = context + 1;
		ret.size = context->size;
		ret.state = context->end;
	}
	if (walk) {
		ret.walk = walk + 1;
		ret.walk_size = walk->size;
		ret.walk_end = walk->end;
	}
	return ret;
}

/* Gives a sample the stack that our program has read. */
static void set_stack(struct stage *stage, const struct sample_parts *parts,
		      struct perf_record_sample *sample)
{
	if (!parts || !parts->stack)
		return;
	sample->stack = parts->stack + 1;
	sample->stack_size = parts->stack->size;
	if (parts->cut)
		++*counters_get(&stage->counters, "deep-stacks",
				wire_name_text(&wire_names_stack_cut, parts->cut));
}

/* Takes a sample of a sampling event. */
static int put_sample(struct stage *stage, struct perf_source *self,
		      const struct merge_record *record, struct perf_record_sample *sample,
		      uint32_t event)
{
	const struct sample_parts *parts = find_parts(self, record, sample);
	const struct sample_of_event of = {
		.event = event,
		.weight = sample->period,
		.context = context_of(parts),
		.parts = parts,
	};
	int r;

	self->missing.n_sampled += event == 0;
	set_stack(stage, parts, sample);
	if (sample->n_registers && (!parts || !parts->words))
		kernel_walks_note_copied(&self->kernel_walks, sample->pid);
	r = sample_put(stage, &self->processes, sample, record->time, &of);
	clear_parts(self, record);
	return r;
}

/* Takes the stack of a thread that is switched out, or of a waker. */
static int take_wait(struct perf_source *self, const struct merge_record *record, uint32_t number,
		     const struct perf_record_sample *sample)
{
	struct sample_context context = context_of(find_parts(self, record, sample));
	int r = self->off_cpu.backend->take_stack(&self->off_cpu, number, sample, context);

	clear_parts(self, record);
	return r;
}

static int take_sample(struct stage *stage, struct perf_source *self,
		       const struct merge_record *record)
{
	enum ring_kind kind = event_set_ring_kind(&self->event_set, record->ring);
	const struct event_setup *setup = &self->event_set.setup;
	const struct recorded_event *event = NULL;
	struct perf_record_sample sample;

	if (kind == RING_SWITCHES)
		return take_raw(self, record);
	if (merge_is_part(&self->merge, record))
		return take_part(stage, self, record);
	if (perf_record_parse_sample(record->header,
				     kind == RING_WAITS ? PERF_RECORD_SAMPLE_RAW_TYPE
							: event_sample_type(setup),
				     &sample))
		event = event_set_find_event(&self->event_set, sample.event_id);
	if (!event || recorded_event_is_of_parts(event)) {
		stage_miss(stage, "damaged", 1);
		return 0;
	}
	if (self->follows && !followed_has_sample(&self->followed, sample.pid))
		return 0;
	if (register_writers_were_interrupted(&self->register_writers, sample.chain,
					      sample.n_chain))
		lose_registers(stage, &sample);
	if (kind == RING_WAITS)
		return take_wait(self, record, event->number, &sample);
	if (setup->is_counted)
		sample.period = setup->events[event->number].count;
	return put_sample(stage, self, record, &sample, event->number);
}

static int take_lost(struct stage *stage, struct perf_source *self,
		     const struct merge_record *record)
{
	const struct perf_record_lost *lost = (const void *)record->header;
	const struct perf_record_id *id = perf_record_id(record->header);
	struct wire_lost out = { .time = record->time, .cpu = id ? id->cpu : 0, .n = lost->n };

	switch (event_set_ring_kind(&self->event_set, record->ring)) {
	case RING_SAMPLES:
		clear_parts(self, record);
		self->lost_emitted += lost->n;
		break;
	case RING_SWITCHES:
		if (self->scheduler)
			scheduler_take_lost(self->scheduler);
		*counters_get(&stage->counters, "events", "switches-lost") += lost->n;
		return self->off_cpu.backend->take_lost(&self->off_cpu, record->time);
	case RING_WAITS: /* those waits have no stack, those wake-ups are missing */
		clear_parts(self, record);
		*counters_get(&stage->counters, "events", "waits-lost") += lost->n;
		return 0;
	default:
		/* Mappings and execs may be lost, and threads may have begun and ended. */
		self->must_read_again = true;
		off_cpu_lose_threads(&self->off_cpu, record->time);
		*counters_get(&stage->counters, "events", "side-band-lost") += lost->n;
	}
	return stage_put(stage, WIRE_RECORD_lost, &out);
}

/* Updates waits by a task's record, before processes.h makes another incarnation of it. */
static int take_task(struct perf_source *self, const struct merge_record *record)
{
	int r = self->scheduler ? scheduler_take_task(self->scheduler, record->header, record->time)
				: 0;

	if (r < 0 || !self->event_set.has_waits)
		return r;
	return self->off_cpu.backend->take_task(&self->off_cpu, record->header, record->time);
}

static int take_switch(struct perf_source *self, const struct perf_event_header *header,
		       uint64_t time)
{
	int r = self->scheduler ? scheduler_take_switch(self->scheduler, header, time) : 0;

	if (r < 0 || !self->event_set.has_waits)
		return r;
	return self->off_cpu.backend->take_switch(&self->off_cpu, header, time);
}

static int take_mapping(struct perf_source *self, const struct perf_record_mmap2 *mmap,
			uint64_t time)
{
	int r = processes_mmap(&self->processes, mmap, time);

	kernel_walks_note(&self->kernel_walks, mmap->pid);
	return r < 0 ? r
		     : contexts_note_mapping(&self->contexts, mmap->pid,
					     record_text(&mmap->header, sizeof(*mmap)));
}

static int take_fork(struct perf_source *self, const struct perf_record_task *fork, uint64_t time)
{
	int r = processes_fork(&self->processes, fork, time);

	if (fork->pid != fork->parent_pid)
		kernel_walks_note(&self->kernel_walks, fork->pid);
	return r < 0 ? r : contexts_note_fork(&self->contexts, fork->parent_pid, fork->pid, time);
}

static int take_comm(struct perf_source *self, const struct perf_record_comm *comm, uint64_t time)
{
	if (perf_record_comm_is_exec(&comm->header))
		kernel_walks_note_exec(&self->kernel_walks, comm->pid);
	return processes_comm(&self->processes, comm, time);
}

static int take_exit(struct perf_source *self, const struct perf_record_task *task, uint64_t time)
{
	if (task->pid == task->tid)
		kernel_walks_note(&self->kernel_walks, task->pid);
	return processes_exit(&self->processes, task, time);
}

static int take(struct stage *stage, struct perf_source *self, const struct merge_record *record)
{
	const void *data = record->header;
	int r;

	if (!perf_record_is_whole(record->header)) {
		++*counters_get(&stage->counters, "refused", "short-records");
		return 0;
	}
	if (self->follows && !followed_take(&self->followed, record->header))
		return 0;
	r = take_task(self, record);
	if (r < 0)
		return r;
	switch (record->header->type) {
	case PERF_RECORD_SAMPLE:
		return take_sample(stage, self, record);
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return take_switch(self, data, record->time);
	case PERF_RECORD_MMAP2:
		return take_mapping(self, data, record->time);
	case PERF_RECORD_COMM:
		return take_comm(self, data, record->time);
	case PERF_RECORD_FORK:
		return take_fork(self, data, record->time);
	case PERF_RECORD_EXIT:
		return take_exit(self, data, record->time);
	case PERF_RECORD_KSYMBOL:
		return kernel_symbol_put(stage, data, record->time);
	case PERF_RECORD_LOST:
		return take_lost(stage, self, record);
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		missing_take_throttle(self, stage, record->header->type, record->ring,
				      record->time);
		return 0;
	default:
		return 0;
	}
}

static int hand_over(struct stage *stage, struct perf_source *self)
{
	int r = wire_writer_flush(&stage->writer);

	off_cpu_keep(&self->off_cpu);
	merge_release(&self->merge);
	return r;
}

/* Emits counters and marks, which do not come from rings, in time order with what does. */
static int emit_others(struct stage *stage, struct perf_source *self, uint64_t until)
{
	int r = 0;

	if (gauges_have(&self->gauges, until))
		r = gauges_emit(&self->gauges, stage, until);
	if (r == 0 && marks_have(&self->marks, until))
		r = marks_emit(&self->marks, stage, &self->processes, until);
	return r;
}

/* Looks at all rings; returns the time up to which they are complete. */
static uint64_t look(struct perf_source *self)
{
	uint64_t until = merge_look(&self->merge), lost_until;

	if (gaps_look(&self->gaps, clock_now(CLOCK_MONOTONIC), &lost_until))
		processes_lose(&self->processes, lost_until);
	return until;
}

/* To be called for each side-band record taken: records after it may be missing. */
static void note_taken(struct perf_source *self, const struct merge_record *record)
{
	uint64_t lost_until;

	coming_take(&self->coming, record);
	if (gaps_take(&self->gaps, record->ring, record->time, &lost_until))
		processes_lose(&self->processes, lost_until);
}

/* Takes all records up to a time, in order. */
static int drain(struct stage *stage, struct perf_source *self, uint64_t until)
{
	struct merge_record record;
	/* In large pieces: a concurrent writer and reader of one pipe block each other. */
	size_t release_bytes = self->event_set.ring_bytes / RELEASE_SHARE, unreleased = 0;
	int r = 0;

	while (merge_next(&self->merge, until, &record) == 0) {
		stage->last_time = record.time;
		if (event_set_ring_kind(&self->event_set, record.ring) == RING_SIDEBAND)
			note_taken(self, &record);
		r = emit_others(stage, self, record.time);
		if (r == 0)
			r = take(stage, self, &record);
		if (r < 0)
			return r;
		unreleased += record.header->size;
		if (unreleased >= release_bytes) {
			r = hand_over(stage, self);
			if (r < 0)
				return r;
			unreleased = 0;
		}
	}
	if (until < UINT64_MAX - 1)
		r = emit_others(stage, self, until);
	if (r == 0)
		r = off_cpu_emit_sums(&self->off_cpu, self->merge.last_time);
	if (r == 0)
		r = processes_reap(&self->processes, self->merge.last_time);
	if (r == 0)
		r = processes_sweep(&self->processes, self->merge.last_time);
	return r < 0 ? r : hand_over(stage, self);
}

static int read_again_if_lost(struct perf_source *self)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);
	int r;

	if (!self->must_read_again || now < self->read_again_at)
		return 0;
	self->must_read_again = false;
	r = processes_read_all_again(&self->processes, self->merge.last_time);
	/* With many processes, reading must not take a large share of the time. */
	self->read_again_at = now + READ_ALL_AGAIN_NS +
			      (clock_now(CLOCK_MONOTONIC) - now) * PROCESSES_RESTORE_SHARE;
	return r;
}

/* Checks whether files were written to since they were mapped. */
static int check_images(struct perf_source *self)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);
	int r = 0;

	if (now - self->images_checked_at >= CHECK_IMAGES_NS) {
		self->images_checked_at = now;
		r = images_check(&self->images);
	}
	return r < 0 ? r : processes_follow_images(&self->processes, self->merge.last_time);
}

/* Warns the user why a recording of processes is over. */
static void emit_end(struct stage *stage, const struct perf_source_options *options)
{
	if (options->command) /* the recording lasts as long as its command */
		return;
	if (options->n_pids == 1)
		stage_warn(stage, "process %d exited", (int)options->pids[0]);
	else if (options->n_pids)
		stage_warn(stage, "all %zu processes exited", options->n_pids);
}

static int is_news(const struct perf_event_header *event, void *arg)
{
	const struct perf_source *self = arg;

	if (self->follows &&
	    (!perf_record_is_whole(event) || !followed_concerns(&self->followed, event)))
		return 0;
	return processes_is_news(&self->processes, event);
}

static int look_ahead(const struct perf_event_header *event, void *arg)
{
	struct perf_source *self = arg;

	if (perf_record_is_whole(event) &&
	    (!self->follows || followed_concerns(&self->followed, event)))
		kernel_walks_look_ahead(&self->kernel_walks, event);
	return 0;
}

/* Shows what walks stacks in the kernel which processes have just begun. */
static void look_at_sideband(void *arg)
{
	struct perf_source *self = arg;

	if (!self->looked_at)
		return;
	for (size_t i = 0; i < self->event_set.n_cpus; i++)
		if (self->event_set.rings[i].fd >= 0)
			merge_look_ahead(&self->merge, i, &self->looked_at[i], look_ahead, self);
	kernel_walks_end_look(&self->kernel_walks);
}

/* Waits no longer than what has been begun may take. */
static bool wait_for_rings(const struct perf_source *self, struct ring_poll *polled)
{
	_Static_assert((int)CONTEXTS_HELPERS_MAX < (int)RING_POLL_HELPERS, "and one for tables");
	bool has_contexts = self->contexts.search.wanted;

	for (size_t i = 0; has_contexts && i < CONTEXTS_HELPERS_MAX; i++)
		ring_poll_set_helper(polled, i, contexts_helper(&self->contexts, i));
	ring_poll_set_helper(polled, CONTEXTS_HELPERS_MAX,
			     kernel_walks_helper(&self->kernel_walks));
	polled->is_busy = (has_contexts && contexts_are_coming(&self->contexts)) ||
			  kernel_walks_are_coming(&self->kernel_walks);
	return ring_poll_wait(polled);
}

static int record(struct stage *stage, struct perf_source *self, struct ring_poll *polled)
{
	uint64_t begun = clock_now(CLOCK_MONOTONIC);
	bool goes_on = true;
	int r = 0;

	while (r == 0 && goes_on && !stage_should_stop()) {
		r = drain(stage, self, look(self));
		if (r == 0)
			r = images_take_states(&self->images);
		if (r == 0 && self->contexts.search.wanted)
			r = contexts_attend(&self->contexts, self->merge.last_time);
		if (r == 0)
			r = check_images(self);
		if (r == 0)
			r = kernel_walks_attend(&self->kernel_walks);
		if (r == 0)
			r = hotplug_follow(self, stage);
		if (r == 0)
			r = read_again_if_lost(self);
		goes_on = wait_for_rings(self, polled);
		if (!goes_on)
			emit_end(stage, &self->options);
		if (self->options.duration &&
		    clock_now(CLOCK_MONOTONIC) - begun >= self->options.duration)
			goes_on = false;
	}
	return r;
}

/* Takes what the rings still hold, and emits sums and counts. */
static int finish(struct stage *stage, struct perf_source *self)
{
	uint64_t stopped_at;
	int r;

	switch_program_stop(&self->switch_program);
	stopped_at = clock_now(CLOCK_MONOTONIC);
	event_set_disable(&self->event_set);
	gauges_stop(&self->gauges);
	marks_stop(&self->marks);
	look(self);
	r = drain(stage, self, UINT64_MAX - 1);
	if (stopped_at < self->merge.last_time)
		stopped_at = self->merge.last_time;
	if (r == 0)
		r = emit_others(stage, self, stopped_at);
	if (r == 0 && self->event_set.has_waits) {
		silent_threads_find(stage, &self->off_cpu, self->options.pids,
				    self->options.n_pids);
		r = off_cpu_finish(&self->off_cpu, stopped_at);
	}
	if (r == 0 && self->scheduler)
		r = scheduler_finish(self->scheduler, stopped_at);
	if (r == 0)
		r = emit_others(stage, self, UINT64_MAX - 1);
	if (r == 0)
		r = images_take_states(&self->images);
	perf_source_count(stage, self);
	if (self->options.command)
		command_emit_crash(&self->command, stage, self->options.command[0]);
	stage->end_time = clock_now(CLOCK_MONOTONIC);
	return r;
}

/*
 * The output is closed, or memory ran out. Stops recording, but lets the command, which is not at
 * fault, run to its end.
 */
static int give_up(struct stage *stage, struct perf_source *self, int error)
{
	switch_program_stop(&self->switch_program);
	event_set_disable(&self->event_set);
	if (error != -ECANCELED) /* after -ECANCELED the stream still gets its end */
		source_output_close();
	command_end(&self->command, stage);
	return error;
}

int perf_source_run(struct stage *stage, void *data)
{
	struct perf_source *self = data;
	struct ring_poll polled = { .event_set = &self->event_set,
				    .merge = &self->merge,
				    .is_news = is_news,
				    .at_sideband = look_at_sideband,
				    .arg = self };
	bool has_command = self->options.command;
	int r = perf_source_begin(stage, self);

	polled.looks_often = self->looked_at;
	if (r == 0)
		r = ring_poll_init(&polled, has_command ? &self->command.pid_fd : self->pid_fds,
				   has_command ? 1 : self->options.n_pids, self->images.server_fd);
	if (r == 0)
		r = record(stage, self, &polled);
	if (has_command && !self->options.n_pids) /* the rings begin with its events alone */
		self->missing.hung_up_at = polled.hung_up_at;
	if (r == 0)
		r = finish(stage, self);
	ring_poll_deinit(&polled);
	return r < 0 ? give_up(stage, self, r) : r;
}

int perf_source_close(struct stage *stage, void *data)
{
	struct perf_source *self = data;

	source_output_close();
	images_deinit(&self->images);
	if (self->options.command)
		command_end(&self->command, stage);
	image_server_wait(&self->server, stage_must_stop);
	image_server_count(&self->server, &stage->run_counters);
	blocked_time_count(&self->images.blocked, &stage->run_counters, "ms-of-image-requests");
	return 0;
}

void perf_source_deinit(void *data)
{
	struct perf_source *self = data;

	kernel_walks_deinit(&self->kernel_walks);
	free(self->looked_at);

	command_reap(&self->command); /* if it was never started */
	gauges_deinit(&self->gauges);
	marks_deinit(&self->marks);
	scheduler_free(self->scheduler);
	contexts_deinit(&self->contexts);
	context_program_deinit(&self->context_program);
	off_cpu_deinit(&self->off_cpu);
	switch_program_deinit(&self->switch_program);
	followed_deinit(&self->followed);
	missing_deinit(&self->missing);
	hotplug_deinit(&self->hotplug);
	processes_deinit(&self->processes);
	images_deinit(&self->images);
	coming_deinit(&self->coming);
	gaps_deinit(&self->gaps);
	for (size_t i = 0; self->sample_parts && i < self->event_set.n_rings; i++)
		sample_parts_deinit(&self->sample_parts[i]);
	free(self->sample_parts);
	merge_deinit(&self->merge);
	event_set_deinit(&self->event_set);
	for (size_t i = 0; i < self->n_sample_programs; i++)
		sample_program_unload(&self->sample_programs[i]);
	sample_program_unload(&self->waits_program);
	for (uint32_t i = 0; i < self->options.n_events; i++)
		sampled_event_undefine(&self->options.events[i], i);
	for (size_t i = 0; self->pid_fds && i < self->options.n_pids; i++)
		cleanup_fd(&self->pid_fds[i]);
	free(self->pid_fds);
	free(self->options.pids);
}
