/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens the image server, the command and the events; reports a failure in one line. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/arch/arch.h"
#include "common/base/clock.h"
#include "common/base/descriptor-limit.h"
#include "common/base/growing-list.h"
#include "common/base/priority.h"
#include "common/proc/proc.h"
#include "perf-source/perf-source.h"

enum {
	RING_MILLISECONDS_MIN = 30, /* records stay in the rings for 10 ms (merge.h) */
	/*
	 * A new file must be opened soon, so the mappings of an executed program (some 100 bytes
	 * each) wake us. Each wake-up is an interrupt, which costs 10 µs in a virtual machine:
	 * threads that begin and end one by one (128 bytes) must not cost two each.
	 */
	SIDEBAND_WAKEUP = 512,
	CLOCK_TRIES = 16,
	CLOCK_GAP_NS = 2000,
};

/* The name of the event that was opened last. */
static const char *opening_name(const struct perf_source *self)
{
	return self->event_set.setup.events[self->event_set.opening].name;
}

static int fail_to_open(struct stage *stage, const struct perf_source *self, pid_t pid, int error)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
		if ((self->options.has_waits || self->options.has_scheduler) &&
		    self->event_set.setup.no_kernel) {
			stage_error(
				stage,
				"--off-cpu and --scheduler need permission to sample the kernel: run as "
				"root, grant CAP_PERFMON, or set kernel.perf_event_paranoid to %d (it is %d)",
				self->options.all ? 0 : 1, limits_paranoid());
			break;
		}
		stage_error(stage,
			    "not allowed to record %s: run as root, or grant CAP_PERFMON%s "
			    "(kernel.perf_event_paranoid is %d)",
			    self->options.all ? "all processes" : "this process",
			    self->options.all ? ", or set kernel.perf_event_paranoid to 0" : "",
			    limits_paranoid());
		break;
	case -ESRCH:
		if (!self->options.n_pids)
			stage_error(stage, "the command's process ended before recording began");
		else
			stage_error(stage, "process %d does not exist", pid);
		break;
	case -ENOENT:
	case -EOPNOTSUPP:
		stage_error(stage, "this machine has no event '%s': try -e cpu-clock",
			    opening_name(self));
		break;
	case -EBADMSG:
		stage_error(
			stage,
			"the kernel rejected the filter of '%s': check its fields and operators",
			opening_name(self));
		break;
	case -EMFILE:
		stage_error(stage, "too many threads for the open-file limit: "
				   "raise it (ulimit -n) or record all processes (-a)");
		break;
	case -ENOBUFS:
		stage_error(stage, "not enough locked memory for the smallest ring buffers: "
				   "copy less stack (-s), or raise ulimit -l or "
				   "kernel.perf_event_mlock_kb");
		break;
	default:
		stage_error(stage, "could not open perf events: %s", strerror(-error));
	}
	return -ECANCELED;
}

/* Reports an error, except -ENOBUFS: the caller tries again with smaller rings. */
static int report(struct stage *stage, const struct perf_source *self, pid_t pid, int error)
{
	return error == -ENOBUFS ? error : fail_to_open(stage, self, pid, error);
}

struct thread_list {
	uint32_t *tids;
	size_t n;
};

static int list_thread(uint32_t tid, void *arg)
{
	struct thread_list *list = arg;

	return GROWING_LIST_ADD(list->tids, list->n, tid);
}

/*
 * Lists all threads before it opens the first: a thread that starts after that inherits its
 * creator's events, and would be recorded twice if it were listed, too.
 */
static int open_threads(struct perf_source *self, pid_t pid)
{
	struct thread_list list = { 0 };
	int r = proc_each_thread(pid, list_thread, &list);

	for (size_t i = 0; i < list.n && r >= 0; i++) {
		r = event_set_add(&self->event_set, list.tids[i]);
		if (r == -ESRCH) /* it has just exited */
			r = 0;
	}
	free(list.tids);
	return r;
}

