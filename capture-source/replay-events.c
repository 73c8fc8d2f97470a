/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture-source/replay-events.h"
#include "common/stream/cgroup.h"

enum {
	WEIGHTS_MAX = 1 << 22,
	FLAG_BITS = 2, /* low bits of a kept mark: flags of its wait; the others: its weight */
	PREEMPTED_BIT = 1,
	SAMPLED_BIT = 2,
};

/* Marks of sums may come between a wait's mark and its stack, so they are kept apart. */
enum mark_kind { MARK_OF_ONE, MARK_OF_SHORT_WAITS, MARK_OF_NO_STACK, MARK_KINDS };

static uint32_t number_of_name(const struct wire_names *names, const char *text, size_t size)
{
	for (size_t i = 0; i < names->n; i++)
		if (strlen(names->names[i].text) == size &&
		    !strncmp(names->names[i].text, text, size))
			return names->names[i].number;
	return 0;
}

/* "on-cpu nanoseconds cpu-clock" */
static bool parse_event(const char *text, struct wire_event *ret)
{
	size_t kind = strcspn(text, " "), unit = text[kind] ? strcspn(text + kind + 1, " ") : 0;
	const char *name = text + kind + unit + 2;

	if (!unit || !text[kind + 1 + unit] || strlen(name) > 64)
		return false;
	ret->kind = number_of_name(&wire_names_event_kind, text, kind);
	ret->unit = number_of_name(&wire_names_event_unit, text + kind + 1, unit);
	ret->name = wire_string(name, 64);
	return ret->kind && ret->unit;
}

/* "123 /system.slice/cron.service": keeps where the path begins; it goes to the end of the line. */
static int read_cgroups(struct replay_events *events, const struct syscap_file *file)
{
	struct lines lines = lines_of(file, SYSCAP_CGROUPS_FILE), before = lines;
	char line[CGROUP_PATH_MAX + 32];
	int r = 0;

	events->cgroups_end = lines.end;
	for (; r != -ENOMEM && lines_next(&lines, line, sizeof(line)); before = lines) {
		int32_t pid;
		int path_at = 0;

		if (sscanf(line, "%d %n", &pid, &path_at) != 1 || line[path_at] != '/' ||
		    strlen(line + path_at) >= CGROUP_PATH_MAX)
			continue;
		if (!pair_map_find(&events->cgroups, pid, 0))
			r = pair_map_add(&events->cgroups, pid, 0,
					 (uintptr_t)(before.at + path_at));
	}
	return r == -ENOMEM ? r : 0;
}

struct wire_string replay_events_cgroup(const struct replay_events *events, int32_t pid)
{
	const uint64_t *known = pair_map_find(&events->cgroups, pid, 0);
	const char *path = known ? (const char *)(uintptr_t)*known : events->cgroups_end;
	const char *end = path;

	/* read_cgroups() accepted the path up to here. The last line may lack its newline. */
	while (end < events->cgroups_end && *end && *end != '\n')
		end++;
	return (struct wire_string){ path, end - path };
}

int replay_events_start(struct replay_events *events, struct stage *stage,
			const struct syscap_file *file)
{
	int r;

	pair_map_init(&events->weights, WEIGHTS_MAX);
	pair_map_init(&events->wakers, WEIGHTS_MAX);
	pair_map_init(&events->cgroups, WEIGHTS_MAX);
	events->times = lines_of(file, SYSCAP_THREAD_TIMES_FILE);
	events->names = lines_of(file, SYSCAP_THREAD_NAMES_FILE);
	r = read_cgroups(events, file);
	while (events->n < REPLAY_EVENTS_MAX && r == 0) {
		struct wire_event event = { .number = events->n };
		const char *text;
		char id[40];

		snprintf(id, sizeof(id), SYSCAP_EVENT_ID, event.number);
		text = syscap_file_metadata(file, id);
		if (!text || !parse_event(text, &event))
			break;
		snprintf(events->frames[events->n++], sizeof(*events->frames), "[%s]",
			 event.name.data);
		r = stage_put(stage, WIRE_RECORD_event, &event);
	}
	return r;
}

void replay_events_deinit(struct replay_events *events)
{
	pair_map_deinit(&events->cgroups);
	pair_map_deinit(&events->weights);
	pair_map_deinit(&events->wakers);
}

static uint64_t key_of(int32_t tid, enum mark_kind kind)
{
	return (uint64_t)(uint32_t)tid * MARK_KINDS + kind;
}

bool replay_events_is_ours(const struct replay_events *events, const struct syscap_mark_frame *mark)
{
	for (size_t i = 1; i < events->n; i++) {
		size_t size = strlen(events->frames[i]) - strlen("[]");

		if (size >= sizeof(mark->group)) /* it was cut when written */
			size = sizeof(mark->group) - 1;
		if (strnlen(mark->group, sizeof(mark->group)) == size &&
		    !strncmp(mark->group, events->frames[i] + 1, size))
			return true;
	}
	return false;
}

