/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The events of a recording and their views: what can be counted. Samples of different events are
 * never added up, except time: on-CPU and off-CPU time together are wall-clock time.
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
	VIEW_SAMPLES, /* each sample counts 1 */
	VIEW_WEIGHTS, /* nanoseconds, or the event's other unit */
	VIEW_WALL,    /* nanoseconds, on the CPU and off it */
};

/* A view of one event; VIEW_WALL: of that clock and all waits. All zero: samples of event 0. */
struct view {
	enum view_kind kind;
	uint32_t event;
};

/* Sets event 0 as `hello` names it; events_add() may replace it. */
void events_init(struct events *events, const struct wire_hello *hello);

/*
 * Adds or replaces an event; ignores a number beyond EVENTS_MAX. A name that another event or a
 * view of another kind already has gets a suffix: "cpu-clock#2".
 */
void events_add(struct events *events, const struct wire_event *event);

/* Whether any event is a wait. */
bool events_have_waits(const struct events *events);

/* The kind of an event; 0: there is no event with that number. */
enum wire_event_kind events_kind(const struct events *events, uint32_t number);

bool events_is_wait(const struct events *events, uint32_t number);

/* Whether the samples are wake-ups: ends of other threads' waits. */
bool events_is_wakeup(const struct events *events, uint32_t number);

/* Whether the event is the clock of on-CPU time: the first one, if there are several. */
bool event_is_clock(const struct events *events, uint32_t number);

/* Whether the samples of an event weigh nanoseconds. */
bool event_is_time(const struct event_info *event);

/* Fills in all views of these events and returns their number. */
size_t events_views(const struct events *events, struct view ret[VIEWS_MAX]);

/* The names of all views, separated by commas; names that do not fit are cut off. */
void events_view_names(const struct events *events, char ret[EVENTS_VIEW_NAMES]);

/* The name of a view: "samples", "on-cpu", "off-cpu", "wall-clock", or an event's name. */
const char *view_name(const struct events *events, struct view view);

/* Whether the view's amounts are nanoseconds. */
bool view_is_time(const struct events *events, struct view view);

/* Whether the view includes waits. */
bool view_has_waits(const struct events *events, struct view view);

/* Whether the view consists of waits only. */
bool view_is_waits(const struct events *events, struct view view);

/* false: no view has that name. */
bool view_find(const struct events *events, const char *name, struct view *ret);

/* The amount that samples of an event with this weight add to a view; 0: they are not in it. */
static inline uint64_t view_amount(const struct events *events, struct view view, uint32_t event,
				   uint64_t n_samples, uint64_t weight)
{
	if (view.kind == VIEW_WALL && events_is_wait(events, event))
		return weight;
	if (event != view.event)
		return 0;
	return view.kind == VIEW_SAMPLES ? n_samples : weight;
}
