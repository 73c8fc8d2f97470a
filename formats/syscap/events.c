/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>

#include "formats/syscap/events.h"

enum { LINE_SIZE = 128 };

/* The name of a stack's mark. */
static const char *mark_name(const struct event_info *event, const struct wire_stack *stack)
{
	if (event->kind != WIRE_event_kind_OFF_CPU)
		return SYSCAP_OCCURRED;
	if (stack->end == WIRE_stack_end_SHORT_WAITS || stack->end == WIRE_stack_end_NO_STACK)
		return wire_name_text(&wire_names_stack_end, stack->end);
	if (stack->flags & WIRE_sample_flags_SAMPLED)
		return stack->flags & WIRE_sample_flags_PREEMPTED ? SYSCAP_SAMPLED_PREEMPTED
								  : SYSCAP_SAMPLED;
	return stack->flags & WIRE_sample_flags_PREEMPTED ? SYSCAP_PREEMPTED : SYSCAP_WAITED;
}

int syscap_put_event_mark(struct syscap *syscap, struct syscap_time when, int32_t tid,
			  struct syscap_thread waker, const struct events *events,
			  const struct wire_stack *stack)
{
	const struct event_info *event = &events->list[stack->event];
	bool is_one_wait = event->kind == WIRE_event_kind_OFF_CPU &&
			   stack->end != WIRE_stack_end_SHORT_WAITS &&
			   stack->end != WIRE_stack_end_NO_STACK &&
			   !(stack->flags & WIRE_sample_flags_SAMPLED);
	uint64_t duration = is_one_wait ? stack->weight : 0;
	char text[LINE_SIZE];
	int n;

	when.time -= duration;
	n = snprintf(text, sizeof(text), SYSCAP_EVENT_MARK, tid, stack->weight);
	if (waker.tid)
		snprintf(text + n, sizeof(text) - n, SYSCAP_EVENT_WAKER, waker.tid, waker.pid);
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