/* Replaces an older value. New keys beyond the limit are ignored. 0 or -ENOMEM. */
static int set(struct pair_map *map, int32_t pid, uint64_t key, uint64_t value)
{
	uint64_t *known = pair_map_find(map, pid, key);

	if (known) {
		*known = value;
		return 0;
	}
	return value && pair_map_add(map, pid, key, value) == -ENOMEM ? -ENOMEM : 0;
}

static uint64_t bits_of_name(const char *name)
{
	bool is_sampled_preemption = !strcmp(name, SYSCAP_SAMPLED_PREEMPTED);

	return (is_sampled_preemption || !strcmp(name, SYSCAP_PREEMPTED) ? PREEMPTED_BIT : 0) |
	       (is_sampled_preemption || !strcmp(name, SYSCAP_SAMPLED) ? SAMPLED_BIT : 0);
}

static uint32_t flags_of_bits(uint64_t bits)
{
	return (bits & PREEMPTED_BIT ? WIRE_sample_flags_PREEMPTED : 0) |
	       (bits & SAMPLED_BIT ? WIRE_sample_flags_SAMPLED : 0);
}

int replay_events_take_mark(struct replay_events *events, const struct syscap_mark_frame *mark)
{
	enum mark_kind kind = MARK_OF_ONE;
	uint64_t weight, waker = 0;
	int32_t tid, waker_tid, waker_pid;
	int r, n = events->n ? sscanf(mark->message, SYSCAP_EVENT_MARK SYSCAP_EVENT_WAKER, &tid,
				      &weight, &waker_tid, &waker_pid)
			     : 0;

	if (n != 2 && n != 4)
		return 0;
	if (!strcmp(mark->name, "short-waits"))
		kind = MARK_OF_SHORT_WAITS;
	else if (!strcmp(mark->name, "no-stack"))
		kind = MARK_OF_NO_STACK;
	if (n == 4)
		waker = (uint64_t)(uint32_t)waker_pid << 32 | (uint32_t)waker_tid;
	weight = weight << FLAG_BITS | bits_of_name(mark->name);
	r = set(&events->weights, mark->frame.pid, key_of(tid, kind), weight);
	return r < 0 ? r : set(&events->wakers, mark->frame.pid, key_of(tid, kind), waker);
}

uint32_t replay_events_of_stack(const struct replay_events *events, const struct syscap_file *file,
				uint64_t outermost)
{
	const char *entry;

	if (!events->n || outermost >> 32 != SYSCAP_JITMAP_MARK >> 32)
		return 0;
	entry = syscap_file_jitmap(file, outermost);
	for (size_t i = 1; entry && i < events->n; i++)
		if (!strcmp(entry, events->frames[i]))
			return i;
	return 0;
}

void replay_events_weigh(const struct replay_events *events, int32_t pid, int32_t tid,
			 struct wire_stack *stack, struct replay_thread *ret_waker)
{
	enum mark_kind kind = stack->end == WIRE_stack_end_SHORT_WAITS ? MARK_OF_SHORT_WAITS
			      : stack->end == WIRE_stack_end_NO_STACK  ? MARK_OF_NO_STACK
								       : MARK_OF_ONE;
	const uint64_t *emitted = pair_map_find(&events->weights, pid, key_of(tid, kind));
	const uint64_t *waker = pair_map_find(&events->wakers, pid, key_of(tid, kind));

	stack->weight = emitted ? *emitted >> FLAG_BITS : 0;
	stack->flags = emitted ? flags_of_bits(*emitted) : 0;
	*ret_waker = waker ? (struct replay_thread){ *waker >> 32, *waker }
			   : (struct replay_thread){ 0 };
}

int replay_events_next_time(struct replay_events *events, uint64_t until, int32_t *ret_pid,
			    struct wire_thread_time *ret)
{
	struct lines behind = events->times;
	char line[128];

	while (lines_next(&behind, line, sizeof(line))) {
		bool is_one = sscanf(line, SYSCAP_THREAD_TIME, &ret->time, ret_pid, &ret->tid,
				     &ret->on_cpu, &ret->off_cpu, &ret->n_waits) == 6;

		if (is_one && ret->time > until)
			return -ENODATA;
		events->times = behind;
		if (is_one)
			return 0;
	}
	return -ENODATA;
}

int replay_events_next_name(struct replay_events *events, uint64_t until,
			    struct replay_thread_name *ret)
{
	struct lines behind = events->names;
	char line[256];

	while (lines_next(&behind, line, sizeof(line))) {
		int name_at = 0;
		bool is_one = sscanf(line, "%lu %d %d %n", &ret->time, &ret->pid, &ret->tid,
				     &name_at) == 3 &&
			      line[name_at];

		if (is_one && ret->time > until)
			return -ENODATA;
		events->names = behind;
		if (!is_one)
			continue;
		snprintf(ret->name, sizeof(ret->name), "%s", line + name_at);
		return 0;
	}
	return -ENODATA;
}
