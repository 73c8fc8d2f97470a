/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/growing-list.h"
#include "perf-source/context/contexts.h"

void contexts_init(struct contexts *contexts, struct stage *stage, struct processes *processes,
		   struct context_program *program, uint32_t wanted,
		   bool (*is_wanted)(uint32_t pid, void *arg), void *arg)
{
	*contexts = (struct contexts){
		.stage = stage,
		.processes = processes,
		.program = program,
		.search = {
			.processes = processes,
			.is_wanted = is_wanted,
			.arg = arg,
			.wanted = wanted,
			.is_once = wanted == CONTEXTS_RUNTIMES ||
				   (context_program_is_loaded(program) && program->watches),
		},
	};
	pair_map_init(&contexts->published, CONTEXTS_WAITING_MAX);
	pair_map_init(&contexts->runtimes, CONTEXTS_WAITING_MAX);
	pair_map_init(&contexts->read_at, CONTEXTS_WAITING_MAX);
}

static void end_helper(struct contexts *contexts, struct context_job *job)
{
	contexts->n_stuck += !context_reader_end(&job->reader);
	*job = (struct context_job){ 0 };
}

void contexts_deinit(struct contexts *contexts)
{
	for (size_t i = 0; i < CONTEXTS_HELPERS_MAX; i++)
		end_helper(contexts, &contexts->helpers[i]);
	pair_map_deinit(&contexts->published);
	pair_map_deinit(&contexts->runtimes);
	pair_map_deinit(&contexts->read_at);
	context_search_deinit(&contexts->search);
	free(contexts->waiting);
}

/* Adds what is newly known of a process. Only the last addresses count. */
static void merge(struct context_hints *hints, const struct context_hints *newer)
{
	bool may_have_runtime = hints->may_have_runtime || newer->may_have_runtime;

	if (newer->n)
		*hints = *newer;
	hints->may_have_runtime = may_have_runtime;
}

/* What is missing is said once, and only if there is an interpreter. */
static void warn_of_runtimes(struct contexts *contexts, uint32_t pid)
{
	if (!contexts->has_warned)
		stage_warn(contexts->stage,
			   "functions of scripts (as of process %" PRIu32 ") are not recorded: %s",
			   pid, contexts->why_no_runtimes);
	contexts->has_warned = true;
}

/* 0 or -ENOMEM. */
static int add(struct contexts *contexts, struct context_job job)
{
	int r;

	if (job.hints.may_have_runtime && contexts->why_no_runtimes) {
		warn_of_runtimes(contexts, job.pid);
		job.hints.may_have_runtime = false;
		if (!job.hints.n)
			return 0;
	}
	for (size_t i = 0; i < contexts->n_waiting; i++) {
		if (contexts->waiting[i].pid != job.pid)
			continue;
		merge(&contexts->waiting[i].hints, &job.hints);
		return 0;
	}
	if (contexts->n_waiting == CONTEXTS_WAITING_MAX) {
		contexts->n_refused++;
		return 0;
	}
	r = GROWING_LIST_RESERVE(contexts->waiting, contexts->n_waiting_allocated, 16,
				 contexts->n_waiting + 1);
	if (r == 0)
		contexts->waiting[contexts->n_waiting++] = job;
	return r;
}

static int add_found(uint32_t pid, const struct context_hints *hints, void *arg)
{
	return add(arg, (struct context_job){
				.pid = pid, .hints = *hints, .added = clock_now(CLOCK_MONOTONIC) });
}

static int add_runtime(struct contexts *contexts, uint32_t pid)
{
	static const struct context_hints hints = { .may_have_runtime = true };

	return add_found(pid, &hints, contexts);
}

int contexts_note_mapping(struct contexts *contexts, uint32_t pid, const char *path)
{
	if (!(contexts->search.wanted & CONTEXTS_RUNTIMES) || !path || !runtime_may_be_in(path))
		return 0;
	return add_runtime(contexts, pid);
}

