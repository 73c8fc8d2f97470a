/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the hello to the first sample: emits the host, the kernel, the names of events and the
 * processes that exist already, and enables the events.
 */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>

#include "common/base/capabilities.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/proc/proc.h"
#include "common/source/host-files.h"
#include "common/source/kernel-build-id.h"
#include "perf-source/gauges/gauge-files.h"
#include "perf-source/perf-source.h"

static bool is_changing(uint32_t pid, void *arg)
{
	struct perf_source *self = arg;

	return coming_changes(&self->coming, pid);
}

static int maps_code(const struct perf_event_header *header, void *arg)
{
	const struct perf_record_mmap2 *mmap = (const void *)header;

	return perf_record_is_whole(header) && header->type == PERF_RECORD_MMAP2 &&
	       mmap->pid == *(uint32_t *)arg;
}

/* Whether a mapping of a PID waits in the rings. Called only a few times a second. */
static bool is_mapping(uint32_t pid, void *arg)
{
	struct perf_source *self = arg;

	for (size_t i = 0; i < self->event_set.n_cpus; i++) {
		uint64_t from = 0;

		if (merge_look_ahead(&self->merge, i, &from, maps_code, &pid))
			return true;
	}
	return false;
}

static int put_kernel(struct perf_source *self)
{
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	struct wire_blob blob = { build_id, kernel_build_id_read(build_id) };

	return processes_add_kernel(&self->processes, blob, self->start_time);
}

/* With the BPF program, wakers of all tasks are recorded. */
static int prepare_program(struct perf_source *self)
{
	const struct event_set *events = &self->event_set;
	int r = 0;

	self->off_cpu.program = &self->switch_program;
	self->off_cpu.has_wakeups = true;
	for (size_t i = 0; i < events->n_cpus && r == 0; i++)
		if (event_set_ring(events, RING_WAITS, i)->fd >= 0) /* else the CPU is offline */
			r = switch_program_set_output(&self->switch_program, events->cpus[i],
						      event_set_ring(events, RING_WAITS, i)->fd,
						      event_set_ring(events, RING_SWITCHES, i)->fd);
	return r;
}

/*
 * Without the BPF program, a tracepoint can report wake-ups, without -a only those by the recorded
 * tasks. If it is unavailable, waits have no wakers.
 */
static int prepare_records(struct stage *stage, struct perf_source *self)
{
	int r;

	if (!self->event_set.setup.waking_tracepoint ||
	    tracepoint_find_field("sched", "sched_waking", "pid", &self->off_cpu.woken) < 0) {
		stage_warn(stage, "wake-ups are not recorded: they need root, or CAP_PERFMON and "
				  "tracefs (/sys/kernel/tracing), in the initial PID namespace");
		return 0;
	}
	r = self->options.all ? event_set_add_wakings(&self->event_set) : 0;
	self->off_cpu.has_wakeups = r == 0;
	if (r < 0 && r != -ENOMEM)
		stage_warn(stage, "wake-ups are not recorded: %s", strerror(-r));
	return r == -ENOMEM ? r : 0;
}

/* Without waits, the backend of records has nothing to do. */
static int prepare_waits(struct stage *stage, struct perf_source *self)
{
	const struct event_setup *setup = &self->event_set.setup;
	bool in_kernel = setup->has_switch_program;

	off_cpu_init(&self->off_cpu, in_kernel ? &wait_backend_program : &wait_backend_records,
		     stage, &self->processes, setup->n_events, self->event_set.n_cpus,
		     self->options.least_wait);
	if (!self->event_set.has_waits)
		return 0;
	return in_kernel ? prepare_program(self) : prepare_records(stage, self);
}

static const char *why_not_emitted(int error)
{
	switch (error) {
	case -EINVAL:
	case -E2BIG:
		return "this kernel (before 5.1) does not report it";
	case -EACCES:
	case -EPERM:
		return "grant CAP_PERFMON, or set kernel.perf_event_paranoid to at most 0";
	default:
		return strerror(-error);
	}
}

/* If these events are unavailable, only kallsyms gives names of kernel code. */
static int watch_kernel_code(struct stage *stage, struct perf_source *self)
{
	int r = event_set_add_kernel_code(&self->event_set);

	if (r == 0 || r == -ENOMEM)
		return r;
	stage_warn(stage,
		   "kernel code that is loaded from now on (BPF programs) has no names or wrong "
		   "ones: %s",
		   why_not_emitted(r));
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
	self->off_cpu.backend->find_functions(&self->off_cpu, text, size);
	return host_files_put_kallsyms(stage, text, size, self->start_time);
}

