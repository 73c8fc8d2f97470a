/* SPDX-License-Identifier: GPL-3.0-or-later */
/* While it records: perf's records in, ours out, until it is time to stop. */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/arch.h"
#include "common/base/capabilities.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/source/host-files.h"
#include "common/source/kernel-build-id.h"
#include "common/source/kernel-symbol.h"
#include "common/proc/proc.h"
#include "common/source/source-output.h"
#include "perf-source/perf-source.h"
#include "perf-source/perf/sample.h"
#include "perf-source/silent-threads.h"
#include "perf-source/waiting.h"

enum {
	RELEASE_SHARE = 4, /* of a ring is handed out before the kernel gets room again */
};

#define READ_ALL_AGAIN_NS NANOSECONDS_A_SECOND /* no faster than this, however much is lost */
#define CHECK_IMAGES_NS (NANOSECONDS_A_SECOND / 4)

static bool is_changing(uint32_t pid, void *arg)
{
	struct perf_source *self = arg;

	return coming_changes(&self->coming, pid);
}

static int maps_code(const struct perf_event_header *header, void *arg)
{
	const struct record_mmap2 *mmap = (const void *)header;

	return record_is_whole(header) && header->type == PERF_RECORD_MMAP2 &&
	       mmap->pid == *(uint32_t *)arg;
}

/* Whether a mapping of a PID waits in the rings. It is asked a few times a second. */
static bool is_mapping(uint32_t pid, void *arg)
{
	struct perf_source *self = arg;

	for (size_t i = 0; i < self->recording.n_cpus; i++) {
		uint64_t from = 0;

		if (merge_look_ahead(&self->merge, i, &from, maps_code, &pid))
			return true;
	}
	return false;
}

/* What tells of waits by its data. */
static int take_raw(struct perf_source *self, const struct perf_event_header *header)
{
	const struct record_raw *raw = (const void *)header;
	const struct recorded_event *event =
		record_raw_has(raw, 0, 0) ? recording_find_event(&self->recording, raw->event_id)
					  : NULL;

	return event ? off_cpu_take_event(&self->off_cpu, raw) : 0;
}

/* They are of two moments. */
static void lose_registers(struct stage *stage, struct record_sample *sample)
{
	++*counters_get(&stage->counters, "samples", "registers-being-written");
	sample->abi = sample->n_registers = sample->stack_size = 0;
}

static int take_sample(struct stage *stage, struct perf_source *self,
		       const struct merge_record *record)
{
	enum ring_kind kind = recording_ring_kind(&self->recording, record->ring);
	const struct recorded_event *event = NULL;
	struct sample_of_event of = { 0 };
	struct record_sample sample;

	if (kind == RING_SWITCHES)
		return take_raw(self, record->header);
	if (record_parse_sample(record->header,
				kind == RING_WAITS ? RECORD_SAMPLE_RAW_TYPE : RECORD_SAMPLE_TYPE,
				&sample))
		event = recording_find_event(&self->recording, sample.event_id);
	if (!event) {
		stage_miss(stage, "damaged", 1);
		return 0;
	}
	if (self->follows && !followed_has_sample(&self->followed, sample.pid))
		return 0;
	if (register_writers_were_interrupted(&self->register_writers, sample.chain,
					      sample.n_chain))
		lose_registers(stage, &sample);
	if (kind == RING_WAITS)
		return event->number == WAITS_WAKING ? off_cpu_take_waking(&self->off_cpu, &sample)
						     : off_cpu_take_stack(&self->off_cpu, &sample);
	self->missing.n_sampled += event->number == 0;
	of.event = event->number;
	of.weight = sample.period;
	return sample_put(stage, &self->processes, &sample, record->time, &of);
}

static int take_lost(struct stage *stage, struct perf_source *self,
		     const struct merge_record *record)
{
	const struct record_lost *lost = (const void *)record->header;
	const struct record_id *id = record_id(record->header);
	struct wire_lost out = { .time = record->time, .cpu = id ? id->cpu : 0, .n = lost->n };

	switch (recording_ring_kind(&self->recording, record->ring)) {
	case RING_SAMPLES:
		self->lost_told += lost->n;
		break;
	case RING_SWITCHES:
		if (self->scheduler)
			scheduler_take_lost(self->scheduler);
		*counters_get(&stage->counters, "events", "switches-lost") += lost->n;
		return self->off_cpu.program
			       ? 0
			       : off_cpu_take_lost_switches(&self->off_cpu, record->time);
	case RING_WAITS: /* waits are told without a stack, wakeups are not */
		*counters_get(&stage->counters, "events", "waits-lost") += lost->n;
		return 0;
	default:
		/* Also mappings and execs. */
		self->must_read_again = true;
		off_cpu_take_lost_tasks(&self->off_cpu, record->time);
		*counters_get(&stage->counters, "events", "side-band-lost") += lost->n;
	}
	return stage_put(stage, WIRE_RECORD_lost, &out);
}

