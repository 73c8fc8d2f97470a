/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture-source/replay-events.h"
#include "common/gzip.h"

enum {
	WEIGHTS_MAX = 1 << 22,
	TIMES_SIZE_MAX = 256 * 1024 * 1024,
	PREEMPTED_BIT = 1, /* of what is kept of a mark; the rest is its weight */
};

/* Sums are told while the wait that they are not part of goes on. */
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

int replay_events_start(struct replay_events *events, struct stage *stage,
			const struct syscap_file *file)
{
	const struct syscap_embedded_file *times =
		syscap_file_embedded(file, SYSCAP_THREAD_TIMES_FILE);
	size_t size;
	int r = 0;

	pair_map_init(&events->weights, WEIGHTS_MAX);
	if (times)
		r = gzip_decompress(times->data, times->size, TIMES_SIZE_MAX, &events->times_file,
				    &size);
	if (r == -ENOMEM)
		return r;
	if (r == 0 && times) {
		events->times = events->times_file;
		events->times_end = events->times_file + size;
	}
	r = 0;
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
	free(events->times_file);
	pair_map_deinit(&events->weights);
}

static uint64_t key_of(int32_t tid, enum mark_kind kind)
{
	return (uint64_t)(uint32_t)tid * MARK_KINDS + kind;
}

int replay_events_take_mark(struct replay_events *events, const struct syscap_mark_frame *mark)
{
	enum mark_kind kind = MARK_OF_ONE;
	uint64_t weight, *known;
	int32_t tid;

	if (!events->n || sscanf(mark->message, SYSCAP_EVENT_MARK, &tid, &weight) != 2)
		return 0;
	if (!strcmp(mark->name, "short-waits"))
		kind = MARK_OF_SHORT_WAITS;
	else if (!strcmp(mark->name, "no-stack"))
		kind = MARK_OF_NO_STACK;
	weight = weight * 2 | (!strcmp(mark->name, SYSCAP_PREEMPTED) ? PREEMPTED_BIT : 0);
	known = pair_map_find(&events->weights, mark->frame.pid, key_of(tid, kind));
	if (known) {
		*known = weight;
		return 0;
	}
	return pair_map_add(&events->weights, mark->frame.pid, key_of(tid, kind), weight) == -ENOMEM
		       ? -ENOMEM
		       : 0;
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
			 struct wire_stack *stack)
{
	enum mark_kind kind = stack->end == WIRE_stack_end_SHORT_WAITS ? MARK_OF_SHORT_WAITS
			      : stack->end == WIRE_stack_end_NO_STACK  ? MARK_OF_NO_STACK
								       : MARK_OF_ONE;
	const uint64_t *told = pair_map_find(&events->weights, pid, key_of(tid, kind));

	stack->weight = told ? *told / 2 : 0;
	stack->flags = told && *told & PREEMPTED_BIT ? WIRE_sample_flags_PREEMPTED : 0;
}

int replay_events_next_time(struct replay_events *events, uint64_t until, int32_t *ret_pid,
			    struct wire_thread_time *ret)
{
	const char *end;
	char line[128];
	size_t size;

	while (events->times < events->times_end) {
		end = memchr(events->times, '\n', events->times_end - events->times);
		size = (end ? end : events->times_end) - events->times;
		snprintf(line, sizeof(line), "%.*s", size < sizeof(line) ? (int)size : 0,
			 events->times);
		if (sscanf(line, SYSCAP_THREAD_TIME, &ret->time, ret_pid, &ret->tid, &ret->on_cpu,
			   &ret->off_cpu, &ret->n_waits) == 6) {
			if (ret->time > until)
				return -ENODATA;
			events->times += size + 1;
			return 0;
		}
		events->times += size + 1;
	}
	return -ENODATA;
}