static int put_host(struct stage *stage, struct perf_source *self)
{
	int r = host_files_put(stage, self->start_time);

	if (r == 0)
		r = put_kernel(self);
	if (r < 0 || self->event_set.setup.no_kernel)
		return r;
	r = watch_kernel_code(stage,
			      self); /* code loaded while kallsyms is read is reported twice */
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
 * Scans the processes that exist already. Their side-band events are enabled by now, so nothing is
 * missed between this scan and their first record.
 */
static int scan(struct perf_source *self)
{
	int r = 0;

	if (!proc_is_ours())
		return 0;
	if (self->options.all)
		r = proc_each_process(scan_process, self);
	for (size_t i = 0; i < self->options.n_pids && r >= 0; i++)
		r = scan_process(self->options.pids[i], self);
	return r < 0 ? r : 0;
}

/*
 * Events are open and kallsyms is read. The capabilities that are kept serve to read the maps of
 * processes, to stop a command that now runs as another user, and to give the kernel tables.
 */
static void give_up_capabilities(const struct perf_source *self)
{
	static const int kept[] = { CAP_SYS_PTRACE, CAP_PERFMON, CAP_DAC_READ_SEARCH, CAP_KILL,
				    CAP_BPF };
	size_t n = sizeof(kept) / sizeof(*kept);

	capabilities_keep(kept, self->kernel_walks.processes ? n : n - 1);
}

/* On an idle machine, counters are all that is emitted. */
static int start_gauges(struct stage *stage, struct perf_source *self)
{
	int r = 0;

	if (!self->options.counter_interval)
		return 0;
	r = gauges_init(&self->gauges, "", gauge_files, n_gauge_files);
	return r < 0 ? r : gauges_start(&self->gauges, self->options.counter_interval);
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

/* Puts the filter into the stream: a reader must not look for what it dropped. */
static int put_filter(struct stage *stage, const struct sampled_event *event)
{
	char text[1024];
	const struct wire_message message = {
		.time = stage->hello.start_time,
		.severity = WIRE_severity_INFO,
		.stage = wire_string(stage->program->name, 64),
		.text = { text, snprintf(text, sizeof(text), "samples of %s are filtered: %s",
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

	if (r < 0 || !off_cpu->has_wakeups)
		return r;
	return put_event(stage, off_cpu->wakeup_event, WIRE_event_kind_WAKEUP,
			 WIRE_event_unit_NANOSECONDS, "wakeups");
}

/* A single event is described in `hello` alone. */
static int put_events(struct stage *stage, const struct perf_source *self)
{
	const struct event_setup *setup = &self->event_set.setup;
	int r = 0;

	for (uint32_t i = 0; i < setup->n_events && r == 0; i++)
		if (setup->events[i].filter)
			r = put_filter(stage, &setup->events[i]);
	if (r < 0 || (!self->event_set.has_waits && setup->n_events == 1))
		return r;
	r = put_sampled_events(stage, setup);
	return r == 0 && self->event_set.has_waits ? put_events_of_waits(stage, self) : r;
}

static int prepare_scheduler(struct stage *stage, struct perf_source *self)
{
	if (!self->options.has_scheduler)
		return 0;
	self->scheduler = scheduler_new(stage, &self->processes);
	if (!self->scheduler)
		return -ENOMEM;
	return self->event_set.setup.has_switch_program ? event_set_add_switches(&self->event_set)
							: 0;
}

/*
 * Enables samples last: scanning takes longer the more mappings processes have, and the rings are
 * not read meanwhile. Events of a command alone are enabled by its exec.
 */
static int enable(struct perf_source *self)
{
	bool on_exec = self->event_set.setup.enable_on_exec;
	uint64_t begun_at;
	int r;

	event_set_sort_events(&self->event_set);
	r = on_exec ? 0 : event_set_enable(&self->event_set, RING_SIDEBAND, RING_SIDEBAND);
	if (r == 0 && !on_exec)
		r = scan(self);
	if (r == 0)
		r = missing_init(self);
	if (r == 0 && !on_exec)
		r = event_set_enable(&self->event_set, RING_SAMPLES, RING_WAITS);
	if (r < 0)
		return r;
	begun_at = clock_now(CLOCK_MONOTONIC);
	/* What the process was before the command's exec is of no interest. */
	if (self->scheduler)
		self->scheduler->begun_at = on_exec ? UINT64_MAX : begun_at;
	return off_cpu_begin(&self->off_cpu, begun_at);
}

static bool is_recorded(uint32_t pid, void *arg)
{
	const struct perf_source *self = arg;

	return !self->follows || followed_has(&self->followed, pid);
}

static uint32_t contexts_wanted(const struct perf_source *self)
{
	return (self->options.no_contexts ? 0 : CONTEXTS_PUBLISHED) |
	       (self->options.no_interpreters ? 0 : CONTEXTS_RUNTIMES);
}

int perf_source_begin(struct stage *stage, struct perf_source *self)
{
	int r;

	processes_init(&self->processes, stage, &self->images);
	self->processes.proc.is_changing = is_changing;
	self->processes.proc.is_mapping = is_mapping;
	self->processes.proc.arg = self;
	self->processes.uid_cost = PROCESSES_UID_COST_NS / self->event_set.n_cpus;
	if (!proc_is_ours()) {
		self->processes.proc = proc_view_absent;
		stage_warn(
			stage,
			"/proc belongs to another PID namespace: processes that already run have "
			"neither names nor mappings (use unshare --mount-proc)");
	}
	self->merge.last_time = self->start_time;
	contexts_init(&self->contexts, stage, &self->processes, &self->context_program,
		      contexts_wanted(self), is_recorded, self);
	self->contexts.why_no_runtimes = self->why_no_interpreters;
	r = prepare_waits(stage, self);
	if (r == 0)
		r = prepare_scheduler(stage, self);
	if (r == 0)
		r = put_events(stage, self);
	if (r == 0)
		r = put_host(stage, self);
	if (r < 0)
		return r;
	r = programs_begin_walks(self);
	if (r < 0)
		return r;
	give_up_capabilities(self);
	r = hotplug_init(&self->hotplug, self);
	if (r == 0)
		r = start_gauges(stage, self);
	if (r == 0)
		r = marks_start(&self->marks, self->realtime_ahead);
	if (r == 0)
		r = enable(self);
	if (r == 0)
		r = kernel_walks_note_all(&self->kernel_walks);
	if (r < 0 || !self->options.command)
		return r;
	r = command_start(&self->command);
	if (r < 0) {
		stage_error(stage, "could not run '%s': %s", self->options.command[0],
			    strerror(-r));
		command_reap(&self->command);
		stage->exit_status = self->command.status;
		return -ECANCELED;
	}
	return 0;
}
