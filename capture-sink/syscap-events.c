/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture-sink/syscap-events.h"
#include "common/text.h"

enum {
	LINE_SIZE = 128,
	NOTE_SIZE = CGROUP_PATH_MAX + LINE_SIZE, /* of the longest line */
};

/* What the mark of a stack is called. */
static const char *mark_name(const struct event_info *event, const struct wire_stack *stack)
{
	if (event->kind != WIRE_event_kind_OFF_CPU)
		return SYSCAP_OCCURRED;
	if (stack->end == WIRE_stack_end_SHORT_WAITS || stack->end == WIRE_stack_end_NO_STACK)
		return wire_name_text(&wire_names_stack_end, stack->end);
	return stack->flags & WIRE_sample_flags_PREEMPTED ? SYSCAP_PREEMPTED : SYSCAP_WAITED;
}

int syscap_put_event_mark(struct syscap *syscap, struct syscap_time when, int32_t tid,
			  const struct events *events, const struct wire_stack *stack)
{
	const struct event_info *event = &events->list[stack->event];
	bool is_wait = event->kind == WIRE_event_kind_OFF_CPU &&
		       stack->end != WIRE_stack_end_SHORT_WAITS &&
		       stack->end != WIRE_stack_end_NO_STACK;
	uint64_t duration = is_wait ? stack->weight : 0;
	char text[LINE_SIZE];

	when.time -= duration;
	snprintf(text, sizeof(text), SYSCAP_EVENT_MARK, tid, stack->weight);
	return syscap_put_mark(syscap, when, duration, event->name, mark_name(event, stack), text);
}

void syscap_event_frame(const struct events *events, uint32_t event, char *ret, size_t size)
{
	snprintf(ret, size, "[%s]", events->list[event].name);
}

void syscap_event_text(const struct event_info *event, char *ret, size_t size)
{
	snprintf(ret, size, "%s %s %s", wire_name_text(&wire_names_event_kind, event->kind),
		 wire_name_text(&wire_names_event_unit, event->unit), event->name);
}

static int add_line(struct syscap_notes *notes, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int add_line(struct syscap_notes *notes, const char *format, ...)
{
	va_list arguments;

	if (!notes->text)
		notes->text = malloc(SYSCAP_NOTES_SIZE + NOTE_SIZE);
	if (!notes->text)
		return -ENOMEM;
	va_start(arguments, format);
	notes->size += vsnprintf(notes->text + notes->size, NOTE_SIZE, format, arguments);
	va_end(arguments);
	return notes->size >= SYSCAP_NOTES_SIZE;
}

int syscap_note_thread_time(struct syscap_notes *notes, int32_t pid,
			    const struct wire_thread_time *record)
{
	return add_line(notes, SYSCAP_THREAD_TIME, record->time, pid, record->tid, record->on_cpu,
			record->off_cpu, record->n_waits);
}

int syscap_note_thread_name(struct syscap_notes *notes, struct syscap_time when, int32_t tid,
			    const char *name)
{
	char text[LINE_SIZE];

	return add_line(notes, SYSCAP_THREAD_NAME, when.time, when.pid, tid,
			text_clean_string(name, text, sizeof(text)));
}

int syscap_note_cgroup(struct syscap_notes *notes, int32_t pid, const char *path)
{
	char text[CGROUP_PATH_MAX];

	return add_line(notes, SYSCAP_CGROUP, pid, text_clean_string(path, text, sizeof(text)));
}