/* Whether the interpreter of a process is being looked for. */
static bool is_expected(const struct contexts *contexts, uint32_t pid)
{
	for (size_t i = 0; i < contexts->n_waiting; i++)
		if (contexts->waiting[i].pid == pid)
			return contexts->waiting[i].hints.may_have_runtime;
	for (size_t i = 0; i < CONTEXTS_HELPERS_MAX; i++)
		if (contexts->helpers[i].upid && contexts->helpers[i].pid == pid)
			return contexts->helpers[i].hints.may_have_runtime;
	return false;
}

int contexts_note_fork(struct contexts *contexts, uint32_t parent, uint32_t child, uint64_t time)
{
	const uint64_t *set_at;
	uint64_t upid;
	int r;

	if (!(contexts->search.wanted & CONTEXTS_RUNTIMES) || parent == child)
		return 0;
	if (context_search_is_first(&contexts->search))
		return context_search_add(&contexts->search, child);
	r = processes_of_sample(contexts->processes, parent, 0, time, &upid);
	if (r < 0 || !upid)
		return r;
	set_at = pair_map_find(&contexts->runtimes, upid, 0);
	return (set_at && *set_at >= time) || is_expected(contexts, parent)
		       ? add_runtime(contexts, child)
		       : 0;
}

/* Adds processes that have published something since. 0 or -ENOMEM. */
static int take_named(struct contexts *contexts)
{
	struct context_hints hints = { .n = 1 };
	uint32_t pid;
	int r = 0;

	if (!context_program_is_loaded(contexts->program) ||
	    !(contexts->search.wanted & CONTEXTS_PUBLISHED))
		return 0;
	for (size_t i = 0; i < CONTEXTS_TAKEN_MAX && r == 0; i++) {
		if (!context_program_take(contexts->program, &pid, &hints.addresses[0]))
			break;
		if (contexts->search.is_wanted(pid, contexts->search.arg))
			r = add_found(pid, &hints, contexts);
	}
	return r;
}

static bool has_waited(const struct context_job *job, uint64_t milliseconds)
{
	return job->begun - job->added > milliseconds * NANOSECONDS_A_MILLISECOND;
}

/* The files of a process, one mapping of each. Returns their number; -EAGAIN: some come soon. */
static int find_images(const struct contexts *contexts, const struct context_job *job,
		       const struct mapping_table *mappings,
		       struct context_image images[CONTEXT_READER_IMAGES_MAX])
{
	int n = 0;

	MAPPING_TABLE_EACH(mapping, mappings)
	{
		int fd = images_descriptor(contexts->processes->images, mapping->image);

		if (fd == -EAGAIN && !has_waited(job, CONTEXTS_FILES_MS))
			return -EAGAIN;
		if (fd < 0 || (n && images[n - 1].fd == fd))
			continue;
		if (n == CONTEXT_READER_IMAGES_MAX)
			break;
		images[n++] = (struct context_image){ fd, mapping->start, mapping->offset,
						      mapping->image };
	}
	return n;
}

