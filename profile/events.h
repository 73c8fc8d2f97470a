/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The events that a recording has samples of, and what they can be counted in: a view. Samples of
 * different events are never added up, but for time: on the CPU and away from it together is
 * wall-clock time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/wire/wire.h"

enum {
	EVENTS_MAX = WIRE_EVENTS_MAX,
	EVENT_NAME_SIZE = 65,
	VIEWS_MAX = EVENTS_MAX + 2,
	EVENTS_VIEW_NAMES = 256,
};

struct event_info {
	enum wire_event_kind kind;
	enum wire_event_unit unit;
	char name[EVENT_NAME_SIZE];
};

struct events {
	struct event_info list[EVENTS_MAX]; /* by number */
	size_t n;
};

enum view_kind {
	VIEW_SAMPLES, /* each counts 1 */
	VIEW_WEIGHTS, /* nanoseconds, or what else the event counts */
	VIEW_WALL,    /* nanoseconds, whether on the CPU or not */
};

/* Of one event, or with VIEW_WALL of that clock and of all waits. All zero: the first's samples. */
struct view {
	enum view_kind kind;
	uint32_t event;
};

/* The one event that `hello` names, until others are told. */
void events_init(struct events *events, const struct wire_hello *hello);

/*
 * An event that is beyond the limit is not taken in. One that is called like another, or like a
 * view that is not its own, gets a name of its own: "cpu-clock#2".
 */
void events_add(struct events *events, const struct wire_event *event);

/* Whether there are waits among the samples. */
bool events_have_waits(const struct events *events);

/* What the samples of an event are of; by its number, which may be that of none: 0. */
enum wire_event_kind events_kind(const struct events *events, uint32_t number);

/* Whether they are waits. */
bool events_is_wait(const struct events *events, uint32_t number);

/* Whether they are ends of others' waits. */
bool events_is_wakeup(const struct events *events, uint32_t number);

/* Whether its samples are the time on a CPU; of two clocks one. */
bool event_is_clock(const struct events *events, uint32_t number);

/* Whether the samples of an event weigh nanoseconds. */
bool event_is_time(const struct event_info *event);

/* All views that there are of these events: how many. */
size_t events_views(const struct events *events, struct view ret[VIEWS_MAX]);

/* All of their names, with commas; what finds no room is left out. */
void events_view_names(const struct events *events, char ret[EVENTS_VIEW_NAMES]);

/* What a view is called: "samples", "on-cpu", "off-cpu", "wall-clock", or an event's name. */
const char *view_name(const struct events *events, struct view view);

/* Whether its amounts are nanoseconds. */
bool view_is_time(const struct events *events, struct view view);

/* Whether there are waits in it. */
bool view_has_waits(const struct events *events, struct view view);

/* Whether it is waits alone. */
bool view_is_waits(const struct events *events, struct view view);

/* false: there is no view of that name. */
bool view_find(const struct events *events, const char *name, struct view *ret);

/* What samples of an event, which weigh so much, are in a view; 0: they are not in it. */
static inline uint64_t view_amount(const struct events *events, struct view view, uint32_t event,
				   uint64_t n_samples, uint64_t weight)
{
	if (view.kind == VIEW_WALL && events_is_wait(events, event))
		return weight;
	if (event != view.event)
		return 0;
	return view.kind == VIEW_SAMPLES ? n_samples : weight;
}