static int open_process(struct perf_source *self, size_t i)
{
	pid_t pid = self->options.pids[i];
	int r;

	self->pid_fds[i] = syscall(SYS_pidfd_open, pid, 0);
	if (self->pid_fds[i] < 0)
		return errno == EINVAL ? -ESRCH : -errno; /* EINVAL: a thread, not a process */
	if (self->follows)
		return followed_add(&self->followed, pid);
	r = open_threads(self, pid);
	if (r == -ENOENT)
		return -ESRCH;
	return r < 0 ? r : 0;
}

/* Removes processes that have exited from the list, if at least one is left. */
static void skip_ended(struct stage *stage, struct perf_source_options *options)
{
	size_t n = 0, n_all = options->n_pids;

	for (size_t i = 0; i < n_all; i++)
		n += !proc_is_gone(options->pids[i]);
	if (!n || n == n_all)
		return;
	options->n_pids = 0;
	for (size_t i = 0; i < n_all; i++) {
		pid_t pid = options->pids[i];

		if (proc_is_gone(pid))
			stage_warn(stage, "process %d does not exist", (int)pid);
		else
			options->pids[options->n_pids++] = pid;
	}
}

static int open_processes(struct stage *stage, struct perf_source *self)
{
	skip_ended(stage, &self->options);
	self->pid_fds = calloc(self->options.n_pids, sizeof(*self->pid_fds));
	if (!self->pid_fds)
		return -ENOMEM;
	for (size_t i = 0; i < self->options.n_pids; i++) {
		int r = open_process(self, i);

		if (r < 0)
			return report(stage, self, self->options.pids[i], r);
	}
	return 0;
}

static int open_events(struct stage *stage, struct perf_source *self)
{
	pid_t pid = self->options.all || self->follows ? -1 : self->command.pid;
	int r = self->options.n_pids ? open_processes(stage, self) : 0;

	if (r < 0 || (self->options.n_pids && !self->follows))
		return r;
	r = event_set_add(&self->event_set, pid);
	return r < 0 ? report(stage, self, pid, r) : 0;
}

/* Warns of each part that the kernel did not grant, in one line. */
static void warn_of_less(struct stage *stage, const struct perf_source *self, size_t ring_bytes)
{
	const struct event_setup *setup = &self->event_set.setup;
	uint64_t ring_ms = limits_ring_milliseconds(&self->options, self->event_set.ring_bytes);

	if (setup->no_first)
		stage_warn(stage, "no hardware counter of cycles here: sampling cpu-clock");
	if (setup->no_kernel)
		stage_warn(stage,
			   "kernel code is not sampled: grant CAP_PERFMON, or set "
			   "kernel.perf_event_paranoid to at most 1 (it is %d)",
			   limits_paranoid());
	if (setup->no_lost_format)
		stage_warn(stage,
			   "samples lost at the very end are not counted: this kernel (before 6.0) "
			   "does not report them");
	if (self->event_set.ring_bytes < ring_bytes)
		stage_warn(stage,
			   "ring buffers have %zu KiB instead of %zu: locked memory is limited "
			   "(CAP_IPC_LOCK, ulimit -l, kernel.perf_event_mlock_kb)",
			   self->event_set.ring_bytes / 1024, ring_bytes / 1024);
	if (ring_ms < RING_MILLISECONDS_MIN && !setup->has_sample_parts)
		stage_warn(stage,
			   "the ring buffers hold only %" PRIu64
			   " ms of samples, so some will be lost: copy less "
			   "stack (-s), sample less often (-F), or enlarge the buffers (-m)",
			   ring_ms);
}

/* Opens all events; halves the rings of all CPUs while they exceed the limit of locked memory. */
static int open_recording(struct stage *stage, struct perf_source *self, size_t bytes)
{
	struct event_set *event_set = &self->event_set;
	int r;

	for (;; bytes /= 2) {
		event_set->ring_bytes = bytes;
		event_set->waits_bytes = bytes;
		if (!self->options.ring_bytes && bytes >= RING_DEFAULT_MIN)
			event_set->waits_bytes = EVENT_SET_WAITS_MIN;
		event_set->setup.sample_wakeup = bytes / 4;
		event_set->setup.switch_wakeup =
			(bytes < EVENT_SET_SMALL_MAX ? bytes : EVENT_SET_SMALL_MAX) / 2;
		event_set->setup.sideband_wakeup = SIDEBAND_WAKEUP;
		r = event_set_init(event_set);
		if (r == 0)
			r = open_events(stage, self);
		if (r != -ENOBUFS || bytes / 2 < limits_least_ring_bytes(&self->options))
			return r;
		event_set_deinit(event_set);
	}
}

