/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads a Sysprof capture frame by frame, in order of time. Restores what formats/syscap/syscap.c
 * encodes: end reasons, inlined calls, losses.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture-source/replay-events.h"
#include "capture-source/replay-heap.h"
#include "common/base/clock.h"
#include "common/base/perf-counter.h"

enum {
	PROCESSES_MAX = 1 << 22,
	NAME_MAX_SIZE = 4096,
	PIECE = 32 * 1024,	   /* of an embedded file, in one record */
	SEVERITY_WARNING = 1 << 4, /* GLogLevelFlags: warnings, and all that is worse */
};

static uint64_t number_of(const struct syscap_file *file, const char *id, uint64_t otherwise)
{
	const char *text = syscap_file_metadata(file, id);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static void copy_text(const struct syscap_file *file, const char *id, const char *otherwise,
		      char *ret, size_t size)
{
	const char *text = syscap_file_metadata(file, id);

	snprintf(ret, size, "%s", text ? text : otherwise);
}

static uint64_t unix_time(const struct syscap_file_header *header)
{
	char text[sizeof(header->capture_time) + 1] = "";
	struct tm broken_down = { 0 };
	time_t seconds;

	memcpy(text, header->capture_time, sizeof(header->capture_time));
	if (!strptime(text, "%Y-%m-%dT%H:%M:%S", &broken_down))
		return 0;
	seconds = timegm(&broken_down);
	return seconds > 0 ? (uint64_t)seconds * NANOSECONDS_A_SECOND : 0;
}

/* Finds names in advance: other frames of a process may precede the one with its name. */
static int find_first_names(struct replay *replay)
{
	const struct syscap_list *list = &replay->syscap.descriptions;
	int r = 0;

	for (size_t i = 0; i < list->n && r == 0; i++) {
		const struct syscap_frame *frame = syscap_file_frame(&replay->syscap, list, i);

		if ((frame->type & 0xff) == SYSCAP_PROCESS &&
		    !pair_map_find(&replay->names, frame->pid, 0))
			r = pair_map_add(&replay->names, frame->pid, 0, i);
	}
	return r == -ENOSPC ? 0 : r;
}

static const char *first_name(const struct replay *replay, int32_t pid)
{
	const struct syscap_file *syscap = &replay->syscap;
	uint64_t *item = pair_map_find(&replay->names, pid, 0);

	return item ? (const char *)(syscap_file_frame(syscap, &syscap->descriptions, *item) + 1)
		    : "";
}

static int read_names(struct stage *stage, struct replay *replay)
{
	const struct syscap_embedded_file *bundle =
		syscap_file_embedded(&replay->syscap, "__symbols__");
	const struct syscap_embedded_file *kallsyms =
		syscap_file_embedded(&replay->syscap, "/proc/kallsyms");
	const struct syscap_embedded_file *lines =
		syscap_file_embedded(&replay->syscap, SYSCAP_SOURCE_LINES_FILE);
	const struct syscap_embedded_file *images =
		syscap_file_embedded(&replay->syscap, SYSCAP_IMAGES_FILE);
	int r = bundle ? bundle_init(&replay->bundle, bundle->data, bundle->size) : 0;

	if (r == -EBADMSG)
		stage_warn(stage, "the symbol table in the capture is damaged and ignored");
	else if (r < 0)
		return r;
	r = lines ? locations_read_lines(&replay->locations, lines->data, lines->size) : 0;
	if (r == 0 && images)
		r = locations_read_images(&replay->locations, images->data, images->size);
	if (r < 0)
		return r;
	r = kallsyms ? kallsyms_add(&replay->kallsyms, kallsyms->data, kallsyms->size) : 0;
	if (r == 0 && kallsyms)
		r = kallsyms_finish(&replay->kallsyms);
	if (r == -EBADMSG || r == -EFBIG)
		stage_warn(stage, "the kernel symbols in the capture are damaged and ignored");
	return r == -ENOMEM ? r : 0;
}

int replay_syscap_start(struct stage *stage, struct replay *replay, struct wire_hello *hello)
{
	struct syscap_file *syscap = &replay->syscap;
	const struct syscap_file_header *header;
	int r = syscap_file_init(syscap, &replay->file);

	replay_counters_init(&replay->counters);
	pair_map_init(&replay->processes, PROCESSES_MAX);
	pair_map_init(&replay->names, PROCESSES_MAX);
	if (r == 0)
		r = taking_new(replay, &replay->taking);
	if (r == 0) {
		replay->heap = calloc(1, sizeof(*replay->heap));
		r = replay->heap ? heap_replay_init(replay->heap, stage) : -ENOMEM;
	}
	if (r == 0)
		r = find_first_names(replay);
	if (r < 0)
		return r;
	header = syscap_file_header(syscap);
	replay->is_ours = syscap_file_metadata(syscap, "stackpipe.version") != NULL;
	hello->start_time = header->time;
	hello->start_unix_time = unix_time(header);
	hello->rate = number_of(syscap, "stackpipe.rate", 0);
	copy_text(syscap, "stackpipe.event", "samples", hello->event, sizeof(hello->event));
	copy_text(syscap, "stackpipe.host", "", hello->host, sizeof(hello->host));
	copy_text(syscap, "stackpipe.stages", "sysprof", hello->stages, sizeof(hello->stages));
	if (hello->rate && perf_counter_name_is_clock(hello->event))
		replay->period = NANOSECONDS_A_SECOND / hello->rate;
	return read_names(stage, replay);
}

void replay_syscap_deinit(struct replay *replay)
{
	syscap_file_deinit(&replay->syscap);
	replay_counters_deinit(&replay->counters);
	replay_contexts_deinit(&replay->contexts);
	bundle_deinit(&replay->bundle);
	kallsyms_deinit(&replay->kallsyms);
	taking_free(replay->taking);
	if (replay->events)
		replay_events_deinit(replay->events);
	free(replay->events);
	if (replay->heap)
		heap_replay_deinit(replay->heap);
	free(replay->heap);
	pair_map_deinit(&replay->names);
	pair_map_deinit(&replay->processes);
}

/* The PID that a process really had, and its name without that PID. */
static uint32_t real_pid(int32_t pid, const char *name, char *ret, size_t size)
{
	const char *mark = NULL;
	unsigned long found;
	char *end;

	/* The last one, because the process's own name may contain such a text. */
	for (const char *at = strstr(name, " (pid "); at; at = strstr(at + 1, " (pid "))
		mark = at;
	snprintf(ret, size, "%s", name);
	if (pid < SYSCAP_PSEUDO_PID || !mark)
		return pid;
	found = strtoul(mark + strlen(" (pid "), &end, 10);
	if (strcmp(end, ")") || found >= SYSCAP_PSEUDO_PID)
		return pid;
	snprintf(ret, size, "%.*s", (int)(mark - name), name);
	return found;
}

static int put_cgroup(struct replay *replay, const struct replayed_process *process,
		      const struct syscap_frame *frame)
{
	const struct wire_cgroup cgroup = {
		.process = process->process.number,
		.time = frame->time,
		.path = replay_events_cgroup(replay->events, frame->pid),
	};

	return cgroup.path.size ? stage_put(replay->stage, WIRE_RECORD_cgroup, &cgroup) : 0;
}

/* Finds the process of a frame, or adds one if none was met or it has ended. 0 or -errno. */
static int find_process(struct replay *replay, const struct syscap_frame *frame,
			const struct location_process *parent, struct replayed_process **ret)
{
	const char *name = first_name(replay, frame->pid);
	uint64_t *known = pair_map_find(&replay->processes, frame->pid, 0);
	struct replayed_process *process = known ? (void *)*known : NULL;
	char text[NAME_MAX_SIZE];
	uint32_t pid = real_pid(frame->pid, name, text, sizeof(text));
	int r = 0;

	*ret = process;
	if (process && !process->has_exited)
		return 0;
	if (!process) {
		process = calloc(1, sizeof(*process));
		if (!process)
			return -ENOMEM;
		r = pair_map_add(&replay->processes, frame->pid, 0, (uintptr_t)process);
		if (r < 0)
			free(process);
		if (r < 0)
			return r;
	}
	process->has_exited = false;
	*ret = process;
	r = locations_add_process(&replay->locations, &process->process, pid, text, parent,
				  frame->time);
	return r < 0 ? r : put_cgroup(replay, process, frame);
}

static int take_process(struct replay *replay, const struct syscap_frame *frame)
{
	const char *name = (const char *)(frame + 1);
	uint64_t n_before = replay->locations.n_processes;
	struct replayed_process *process;
	char text[NAME_MAX_SIZE];
	int r = find_process(replay, frame, NULL, &process);

	if (r < 0 || replay->locations.n_processes != n_before)
		return r;
	real_pid(frame->pid, name, text, sizeof(text));
	return locations_name_thread(&replay->locations, &process->process, process->process.pid,
				     text, frame->time);
}

/* A child that was not met before has its parent's mappings. */
static int take_fork(struct replay *replay, const struct syscap_frame *frame)
{
	const struct syscap_fork_frame *fork = (const void *)frame;
	struct syscap_frame child = *frame;
	struct replayed_process *parent, *process;
	int r = find_process(replay, frame, NULL, &parent);

	child.pid = fork->child_pid;
	return r < 0 || child.pid == frame->pid
		       ? r
		       : find_process(replay, &child, &parent->process, &process);
}

static int take_exit(struct replay *replay, const struct syscap_frame *frame)
{
	uint64_t *known = pair_map_find(&replay->processes, frame->pid, 0);
	struct replayed_process *process = known ? (void *)*known : NULL;
	int r;

	if (!process || process->has_exited)
		return 0;
	process->has_exited = true;
	r = heap_replay_flush(replay->heap);
	return r < 0 ? r
		     : locations_exit_process(&replay->locations, &process->process, frame->time);
}

static int take_map(struct replay *replay, const struct syscap_frame *frame)
{
	const struct syscap_map_frame *map = (const void *)frame;
	const char *behind = map->path + strlen(map->path) + 1,
		   *end = (const char *)frame + frame->size;
	struct location_mapping mapping = {
		.start = map->start,
		.end = map->end,
		.offset = map->offset,
		.inode = map->inode,
		.path = map->path,
	};
	struct replayed_process *process;
	int r = find_process(replay, frame, NULL, &process);

	if (behind < end && *behind == '@' && memchr(behind, 0, end - behind))
		mapping.build_id = behind + 1;
	return r < 0 ? r
		     : locations_map(&replay->locations, &process->process, &mapping, frame->time);
}

/* In captures the main thread's TID is the process's number, which may not be the real PID. */
static uint32_t tid_of(const struct replayed_process *process, int32_t pid, int32_t tid)
{
	return tid == pid ? process->process.pid : (uint32_t)tid;
}

/* Sets weight, flags and waker of a stack of an event other than the first. */
static int weigh(struct replay *replay, const struct syscap_frame *frame, struct wire_stack *stack)
{
	const struct syscap_sample_frame *sample = (const void *)frame;
	struct syscap_frame of_waker = *frame;
	struct replayed_process *process;
	struct replay_thread waker;
	int r;

	replay_events_weigh(replay->events, frame->pid, sample->tid, stack, &waker);
	if (!waker.tid)
		return 0;
	of_waker.pid = waker.pid;
	r = find_process(replay, &of_waker, NULL, &process);
	if (r < 0)
		return r;
	stack->waker = process->process.number;
	stack->waker_tid = tid_of(process, waker.pid, waker.tid);
	return 0;
}

static int take_sample(struct stage *stage, struct replay *replay, const struct syscap_frame *frame)
{
	const struct syscap_sample_frame *sample = (const void *)frame;
	const void *addresses = sample->addresses; /* aligned: frames consist of whole words */
	size_t n_addresses = sample->n_addresses;
	struct replayed_process *process;
	struct wire_stack stack;
	int r = find_process(replay, frame, NULL, &process);

	if (r < 0)
		return r;
	stack = (struct wire_stack){
		.time = frame->time,
		.process = process->process.number,
		.tid = tid_of(process, frame->pid, sample->tid),
		.cpu = frame->cpu < 0 ? 0 : frame->cpu,
		.weight = replay->period ? replay->period : 1,
	};
	if (n_addresses)
		stack.event =
			replay_events_of_stack(replay->events, &replay->syscap,
					       ((const uint64_t *)addresses)[n_addresses - 1]);
	n_addresses -= stack.event > 0;
	r = taking_take(replay->taking, process, frame, addresses, n_addresses, &stack.frames,
			&stack.end);
	stack.trace_context = replay_contexts_of_thread(&replay->contexts, frame->pid, sample->tid);
	if (stack.event && r == 0)
		r = weigh(replay, frame, &stack);
	stage->samples_in++;
	stage->last_time = frame->time;
	return r < 0 ? r : stage_put(stage, WIRE_RECORD_stack, &stack);
}

static int take_allocation(struct replay *replay, const struct syscap_frame *frame)
{
	struct replayed_process *process;
	int r = find_process(replay, frame, NULL, &process);

	return r < 0 ? r : heap_replay_take(replay->heap, replay->taking, process, frame);
}

/* Reports a process whose allocations are forged. */
static int put_forged(struct replay *replay, const struct syscap_frame *frame)
{
	struct wire_heap_lost record = { .time = frame->time,
					 .flags = WIRE_heap_lost_flags_FORGED };
	struct replayed_process *process;
	int r = find_process(replay, frame, NULL, &process);

	if (r < 0)
		return r;
	record.process = process->process.number;
	return stage_put(replay->stage, WIRE_RECORD_heap_lost, &record);
}

static int take_log(struct stage *stage, struct replay *replay, const struct syscap_frame *frame)
{
	const struct syscap_log_frame *log = (const void *)frame;
	struct wire_message message = {
		.time = frame->time,
		.severity = log->severity > SEVERITY_WARNING ? WIRE_severity_INFO
							     : WIRE_severity_WARNING,
		.stage = wire_string(log->domain, 64),
		.text = wire_string(log->text, 1024),
	};
	struct wire_lost lost = { .time = frame->time, .cpu = frame->cpu < 0 ? 0 : frame->cpu };
	struct wire_heap_lost heap_lost = { .time = frame->time };

	if (sscanf(log->text, SYSCAP_LOST_ALLOCATIONS, &heap_lost.n_allocated, &heap_lost.n_bytes,
		   &heap_lost.n_freed, &heap_lost.n_calls) == 4)
		return stage_put(stage, WIRE_RECORD_heap_lost, &heap_lost);
	if (!strcmp(log->text, SYSCAP_FORGED_ALLOCATIONS))
		return put_forged(replay, frame);
	if (sscanf(log->text, "Lost %" SCNu64 " events", &lost.n) == 1 ||
	    sscanf(log->text, "Lost %" SCNu64 " samples", &lost.n) == 1)
		return stage_put(stage, WIRE_RECORD_lost, &lost);
	return stage_put(stage, WIRE_RECORD_message, &message);
}

/* Marks of stacks set their weight; others are passed on. Marks are sorted by beginning. */
static int take_mark(struct stage *stage, struct replay *replay,
		     const struct syscap_mark_frame *mark)
{
	uint64_t duration = mark->duration > 0 ? mark->duration : 0;
	struct replayed_process *process = NULL;
	struct wire_mark record = {
		.time = mark->frame.time + duration,
		.duration = duration,
		.group = { mark->group, strnlen(mark->group, sizeof(mark->group) - 1) },
		.name = { mark->name, strnlen(mark->name, sizeof(mark->name) - 1) },
		.text = wire_string(mark->message, 1024),
	};
	int r = 0;

	if (replay_events_is_ours(replay->events, mark))
		return replay_events_take_mark(replay->events, mark);
	if (!strncmp(mark->group, "scheduler", sizeof(mark->group)))
		sscanf(mark->message, "thread %" SCNu32, &record.tid);
	if (mark->frame.pid > 0)
		r = find_process(replay, &mark->frame, NULL, &process);
	if (process)
		record.process = process->process.number;
	return r < 0 ? r : stage_put(stage, WIRE_RECORD_mark, &record);
}

static int take(struct stage *stage, struct replay *replay, const struct syscap_frame *frame)
{
	switch (frame->type & 0xff) {
	case SYSCAP_SAMPLE:
		return take_sample(stage, replay, frame);
	case SYSCAP_CTRDEF:
		return replay_counters_define(&replay->counters, stage, (const void *)frame,
					      replay->is_ours);
	case SYSCAP_CTRSET:
		return replay_counters_set(&replay->counters, stage, (const void *)frame);
	case SYSCAP_MARK:
		return take_mark(stage, replay, (const void *)frame);
	case SYSCAP_ALLOCATION:
		return take_allocation(replay, frame);
	case SYSCAP_MAP:
		return take_map(replay, frame);
	case SYSCAP_PROCESS:
		return take_process(replay, frame);
	case SYSCAP_FORK:
		return take_fork(replay, frame);
	case SYSCAP_EXIT:
		return take_exit(replay, frame);
	case SYSCAP_LOG:
		return take_log(stage, replay, frame);
	default:
		return 0;
	}
}

static int find_number(int32_t pid, uint64_t time, uint64_t *ret, void *arg)
{
	const struct syscap_frame frame = { .pid = pid, .time = time, .cpu = -1 };
	struct replayed_process *process;
	int r = find_process(arg, &frame, NULL, &process);

	*ret = r < 0 ? 0 : process->process.number;
	return r;
}

/* Emits thread times up to `until`. */
static int put_thread_times(struct stage *stage, struct replay *replay, uint64_t until)
{
	struct wire_thread_time record;
	struct syscap_frame frame = { .cpu = -1 };
	struct replayed_process *process;
	int32_t pid;
	int r = 0;

	while (r == 0 && replay_events_next_time(replay->events, until, &pid, &record) == 0) {
		frame.pid = pid;
		frame.time = record.time;
		r = find_process(replay, &frame, NULL, &process);
		if (r < 0)
			break;
		record.process = process->process.number;
		r = stage_put(stage, WIRE_RECORD_thread_time, &record);
	}
	return r;
}

/* Emits thread names up to `until`. */
static int put_thread_names(struct replay *replay, uint64_t until)
{
	struct replay_thread_name name;
	struct replayed_process *process;
	int r = 0;

	while (r == 0 && replay_events_next_name(replay->events, until, &name) == 0) {
		const struct syscap_frame frame = { .pid = name.pid, .time = name.time, .cpu = -1 };

		r = find_process(replay, &frame, NULL, &process);
		if (r == 0)
			r = locations_name_thread(&replay->locations, &process->process,
						  tid_of(process, name.pid, name.tid), name.name,
						  name.time);
	}
	return r;
}

/* Emits an embedded file of the host unchanged. */
static int put_file(struct stage *stage, const struct syscap_embedded_file *file, uint64_t time)
{
	size_t done = 0;
	int r = 0;

	while (done < file->size && r == 0) {
		size_t n = file->size - done < PIECE ? file->size - done : PIECE;
		struct wire_file record = {
			.time = time,
			.path = wire_string(file->path, 255),
			.left = file->size - done - n,
			.data = { file->data + done, n },
		};

		r = stage_put(stage, WIRE_RECORD_file, &record);
		done += n;
	}
	return r;
}

static int put_files(struct stage *stage, const struct replay *replay)
{
	const struct syscap_file *syscap = &replay->syscap;
	int r = 0;

	for (size_t i = 0; i < syscap->n_files && r == 0; i++)
		if (syscap->files[i].is_whole && strncmp(syscap->files[i].path, "__", 2) &&
		    strncmp(syscap->files[i].path, "stackpipe/", strlen("stackpipe/")))
			r = put_file(stage, &syscap->files[i], syscap_file_header(syscap)->time);
	return r;
}

static void free_process(uint64_t pid, uint64_t zero, uint64_t process, void *arg)
{
	struct replayed_process *replayed = (void *)process;

	mapping_table_deinit(&replayed->process.mappings);
	free(replayed);
}

static const char *describe_end(enum syscap_file_end end)
{
	switch (end) {
	case SYSCAP_FILE_STOPPED:
		return "its recording ended early";
	case SYSCAP_FILE_CUT:
		return "its end is missing: the file was truncated, or its writer was interrupted";
	default:
		return "its last bytes are not a valid frame";
	}
}

/* Passes on the capture's own counts, and reports how it ended. */
static int finish(struct stage *stage, struct replay *replay)
{
	const struct syscap_file *syscap = &replay->syscap;
	uint64_t lost = number_of(syscap, "stackpipe.lost", 0);
	uint64_t skipped = number_of(syscap, "stackpipe.left-out", 0);

	if (skipped)
		stage_miss(stage, "left-out", skipped);
	if (lost)
		stage_miss(stage, STAGE_KERNEL_LOST, lost);
	if (syscap->n_skipped)
		*counters_get(&stage->counters, "events", "skipped") = syscap->n_skipped;
	if (syscap->n_refused + replay->bundle.n_refused)
		*counters_get(&stage->counters, "refused", "frames") =
			syscap->n_refused + replay->bundle.n_refused;
	stage->end_time = syscap_file_header(syscap)->end_time > stage->last_time
				  ? syscap_file_header(syscap)->end_time
				  : stage->last_time;
	if (syscap->end == SYSCAP_FILE_WHOLE)
		return 0;
	stage_error(stage, "'%s' is incomplete: %s", replay->path, describe_end(syscap->end));
	return -ECANCELED;
}

/* Emits a frame, and what is known otherwise up to its time. */
static int take_next(struct stage *stage, struct replay *replay, const struct syscap_frame *frame)
{
	int r = put_thread_names(replay, frame->time);

	if (r == 0)
		r = replay_contexts_emit(&replay->contexts, stage, frame->time);
	if (r == 0)
		r = put_thread_times(stage, replay, frame->time);
	return r < 0 ? r : take(stage, replay, frame);
}

int replay_syscap_run(struct stage *stage, struct replay *replay)
{
	const struct syscap_list *list = &replay->syscap.frames;
	struct map_pass pass = { 0 };
	int r = -ENOMEM;

	replay->events = calloc(1, sizeof(*replay->events));
	if (replay->events)
		r = replay_events_start(replay->events, stage, &replay->syscap);
	if (r == 0)
		r = put_files(stage, replay);
	replay_contexts_init(&replay->contexts, &replay->syscap);
	replay->contexts.find_process = find_number;
	replay->contexts.arg = replay;
	for (size_t i = 0; i < list->n && r == 0 && !stage_should_stop(); i++) {
		r = take_next(stage, replay, syscap_file_frame(&replay->syscap, list, i));
		capture_file_come_to(&replay->file, &pass, list->items[i].offset);
	}
	if (r == 0)
		r = put_thread_times(stage, replay, UINT64_MAX);
	if (r == 0)
		r = heap_replay_flush(replay->heap);
	pair_map_each(&replay->processes, free_process, NULL);
	pair_map_clear(&replay->processes);
	return r < 0 ? r : finish(stage, replay);
}
