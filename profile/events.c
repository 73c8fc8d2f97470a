/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "common/base/perf-counter.h"
#include "common/base/text.h"
#include "profile/events.h"

/* Names of views that do not depend on an event's name. */
static const char samples_view[] = "samples", wall_view[] = "wall-clock", on_view[] = "on-cpu",
		  off_view[] = "off-cpu";

void events_init(struct events *events, const struct wire_hello *hello)
{
	struct event_info *first = &events->list[0];

	*events = (struct events){ .n = 1 };
	first->kind = WIRE_event_kind_ON_CPU;
	/* Streams and captures of a single event give its name only, not its unit. */
	first->unit = perf_counter_name_is_clock(hello->event) ? WIRE_event_unit_NANOSECONDS
							       : WIRE_event_unit_EVENTS;
	text_clean(hello->event, strnlen(hello->event, sizeof(hello->event)), first->name,
		   sizeof(first->name));
}

static bool is_wait(const struct event_info *event)
{
	return event->kind == WIRE_event_kind_OFF_CPU;
}

static bool is_of_another_view(const char *name)
{
	static const char *const others[] = { samples_view, wall_view, on_view, off_view };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(name, others[i]))
			return true;
	return false;
}

static bool is_taken(const struct events *events, const struct event_info *whose, const char *name)
{
	for (const struct event_info *event = events->list; event < events->list + events->n;
	     event++)
		if (event != whose && !strcmp(event->name, name))
			return true;
	return is_of_another_view(name);
}

/* Views are selected by name, so names are unique: the second event of a name becomes "name#2". */
static void make_unique(const struct events *events, struct event_info *event)
{
	char name[EVENT_NAME_SIZE];

	memcpy(name, event->name, sizeof(name));
	for (unsigned i = 2; is_taken(events, event, event->name); i++) {
		int size = snprintf(NULL, 0, "#%u", i);

		snprintf(event->name, sizeof(event->name), "%.*s#%u", (int)sizeof(name) - 1 - size,
			 name, i);
	}
}

void events_add(struct events *events, const struct wire_event *event)
{
	struct event_info *info;

	if (event->number >= EVENTS_MAX)
		return;
	if (events->n <= event->number)
		events->n = event->number + 1;
	info = &events->list[event->number];
	*info = (struct event_info){ .kind = event->kind, .unit = event->unit };
	text_clean(event->name.data, event->name.size, info->name, sizeof(info->name));
	if (!is_wait(info))
		make_unique(events, info);
}

enum wire_event_kind events_kind(const struct events *events, uint32_t number)
{
	return number < events->n ? events->list[number].kind : 0;
}

bool events_is_wait(const struct events *events, uint32_t number)
{
	return events_kind(events, number) == WIRE_event_kind_OFF_CPU;
}

bool events_is_wakeup(const struct events *events, uint32_t number)
{
	return events_kind(events, number) == WIRE_event_kind_WAKEUP;
}

/* Waits and wake-ups may weigh nanoseconds too, but are not time on a CPU. */
static bool is_clock(const struct event_info *event)
{
	return event->kind == WIRE_event_kind_ON_CPU && event_is_time(event);
}

/* The first on-CPU clock: two clocks would count time twice. The number of events if none is. */
static uint32_t find_clock(const struct events *events)
{
	uint32_t i = 0;

	while (i < events->n && !is_clock(&events->list[i]))
		i++;
	return i;
}

bool event_is_clock(const struct events *events, uint32_t number)
{
	return number < events->n && number == find_clock(events);
}

bool events_have_waits(const struct events *events)
{
	for (size_t i = 0; i < events->n; i++)
		if (is_wait(&events->list[i]))
			return true;
	return false;
}

bool event_is_time(const struct event_info *event)
{
	return event->unit == WIRE_event_unit_NANOSECONDS;
}

size_t events_views(const struct events *events, struct view ret[VIEWS_MAX])
{
	uint32_t clock = find_clock(events);
	size_t n = 0;

	ret[n++] = (struct view){ VIEW_SAMPLES, 0 };
	for (uint32_t i = 0; i < events->n; i++)
		ret[n++] = (struct view){ VIEW_WEIGHTS, i };
	if (events_have_waits(events) && clock < events->n)
		ret[n++] = (struct view){ VIEW_WALL, clock };
	return n;
}

const char *view_name(const struct events *events, struct view view)
{
	const struct event_info *event = &events->list[view.event];

	if (view.kind == VIEW_SAMPLES)
		return samples_view;
	if (view.kind == VIEW_WALL)
		return wall_view;
	if (is_wait(event))
		return off_view;
	return view.event == find_clock(events) && events_have_waits(events) ? on_view
									     : event->name;
}

bool view_is_time(const struct events *events, struct view view)
{
	if (view.kind == VIEW_SAMPLES)
		return false;
	return view.kind == VIEW_WALL || event_is_time(&events->list[view.event]);
}

bool view_has_waits(const struct events *events, struct view view)
{
	return view_is_waits(events, view) || (view.kind == VIEW_WALL && events_have_waits(events));
}

bool view_is_waits(const struct events *events, struct view view)
{
	return view.kind == VIEW_WEIGHTS && is_wait(&events->list[view.event]);
}

bool view_find(const struct events *events, const char *name, struct view *ret)
{
	struct view views[VIEWS_MAX];
	size_t n = events_views(events, views);

	for (size_t i = 0; i < n; i++) {
		bool is_event = views[i].kind == VIEW_WEIGHTS &&
				!strcmp(name, events->list[views[i].event].name);

		if (!is_event && strcmp(name, view_name(events, views[i])))
			continue;
		*ret = views[i];
		return true;
	}
	return false;
}

void events_view_names(const struct events *events, char ret[EVENTS_VIEW_NAMES])
{
	struct view views[VIEWS_MAX];
	size_t n = events_views(events, views), used = 0;

	*ret = 0;
	for (size_t i = 0; i < n && used < EVENTS_VIEW_NAMES; i++)
		used += snprintf(ret + used, EVENTS_VIEW_NAMES - used, "%s%s", i ? ", " : "",
				 view_name(events, views[i]));
}