/* Opens the memory of a process as it is now: after an exec nothing can be read from it. */
static int open_memory(uint32_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/* Sets a value, whatever was there. Without room all are forgotten: that costs another look. */
static void set(struct pair_map *map, uint64_t upid, uint64_t value)
{
	pair_map_remove(map, upid, 0);
	if (pair_map_add(map, upid, 0, value) == -ENOSPC)
		pair_map_clear(map);
}

#define NEVER_AGAIN UINT64_MAX /* in `read_at`: its memory or its files made a helper wait */

/* Whether a helper may look at a process now: 0, -EBUSY: later, or -EPERM: never again. */
static int may_begin(const struct contexts *contexts, uint32_t pid, uint64_t upid, uint64_t now)
{
	const uint64_t *read_at = pair_map_find(&contexts->read_at, upid, 0);

	if (read_at && *read_at == NEVER_AGAIN)
		return -EPERM;
	if (read_at && now - *read_at < CONTEXTS_PAUSE_MS * NANOSECONDS_A_MILLISECOND)
		return -EBUSY;
	for (size_t i = 0; i < CONTEXTS_HELPERS_MAX; i++)
		if (contexts->helpers[i].upid && contexts->helpers[i].pid == pid)
			return -EBUSY;
	return 0;
}

static void expect(struct contexts *contexts, const struct context_job *job)
{
	if (!context_program_is_loaded(contexts->program))
		return;
	if (context_program_expect(contexts->program, job->pid) < 0)
		contexts->n_refused++;
	if (job->hints.may_have_runtime &&
	    context_program_expect_walk(contexts->program, job->pid) < 0)
		contexts->n_runtimes_refused++;
}

/*
 * Starts a helper. The process is expected first: of what it is then nothing is set if it executes
 * another program. 0 or -errno: -EAGAIN: not now; -EBUSY: nor soon; with job->upid 0 there is none.
 */
static int begin(struct contexts *contexts, struct context_job *job, uint64_t time)
{
	struct context_image images[CONTEXT_READER_IMAGES_MAX];
	struct proc_view *proc = &contexts->processes->proc;
	const struct mapping_table *mappings;
	_cleanup_fd_ int memory = -1;
	uint64_t upid;
	int n, r;

	if (proc->is_changing && proc->is_changing(job->pid, proc->arg))
		return -EAGAIN;
	mappings = processes_mappings(contexts->processes, job->pid);
	if (!mappings) /* it is not recorded, or has ended */
		return 0;
	n = find_images(contexts, job, mappings, images);
	if (n < 0)
		return n;
	r = processes_of_sample(contexts->processes, job->pid, 0, time, &upid);
	if (r < 0 || !upid)
		return r;
	if (!job->hints.n && pair_map_find(&contexts->runtimes, upid, 0)) /* it is known */
		return 0;
	r = may_begin(contexts, job->pid, upid, job->begun);
	if (r == 0)
		memory = open_memory(job->pid);
	if (r == -EBUSY)
		return r;
	expect(contexts, job);
	if (memory < 0 || context_reader_begin(&job->reader, memory, &job->hints, images, n) < 0) {
		contexts->n_refused++;
		return 0;
	}
	set(&contexts->read_at, upid, job->begun);
	job->upid = upid;
	return 0;
}

static struct context_job *find_free(struct contexts *contexts, uint64_t now)
{
	for (size_t i = 0; i < CONTEXTS_HELPERS_MAX && now >= contexts->begin_at; i++)
		if (!contexts->helpers[i].upid)
			return &contexts->helpers[i];
	return NULL;
}

/* Starts helpers for those that wait, while there are free ones. 0 or -errno. */
static int begin_waiting(struct contexts *contexts, uint64_t time)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);
	size_t n_kept = 0;
	int r = 0;

	for (size_t i = 0; i < contexts->n_waiting; i++) {
		struct context_job job = contexts->waiting[i], *helper = find_free(contexts, now);
		int begun;

		job.begun = now;
		begun = helper && r == 0 ? begin(contexts, &job, time) : -EBUSY;
		if ((begun == -EAGAIN && has_waited(&job, CONTEXTS_WAIT_MS)) ||
		    contexts->n_stuck >= CONTEXTS_STUCK_MAX)
			contexts->n_refused++;
		else if (begun == -EAGAIN || begun == -EBUSY)
			contexts->waiting[n_kept++] = job;
		else if (begun < 0)
			r = begun;
		else if (job.upid)
			*helper = job;
	}
	contexts->n_waiting = n_kept;
	return r;
}

/* Emits a context, unless it is not newer than the one that was emitted last. 0 or -errno. */
static int emit(struct contexts *contexts, const struct context_job *job, uint64_t time)
{
	const struct context_answer *answer = job->reader.answer;
	const struct wire_process_context out = {
		.process = job->upid,
		.time = time,
		.published = answer->published,
		.payload = { answer->payload, answer->payload_size },
	};
	const uint64_t *published = pair_map_find(&contexts->published, job->upid, 0);
	int r;

	if (published && answer->published <= *published)
		return 0;
	++*counters_get(&contexts->stage->counters, "process-contexts", "read");
	set(&contexts->published, job->upid, answer->published);
	r = stage_put(contexts->stage, WIRE_RECORD_process_context, &out);
	/* The payload goes with the helper. */
	return r < 0 ? r : wire_writer_flush(&contexts->stage->writer);
}