/* What the record of a task means for its waits, before it means another process. */
static int take_task(struct perf_source *self, const struct merge_record *record)
{
	const void *data = record->header;

	int r = self->scheduler ? scheduler_take_task(self->scheduler, data, record->time) : 0;

	if (r < 0 || !self->recording.has_waits)
		return r;
	if (record->header->type == PERF_RECORD_COMM && record_comm_is_exec(data))
		return self->off_cpu.program
			       ? off_cpu_note_exec(&self->off_cpu, data, record->time)
			       : off_cpu_take_exec(&self->off_cpu, data, record->time);
	if (self->off_cpu.program)
		return 0;
	if (record->header->type == PERF_RECORD_FORK)
		return off_cpu_take_fork(&self->off_cpu, data, record->time);
	if (record->header->type == PERF_RECORD_EXIT)
		return off_cpu_take_exit(&self->off_cpu, data, record->time);
	return 0;
}

static int take_switch(struct perf_source *self, const struct perf_event_header *header,
		       uint64_t time)
{
	int r = self->scheduler ? scheduler_take_switch(self->scheduler, header, time) : 0;

	if (r < 0 || !self->recording.has_waits || self->off_cpu.program)
		return r;
	return off_cpu_take_switch(&self->off_cpu, header, time);
}

static int take(struct stage *stage, struct perf_source *self, const struct merge_record *record)
{
	const void *data = record->header;
	int r;

	if (!record_is_whole(record->header)) {
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
		return processes_mmap(&self->processes, data, record->time);
	case PERF_RECORD_COMM:
		return processes_comm(&self->processes, data, record->time);
	case PERF_RECORD_FORK:
		return processes_fork(&self->processes, data, record->time);
	case PERF_RECORD_EXIT:
		return processes_exit(&self->processes, data, record->time);
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

/* What does not come from the kernel's rings, in the order of time with what does. */
static int tell_others(struct stage *stage, struct perf_source *self, uint64_t until)
{
	int r = 0;

	if (instruments_have(&self->instruments, until))
		r = instruments_tell(&self->instruments, stage, until);
	if (r == 0 && marks_have(&self->marks, until))
		r = marks_tell(&self->marks, stage, &self->processes, until);
	return r;
}

/* Looks at all rings; returns up to when there is everything. */
static uint64_t look(struct perf_source *self)
{
	uint64_t until = merge_look(&self->merge), lost_until;

	if (gaps_look(&self->gaps, clock_now(CLOCK_MONOTONIC), &lost_until))
		processes_lose(&self->processes, lost_until);
	return until;
}

/* A record of side-band was taken: what comes behind it may be missing. */
static void note_taken(struct perf_source *self, const struct merge_record *record)
{
	uint64_t lost_until;

	coming_take(&self->coming, record);
	if (gaps_take(&self->gaps, record->ring, record->time, &lost_until))
		processes_lose(&self->processes, lost_until);
}

/* Everything up to a time, in order. */
static int drain(struct stage *stage, struct perf_source *self, uint64_t until)
{
	struct merge_record record;
	/* In large pieces: a writer and a reader of one pipe at the same time wait for each other.
	 */
	size_t release_bytes = self->recording.ring_bytes / RELEASE_SHARE, unreleased = 0;
	int r = 0;

	while (merge_next(&self->merge, until, &record) == 0) {
		stage->last_time = record.time;
		if (recording_ring_kind(&self->recording, record.ring) == RING_SIDEBAND)
			note_taken(self, &record);
		r = tell_others(stage, self, record.time);
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
		r = tell_others(stage, self, until);
	if (r == 0)
		r = off_cpu_tell_sums(&self->off_cpu, self->merge.last_time);
	if (r == 0)
		r = processes_bury(&self->processes, self->merge.last_time);
	if (r == 0)
		r = processes_sweep(&self->processes, self->merge.last_time);
	return r < 0 ? r : hand_over(stage, self);
}

static int put_kernel(struct perf_source *self)
{
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	struct wire_blob blob = { build_id, kernel_build_id_read(build_id) };

	return processes_add_kernel(&self->processes, blob, self->start_time);
}

static int set_output(int cpu, int waits_fd, int switches_fd, void *arg)
{
	return switch_program_set_output(arg, cpu, waits_fd, switches_fd);
}

/*
 * Of all tasks, the kernel's program knows who wakes whom; without it, a tracepoint can tell, of
 * some tasks whom they wake themselves. Where that is not to be had, waits have no wakers.
 */
static int prepare_waits(struct stage *stage, struct perf_source *self)
{
	const struct event_setup *setup = &self->recording.setup;
	struct off_cpu *off_cpu = &self->off_cpu;
	int r;

	off_cpu_init(off_cpu, stage, &self->processes, setup->n_events, self->recording.n_cpus,
		     self->options.least_wait);
	if (setup->has_switch_program) {
		off_cpu->program = &self->switch_program;
		return recording_each_output(&self->recording, set_output, off_cpu->program);
	}
	if (self->options.all)
		stage_warn(stage, "each switch is told one by one, which costs several times as "
				  "much: that needs CAP_BPF and Linux 6.0");
	if (!setup->waking_tracepoint ||
	    tracepoint_find_field("sched", "sched_waking", "pid", &off_cpu->woken) < 0) {
		stage_warn(stage,
			   "who ends a wait is not told: that needs root, or CAP_PERFMON and "
			   "tracefs (/sys/kernel/tracing), and the first PID namespace");
		return 0;
	}
	r = self->options.all ? recording_add_wakings(&self->recording) : 0;
	return r == -ENOMEM ? r : 0;
}

static const char *why_not_told(int error)
{
	switch (error) {
	case -EINVAL:
	case -E2BIG:
		return "this kernel (before 5.1) does not tell of it";
	case -EACCES:
	case -EPERM:
		return "that needs CAP_PERFMON, or kernel.perf_event_paranoid of at most 0";
	default:
		return strerror(-error);
	}
}

/* Without it there is only what kallsyms says. */
static int watch_kernel_code(struct stage *stage, struct perf_source *self)
{
	int r = recording_add_kernel_code(&self->recording);

	if (r == 0 || r == -ENOMEM)
		return r;
	stage_warn(stage,
		   "code that comes into the kernel from now on (BPF programs) has no names, or "
		   "wrong ones: %s",
		   why_not_told(r));
	return 0;
}

static int put_kallsyms(struct stage *stage, struct perf_source *self)
{
	_cleanup_fd_ int fd = host_files_open_kallsyms();
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = fd < 0 ? -EACCES : host_files_read_kallsyms(fd, &text, &size);

	if (r < 0)
		return r;
	register_writers_find(&self->register_writers, text, size);
	if (self->off_cpu.program)
		off_cpu_find_functions(&self->off_cpu, text, size);
	return host_files_put_kallsyms(stage, text, size, self->start_time);
}

static int put_host(struct stage *stage, struct perf_source *self)
{
	int r = host_files_put(stage, self->start_time);

	if (r == 0)
		r = put_kernel(self);
	if (r < 0 || self->recording.setup.no_kernel)
		return r;
	r = watch_kernel_code(stage, self); /* what comes while we read kallsyms is told twice */
	if (r < 0)
		return r;
	r = put_kallsyms(stage, self);
	if (r == -EACCES) {
		stage_warn(stage, "kernel functions have no names: " HOST_FILES_KALLSYMS_NEED);
		r = 0;
	}
	return r;
}

static int scan_process(uint32_t pid, void *arg)
{
	struct perf_source *self = arg;

	return processes_scan(&self->processes, pid, self->start_time);
}

/*
 * The processes that are there already. Their side-band is on by now, so that nothing falls between
 * this look and the first event.
 */
static int scan(struct perf_source *self)
{
	int r = 0;

	if (self->options.all && self->processes.proc.shows(getpid()))
		r = proc_each_process(scan_process, self);
	for (size_t i = 0; i < self->options.n_pids && r >= 0; i++)
		r = scan_process(self->options.pids[i], self);
	return r < 0 ? r : 0;
}

/*
 * Events and the names of the kernel are open: what is left are the maps of processes, and to stop
 * a command that has become another user's.
 */
static void give_up_capabilities(void)
{
	static const int kept[] = { CAP_SYS_PTRACE, CAP_PERFMON, CAP_DAC_READ_SEARCH, CAP_KILL };

	capabilities_keep(kept, sizeof(kept) / sizeof(*kept));
}

/* A machine that is idle tells nothing of itself but this. */
static int start_instruments(struct stage *stage, struct perf_source *self)
{
	int r = 0;

	if (!self->options.counter_interval)
		return 0;
	r = instruments_init(&self->instruments, "");
	return r < 0 ? r : instruments_start(&self->instruments, self->options.counter_interval);
}

static int put_event(struct stage *stage, uint32_t number, enum wire_event_kind kind,
		     enum wire_event_unit unit, const char *name)
{
	const struct wire_event event = { number, kind, unit, wire_string(name, WIRE_NAME_MAX) };

	return stage_put(stage, WIRE_RECORD_event, &event);
}

static int put_sampled_events(struct stage *stage, const struct event_setup *setup)
{
	int r = 0;

	for (uint32_t i = 0; i < setup->n_events && r == 0; i++)
		r = put_event(stage, i, WIRE_event_kind_ON_CPU,
			      sampled_event_is_clock(&setup->events[i])
				      ? WIRE_event_unit_NANOSECONDS
				      : WIRE_event_unit_EVENTS,
			      setup->events[i].name);
	return r;
}

/* What is not there must not be looked for. */
static int put_filter(struct stage *stage, const struct sampled_event *event)
{
	char text[1024];
	const struct wire_message message = {
		.time = stage->hello.start_time,
		.severity = WIRE_severity_INFO,
		.stage = wire_string(stage->program->name, 64),
		.text = { text, snprintf(text, sizeof(text), "of %s only what passes: %s",
					 event->name, event->filter) },
	};

	if (message.text.size >= sizeof(text))
		return 0;
	return stage_put(stage, WIRE_RECORD_message, &message);
}

static int put_events_of_waits(struct stage *stage, const struct perf_source *self)
{
	const struct off_cpu *off_cpu = &self->off_cpu;
	int r = put_event(stage, off_cpu->event, WIRE_event_kind_OFF_CPU,
			  WIRE_event_unit_NANOSECONDS, "off-cpu");

	if (r < 0 || (!off_cpu->program && !off_cpu->woken.size))
		return r;
	return put_event(stage, off_cpu->wakeup_event, WIRE_event_kind_WAKEUP,
			 WIRE_event_unit_NANOSECONDS, "wakeups");
}

/* One alone is told in `hello`. */
static int put_events(struct stage *stage, const struct perf_source *self)
{
	const struct event_setup *setup = &self->recording.setup;
	int r = 0;

	for (uint32_t i = 0; i < setup->n_events && r == 0; i++)
		if (setup->events[i].filter)
			r = put_filter(stage, &setup->events[i]);
	if (r < 0 || (!self->recording.has_waits && setup->n_events == 1))
		return r;
	r = put_sampled_events(stage, setup);
	return r == 0 && self->recording.has_waits ? put_events_of_waits(stage, self) : r;
}

static int prepare_scheduler(struct stage *stage, struct perf_source *self)
{
	if (!self->options.has_scheduler)
		return 0;
	self->scheduler = scheduler_new(stage, &self->processes);
	if (!self->scheduler)
		return -ENOMEM;
	return self->off_cpu.program ? recording_add_switches(&self->recording) : 0;
}

/*
 * Samples come last: to look at the processes takes as long as they have mappings, and nobody
 * empties the rings meanwhile. Events of a command alone are on when it is executed.
 */
static int enable(struct perf_source *self)
{
	bool on_exec = self->recording.setup.enable_on_exec;
	uint64_t begun_at;
	int r;

	recording_sort_events(&self->recording);
	r = on_exec ? 0 : recording_enable_sideband(&self->recording);
	if (r == 0 && !on_exec)
		r = scan(self);
	if (r == 0)
		r = missing_init(self);
	if (r == 0 && !on_exec)
		r = recording_enable_others(&self->recording);
	if (r < 0)
		return r;
	begun_at = clock_now(CLOCK_MONOTONIC);
	/* What a command was before it is one is not of interest. */
	if (self->scheduler)
		self->scheduler->begun_at = on_exec ? UINT64_MAX : begun_at;
	return off_cpu_begin(&self->off_cpu, begun_at);
}

static int begin(struct stage *stage, struct perf_source *self)
{
	int r;

	processes_init(&self->processes, stage, &self->images);
	self->processes.proc.is_changing = is_changing;
	self->processes.proc.is_mapping = is_mapping;
	self->processes.proc.arg = self;
	self->processes.uid_cost = PROCESSES_UID_COST_NS / self->recording.n_cpus;
	if (!proc_is_ours()) {
		self->processes.proc = proc_view_absent;
		stage_warn(stage,
			   "/proc is of another PID namespace: processes that are there already "
			   "have neither names nor mappings (unshare --mount-proc)");
	}
	self->merge.last_time = self->start_time;
	r = self->recording.has_waits ? prepare_waits(stage, self) : 0;
	if (r == 0)
		r = prepare_scheduler(stage, self);
	if (r == 0)
		r = put_events(stage, self);
	if (r == 0)
		r = put_host(stage, self);
	if (r < 0)
		return r;
	give_up_capabilities();
	r = hotplug_init(&self->hotplug, self);
	if (r == 0)
		r = start_instruments(stage, self);
	if (r == 0)
		r = marks_start(&self->marks, self->realtime_ahead);
	if (r == 0)
		r = enable(self);
	if (r < 0 || !self->options.command)
		return r;
	r = command_start(&self->command);
	if (r < 0) {
		stage_error(stage, "error: could not run '%s': %s", self->options.command[0],
			    strerror(-r));
		command_reap(&self->command);
		stage->exit_status = self->command.status;
		return -ECANCELED;
	}
	return 0;
}

static int read_again_if_lost(struct perf_source *self)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);
	int r;

	if (!self->must_read_again || now < self->read_again_at)
		return 0;
	self->must_read_again = false;
	r = processes_read_all_again(&self->processes, self->merge.last_time);
	/* Where there are many processes, it is not to take up much of the time. */
	self->read_again_at =
		now + READ_ALL_AGAIN_NS + (clock_now(CLOCK_MONOTONIC) - now) * PROCESSES_MEND_SHARE;
	return r;
}

/* Whether files were written to since they were mapped. */
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

/* Whoever waits for a recording of processes is to know why it is over. */
static void tell_end(struct stage *stage, const struct perf_source_options *options)
{
	if (options->command) /* it was to last as long as that */
		return;
	if (options->n_pids == 1)
		stage_warn(stage, "process %d has ended", (int)options->pids[0]);
	else if (options->n_pids)
		stage_warn(stage, "all %zu processes have ended", options->n_pids);
}

static int record(struct stage *stage, struct perf_source *self, struct waiting *waiting)
{
	uint64_t begun = clock_now(CLOCK_MONOTONIC);
	bool goes_on = true;
	int r = 0;

	while (r == 0 && goes_on && !stage_should_stop()) {
		r = drain(stage, self, look(self));
		if (r == 0)
			r = images_take_states(&self->images);
		if (r == 0)
			r = check_images(self);
		if (r == 0)
			r = hotplug_follow(self, stage);
		if (r == 0)
			r = read_again_if_lost(self);
		goes_on = waiting_wait(waiting, self);
		if (!goes_on)
			tell_end(stage, &self->options);
		if (self->options.duration &&
		    clock_now(CLOCK_MONOTONIC) - begun >= self->options.duration)
			goes_on = false;
	}
	return r;
}

/* What the rings still hold, and what the kernel could not put there. */
static int finish(struct stage *stage, struct perf_source *self)
{
	uint64_t lost, stopped_at;
	int r;

	switch_program_stop(&self->switch_program);
	stopped_at = clock_now(CLOCK_MONOTONIC);
	recording_disable(&self->recording);
	instruments_stop(&self->instruments);
	marks_stop(&self->marks);
	look(self);
	r = drain(stage, self, UINT64_MAX - 1);
	if (stopped_at < self->merge.last_time)
		stopped_at = self->merge.last_time;
	if (r == 0)
		r = tell_others(stage, self, stopped_at);
	if (r == 0 && self->recording.has_waits) {
		silent_threads_find(stage, self);
		r = off_cpu_finish(&self->off_cpu, stopped_at);
	}
	if (r == 0 && self->scheduler)
		r = scheduler_finish(self->scheduler, stopped_at);
	if (r == 0)
		r = tell_others(stage, self, UINT64_MAX - 1);
	if (r == 0)
		r = images_take_states(&self->images);
	lost = self->recording.setup.no_lost_format
		       ? self->lost_told
		       : recording_lost(&self->recording, RING_SAMPLES);
	stage_miss(stage, STAGE_KERNEL_LOST, lost);
	missing_tell(self, stage, lost);
	if ((self->recording.has_waits || self->scheduler) &&
	    !self->recording.setup.no_lost_format) {
		/* Also what was lost at the very end, which no record tells. */
		*counters_get(&stage->counters, "events", "switches-lost") =
			recording_lost(&self->recording, RING_SWITCHES);
		*counters_get(&stage->counters, "events", "waits-lost") =
			recording_lost(&self->recording, RING_WAITS);
	}
	for (size_t i = 0; i < self->n_filters; i++)
		*counters_get(&stage->counters, "samples", "not-wanted") +=
			sample_filter_left_out(&self->filters[i]);
	if (self->followed.n_refused || follow_program_count_refused(&self->followed.program))
		*counters_get(&stage->counters, "refused", "processes") +=
			self->followed.n_refused +
			follow_program_count_refused(&self->followed.program);
	if (self->marks.n_refused)
		*counters_get(&stage->counters, "refused", "marks") += self->marks.n_refused;
	processes_warn_of_refused(&self->processes);
	if (self->options.command)
		command_tell_crash(&self->command, stage, self->options.command[0]);
	*counters_get(&stage->counters, "events", "late") += self->merge.n_late;
	*counters_get(&stage->counters, "processes", "incarnations") += self->processes.n_upids;
	*counters_get(&stage->counters, "processes", "maps-read-again") +=
		self->processes.n_rereads;
	*counters_get(&stage->counters, "processes", "maps-compared") += self->processes.n_compared;
	*counters_get(&stage->counters, "processes", "mappings-moved") += self->processes.n_moved;
	stage->end_time = clock_now(CLOCK_MONOTONIC);
	return r;
}

/*
 * Nobody reads any more, or there is no memory. What is recorded has no part in that: nothing is
 * taken of it any more, and it goes on to its end.
 */
static int give_up(struct stage *stage, struct perf_source *self, int error)
{
	switch_program_stop(&self->switch_program);
	recording_disable(&self->recording);
	if (error != -ECANCELED) /* else the end of the stream is told */
		source_output_close();
	command_end(&self->command, stage);
	return error;
}

int perf_source_run(struct stage *stage, void *data)
{
	struct perf_source *self = data;
	struct waiting waiting = { 0 };
	int r = begin(stage, self);

	if (r == 0)
		r = waiting_init(&waiting, self);
	if (r == 0)
		r = record(stage, self, &waiting);
	if (r == 0)
		r = finish(stage, self);
	waiting_deinit(&waiting);
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
	image_server_count(&self->server, &stage->own_counters);
	return 0;
}

void perf_source_deinit(void *data)
{
	struct perf_source *self = data;

	command_reap(&self->command); /* it was never started */
	instruments_deinit(&self->instruments);
	marks_deinit(&self->marks);
	scheduler_free(self->scheduler);
	off_cpu_deinit(&self->off_cpu);
	switch_program_deinit(&self->switch_program);
	followed_deinit(&self->followed);
	missing_deinit(&self->missing);
	hotplug_deinit(&self->hotplug);
	processes_deinit(&self->processes);
	images_deinit(&self->images);
	coming_deinit(&self->coming);
	gaps_deinit(&self->gaps);
	merge_deinit(&self->merge);
	recording_deinit(&self->recording);
	for (size_t i = 0; i < self->n_filters; i++)
		sample_filter_unload(&self->filters[i]);
	for (uint32_t i = 0; i < self->options.n_events; i++)
		sampled_event_undefine(&self->options.events[i], i);
	for (size_t i = 0; self->pid_fds && i < self->options.n_pids; i++)
		if (self->pid_fds[i] >= 0)
			close(self->pid_fds[i]);
	free(self->pid_fds);
	free(self->options.pids);
}