/* Waits are compared with time on the CPU, for which cycles are of no use. */
static void choose_events(const struct perf_source_options *options, struct event_setup *setup)
{
	if (options->n_events) {
		setup->n_events = options->n_events;
		memcpy(setup->events, options->events, sizeof(setup->events));
		return;
	}
	setup->n_events = 1;
	setup->is_anybodys = !options->has_waits;
	sampled_event_find(options->has_waits ? "cpu-clock" : "cycles", &setup->events[0]);
	setup->events[0].filter = options->default_filter;
}

static void set_counts(struct stage *stage, uint64_t count, struct event_setup *setup)
{
	setup->is_counted = count;
	for (size_t i = 0; i < setup->n_events && count; i++) {
		setup->events[i].count = count;
		limits_raise_count(stage, &setup->events[i]);
	}
}

/*
 * Whether events can be CPU-wide though not all processes are wanted (followed.h). Tracepoints do
 * not need it, as they have no period that begins anew; waits are paired by task.
 */
static bool can_follow(const struct perf_source *self)
{
	const struct perf_source_options *options = &self->options;
	struct event_setup setup = self->event_set.setup;
	int fd;

	if (options->all || options->has_waits || options->has_scheduler)
		return false;
	for (size_t i = 0; i < setup.n_events; i++)
		if (sampled_event_is_tracepoint(&setup.events[i]))
			return false;
	setup.enable_on_exec = setup.inherit = false;
	fd = event_open_sample(&setup, 0, -1, sched_getcpu());
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int prepare_following(struct perf_source *self)
{
	self->follows = can_follow(self);
	if (!self->follows)
		return 0;
	self->event_set.setup.enable_on_exec = self->event_set.setup.inherit = false;
	followed_init(&self->followed);
	return self->options.n_pids ? 0 : followed_add_command(&self->followed, self->command.pid);
}

static int start_recording(struct stage *stage, struct perf_source *self)
{
	struct perf_source_options *options = &self->options;
	struct event_set *event_set = &self->event_set;
	size_t ring_bytes;
	int r;

	event_set->has_waits = options->has_waits;
	event_set->has_switches = options->has_scheduler;
	event_set->setup = (struct event_setup){
		.rate = options->rate,
		.stack_size = options->stack_size,
		.enable_on_exec = !options->all && !options->n_pids && options->command,
		.inherit = !options->all,
		.waits_program_fd = -1,
	};
	choose_events(options, &event_set->setup);
	set_counts(stage, options->count, &event_set->setup);
	r = prepare_following(self);
	if (r == 0)
		r = programs_load(stage, self);
	if (r < 0)
		return r;
	if (options->has_waits)
		programs_load_of_waits(stage, self);
	/* Clearing memory that is never used takes as long as all else at the start. */
	ring_bytes = limits_ring_bytes(stage, options,
				       event_set->setup.has_sample_parts ? STACK_BYTES_READ
									 : options->stack_size);
	r = open_recording(stage, self, ring_bytes);
	if (r == -ENOBUFS)
		return fail_to_open(stage, self, 0, r);
	if (r == 0)
		r = merge_init(&self->merge, event_set->rings, event_set->n_rings);
	if (r == 0)
		r = programs_open_outputs(self);
	if (r == 0)
		r = gaps_init(&self->gaps, event_set->rings, event_set->n_cpus);
	if (r == 0)
		r = coming_init(&self->coming, &self->merge, event_set->n_cpus);
	if (r == 0)
		warn_of_less(stage, self, ring_bytes);
	return r;
}

/*
 * How far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC. Times of files are compared with samples by
 * it, so the least delayed of several pairs of readings counts.
 */
static uint64_t unix_time_ahead(void)
{
	uint64_t ahead = 0, shortest = UINT64_MAX;

	for (int i = 0; i < CLOCK_TRIES && shortest > CLOCK_GAP_NS; i++) {
		uint64_t before = clock_now(CLOCK_MONOTONIC), real = clock_now(CLOCK_REALTIME);
		uint64_t gap = clock_now(CLOCK_MONOTONIC) - before;

		if (gap >= shortest)
			continue;
		shortest = gap;
		ahead = real - before - gap / 2;
	}
	return ahead;
}

static void fill_hello(const struct perf_source *self, struct wire_hello *hello)
{
	const struct sampled_event *first = &self->event_set.setup.events[0];

	hello->clock = WIRE_clock_MONOTONIC;
	hello->start_time = self->start_time;
	hello->start_unix_time = self->start_time + self->realtime_ahead;
	hello->rate = first->count ? 0 : self->options.rate;
	hello->stack_size = self->options.stack_size;
	hello->register_mask = arch_host()->register_mask;
	hello->machine = arch_host()->elf_machine;
	hello->n_cpus = self->event_set.n_cpus;
	hello->token_high = self->server.token_high;
	hello->token_low = self->server.token_low;
	snprintf(hello->image_server, sizeof(hello->image_server), "%s", self->server.address);
	snprintf(hello->event, sizeof(hello->event), "%.*s", (int)sizeof(hello->event) - 1,
		 first->name);
	if (gethostname(hello->host, sizeof(hello->host) - 1) < 0)
		hello->host[0] = 0;
}

static int open_marks(struct stage *stage, struct perf_source *self)
{
	const char *path = self->options.marks_path;
	int r = path ? marks_open(&self->marks, path) : 0;

	if (r == 0)
		return 0;
	stage_error(stage, "could not create the marks socket '%s': %s", path,
		    r == -EADDRINUSE ? "the path already exists" : strerror(-r));
	return -ECANCELED;
}

/* Passes the path for marks to the command in $STACKPIPE_MARKS. */
static int prepare_command(const struct stage *stage, struct perf_source *self)
{
	static char marks[sizeof("STACKPIPE_MARKS=") + PATH_MAX];
	char *environment[] = { marks, NULL };

	if (!self->options.command)
		return 0;
	if (self->options.marks_path)
		snprintf(marks, sizeof(marks), "STACKPIPE_MARKS=%s", self->options.marks_path);
	return command_prepare(&self->command, self->options.command,
			       self->options.marks_path ? environment : NULL,
			       stage->command_output_fd);
}

static int define_events(struct stage *stage, struct perf_source_options *options)
{
	for (uint32_t i = 0; i < options->n_events; i++) {
		int r = sampled_event_define(&options->events[i], i);

		if (r == 0)
			continue;
		stage_error(stage, "could not define '%s'%s: %s", options->events[i].name,
			    r == -EACCES ? " in tracefs, which only root can write" : "",
			    r == -EOPNOTSUPP || r == -EINVAL
				    ? "the kernel cannot set a breakpoint there"
				    : strerror(-r));
		return -ECANCELED;
	}
	return 0;
}

int perf_source_start(struct stage *stage, void *data, struct wire_hello *hello)
{
	struct perf_source *self = data;
	int r;

	r = open_marks(stage, self);
	if (r == 0)
		r = prepare_command(stage, self);
	if (r == 0 && self->options.compression_level)
		r = wire_writer_compress(&stage->writer, self->options.compression_level);
	if (r < 0)
		return r;
	priority_raise(); /* ours and the image server's, not the command's */
	limits_lower_rate(stage, &self->options);
	limits_choose_stack_size(&self->options);
	r = image_server_start(&self->server);
	if (r < 0)
		return r;
	images_init(&self->images, stage, self->server.fd);
	r = define_events(stage, &self->options);
	if (r < 0)
		return r;
	descriptor_limit_raise(); /* each ring and event takes one; not for the command */
	r = start_recording(stage, self);
	if (r < 0)
		return r;
	self->start_time = clock_now(CLOCK_MONOTONIC);
	self->realtime_ahead = unix_time_ahead();
	fill_hello(self, hello);
	return 0;
}