static int take_context(struct contexts *contexts, const struct context_job *job, uint64_t time)
{
	const struct context_answer *answer = job->reader.answer;
	int r;

	if (!job->hints.n)
		return 0;
	if (answer->error || answer->payload_size > sizeof(answer->payload)) {
		++*counters_get(&contexts->stage->counters, "process-contexts", "not-readable");
		return 0;
	}
	r = emit(contexts, job, time);
	/* If a later look does not find the variable, it has not moved. */
	if (r == 0 && answer->place.kind != CONTEXT_PLACE_UNKNOWN &&
	    context_program_is_loaded(contexts->program))
		context_program_set(contexts->program, job->pid, &answer->place);
	return r;
}

static struct wire_string text_of(const char *text, size_t size)
{
	return (struct wire_string){ text, strnlen(text, size) };
}

static const char *why_unknown(enum runtime_state state)
{
	switch (state) {
	case RUNTIME_OTHER_VERSION:
		return "is not known; known are ";
	case RUNTIME_WITHOUT_GIL:
		return "without the GIL is not known; others are: ";
	case RUNTIME_WITH_THREADS:
		return "with threads (ZTS) is not known; others are: ";
	default:
		return "is built in another way than those that are known: ";
	}
}

/* Says once of each file, and of a few in all, that its functions are not recorded. */
static void warn_of_unknown(struct contexts *contexts, uint32_t pid, const struct runtime *runtime)
{
	for (size_t i = 0; i < contexts->n_unknown; i++)
		if (contexts->unknown[i] == runtime->image)
			return;
	if (contexts->n_unknown == CONTEXTS_UNKNOWN_MAX)
		return;
	contexts->unknown[contexts->n_unknown++] = runtime->image;
	stage_warn(contexts->stage,
		   "functions in %s of process %" PRIu32 " are not recorded: %s %.*s%s%s%s",
		   runtime_language_name(runtime->language), pid,
		   runtime_interpreter_name(runtime->language), (int)sizeof(runtime->version),
		   runtime->version, *runtime->version ? " " : "", why_unknown(runtime->state),
		   runtime_known_versions(runtime->language));
}

/* An interpreter that is being started is looked at again, for some time. 0 or -ENOMEM. */
static int look_again(struct contexts *contexts, const struct context_job *job)
{
	if (job->n_looks == CONTEXTS_LOOKS_MAX) {
		contexts->n_runtimes_refused++;
		return 0;
	}
	return add(contexts, (struct context_job){
				     .pid = job->pid,
				     .hints = { .may_have_runtime = true },
				     .added = clock_now(CLOCK_MONOTONIC),
				     .n_looks = job->n_looks + 1,
			     });
}

/* Says once how a program would tell more. */
static void say_partly_told(struct contexts *contexts, uint32_t pid, enum script_language language)
{
	if (contexts->has_said_partly)
		return;
	contexts->has_said_partly = true;
	stage_warn(contexts->stage,
		   "%s in process %" PRIu32 " tells inlined methods only where they call others: "
		   "%s makes it tell all",
		   runtime_language_name(language), pid, runtime_telling_options(language));
}

/* Emits a runtime before any sample can refer to it, and sets its walk program. 0 or -errno. */
static int take_runtime(struct contexts *contexts, const struct context_job *job, uint64_t time)
{
	const struct runtime *runtime = &job->reader.answer->runtime;
	const char *path =
		runtime->language < SCRIPT_LANGUAGES_MAX ? script_path(runtime->language) : "";
	const struct wire_runtime out = {
		.process = job->upid,
		.time = time,
		.image = runtime->image,
		.kind = { path + 1, strlen(path) - strlen("[]") },
		.version = text_of(runtime->version, sizeof(runtime->version)),
		.layout = text_of(runtime->layout, sizeof(runtime->layout)),
	};
	int r;

	if (runtime->language >= SCRIPT_LANGUAGES_MAX) /* the helper read a hostile file */
		return 0;
	if (runtime->state == RUNTIME_NOT_YET)
		return look_again(contexts, job);
	if (runtime->state != RUNTIME_NONE && runtime->state != RUNTIME_KNOWN)
		warn_of_unknown(contexts, job->pid, runtime);
	if (runtime->state != RUNTIME_KNOWN || runtime->language >= SCRIPT_LANGUAGES_MAX ||
	    pair_map_find(&contexts->runtimes, job->upid, 0) ||
	    !walk_program_is_valid(&runtime->walk))
		return 0;
	r = processes_add_scripts(contexts->processes, runtime->language, time);
	if (r == 0)
		r = stage_put(contexts->stage, WIRE_RECORD_runtime, &out);
	if (r == 0)
		r = wire_writer_flush(&contexts->stage->writer);
	if (r < 0)
		return r;
	/* -ENOENT: it has ended, or executes another program. */
	if (runtime->is_partly_told)
		say_partly_told(contexts, job->pid, runtime->language);
	if (context_program_set_walk(contexts->program, job->pid, &runtime->walk) == 0)
		set(&contexts->runtimes, job->upid, clock_now(CLOCK_MONOTONIC));
	return 0;
}

/* Takes what a helper has found, if the process is still the one that it was. 0 or -errno. */
static int take_answer(struct contexts *contexts, const struct context_job *job, uint64_t time)
{
	struct proc_view *proc = &contexts->processes->proc;
	uint64_t upid;
	int r;

	if (proc->is_changing && proc->is_changing(job->pid, proc->arg))
		return 0;
	r = processes_of_sample(contexts->processes, job->pid, 0, time, &upid);
	if (r < 0 || upid != job->upid)
		return r;
	r = take_context(contexts, job, time);
	return r < 0 ? r : take_runtime(contexts, job, time);
}

/* A process that made its helper wait is not looked at again. */
static void give_up(struct contexts *contexts, const struct context_job *job)
{
	++*counters_get(&contexts->stage->counters, "process-contexts", "not-readable");
	set(&contexts->read_at, job->upid, NEVER_AGAIN);
}

static int take_answers(struct contexts *contexts, uint64_t time)
{
	int r = 0;

	for (size_t i = 0; i < CONTEXTS_HELPERS_MAX && r == 0; i++) {
		struct context_job *job = &contexts->helpers[i];
		int done = job->upid ? context_reader_look(&job->reader) : -EAGAIN;

		if (done == -EAGAIN)
			continue;
		if (done == 0)
			r = take_answer(contexts, job, time);
		else
			give_up(contexts, job);
		/* Helpers take half of a CPU, at most. */
		contexts->begin_at = clock_now(CLOCK_MONOTONIC);
		contexts->begin_at += contexts->begin_at - job->begun;
		end_helper(contexts, job);
	}
	return r;
}

int contexts_attend(struct contexts *contexts, uint64_t time)
{
	int r = take_named(contexts);

	if (r == 0)
		r = context_search_go_on(&contexts->search, add_found, contexts);
	if (r == 0)
		r = take_answers(contexts, time);
	return r < 0 ? r : begin_waiting(contexts, time);
}

int contexts_helper(const struct contexts *contexts, size_t i)
{
	const struct context_job *job = &contexts->helpers[i];

	return job->upid ? job->reader.ended_fd : -1;
}

bool contexts_are_coming(const struct contexts *contexts)
{
	bool are_coming = contexts->n_waiting || context_search_is_first(&contexts->search);

	for (size_t i = 0; i < CONTEXTS_HELPERS_MAX; i++)
		are_coming |= contexts->helpers[i].upid != 0;
	return are_coming;
}

void contexts_count(const struct contexts *contexts)
{
	uint64_t n = contexts->n_refused + context_program_count_refused(contexts->program);
	uint64_t n_runtimes = contexts->n_runtimes_refused +
			      context_program_count_refused_walks(contexts->program);

	if (n)
		*counters_get(&contexts->stage->counters, "refused", "process-contexts") += n;
	if (n_runtimes)
		*counters_get(&contexts->stage->counters, "refused", "runtimes") += n_runtimes;
}
