/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>

#include "common/base/perf-counter.h"
#include "common/base/text.h"
#include "perfdata-source/event-names.h"
#include "perfdata-source/events.h"

enum { ATTR_LEAST = PERF_ATTR_SIZE_VER0 }; /* 64 bytes, of the first kernels with perf */

void events_init(struct perf_events *events)
{
	events->n = 0;
	events->n_numbers = 0;
	pair_map_init(&events->by_id, EVENT_IDS_MAX);
}

void events_deinit(struct perf_events *events)
{
	pair_map_deinit(&events->by_id);
}

/* Finds each register that unwinding needs in a sample; none may be missing. */
static void find_registers(struct event *event, const struct arch *arch)
{
	uint64_t mask = event->layout.register_mask;
	size_t n = 0;

	event->has_registers = (mask & arch->register_mask) == arch->register_mask;
	for (int bit = 0; bit < 64; bit++)
		if (arch->register_mask >> bit & 1)
			event->register_at[n++] = __builtin_popcountll(mask & ((1ULL << bit) - 1));
}

static int add_ids(struct perf_events *events, const uint8_t *ids, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		if (!pair_map_find(&events->by_id, layout_word(ids, i), 0))
			r = pair_map_add(&events->by_id, layout_word(ids, i), 0, events->n);
	return r == -ENOSPC ? PERFDATA_E_DAMAGED : r;
}

int events_add(struct perf_events *events, const void *attr_bytes, size_t size, const uint8_t *ids,
	       size_t n_ids)
{
	struct perf_event_attr attr = { 0 };
	struct event *event = &events->list[events->n];
	int r;

	if (size < ATTR_LEAST)
		return PERFDATA_E_DAMAGED;
	if (events->n == EVENTS_MAX)
		return PERFDATA_E_TOO_MANY_EVENTS;
	/* Fields that an older kernel lacks are 0; those of a newer one are not used here. */
	memcpy(&attr, attr_bytes, size < sizeof(attr) ? size : sizeof(attr));
	*event = (struct event){
		.layout = {
			.sample_type = attr.sample_type,
			.read_format = attr.read_format,
			.branch_type = attr.branch_sample_type,
			.register_mask = attr.sample_regs_user,
			.sample_id_all = attr.sample_id_all,
		},
		.type = attr.type,
		.config = attr.config,
		.rate = attr.freq ? attr.sample_freq : 0,
		.period = attr.freq ? 0 : attr.sample_period,
		.stack_size = attr.sample_stack_user,
		.is_inherited = attr.inherit,
		.is_clockid = attr.use_clockid,
		.clockid = attr.clockid,
	};
	event_name_make(&attr, event->name);
	r = add_ids(events, ids, n_ids);
	events->n += r == 0;
	return r;
}

/* The rest of the feature's bytes. */
struct description {
	const uint8_t *at;
	size_t size;
};

/* NULL: fewer bytes are left. */
static const uint8_t *take(struct description *description, uint64_t size)
{
	const uint8_t *at = description->at;

	if (size > description->size)
		return NULL;
	description->at += size;
	description->size -= size;
	return at;
}

static bool take_number(struct description *description, uint32_t *ret)
{
	const uint8_t *at = take(description, sizeof(*ret));

	if (at)
		memcpy(ret, at, sizeof(*ret));
	return at;
}

/* Whether an attr of `size` bytes matches the event. */
static bool is_of(const struct event *event, const uint8_t *attr, size_t size)
{
	uint32_t type;

	if (size < ATTR_LEAST)
		return false;
	memcpy(&type, attr, sizeof(type));
	return type == event->type && layout_word(attr, 1) == event->config;
}

/* Layout: attr, number of ids, size of the name, name padded with zeros, ids. */
static bool take_name(struct description *description, uint32_t attr_size, struct event *event)
{
	const uint8_t *attr = take(description, attr_size), *name;
	uint32_t n_ids, name_size;

	if (!attr || !is_of(event, attr, attr_size) || !take_number(description, &n_ids) ||
	    !take_number(description, &name_size))
		return false;
	name = take(description, name_size);
	if (!name || !take(description, n_ids * sizeof(uint64_t)))
		return false;
	name_size = strnlen((const char *)name, name_size);
	if (name_size)
		text_clean((const char *)name, name_size, event->name, sizeof(event->name));
	return true;
}

bool events_take_names(struct perf_events *events, const uint8_t *bytes, size_t size)
{
	struct description description = { bytes, size };
	uint32_t n, attr_size;

	if (!take_number(&description, &n) || !take_number(&description, &attr_size) ||
	    n != events->n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!take_name(&description, attr_size, &events->list[i]))
			return false;
	return true;
}

static bool is_dummy(const struct event *event)
{
	return event->type == PERF_TYPE_SOFTWARE && event->config == PERF_COUNT_SW_DUMMY;
}

/* Whether there are dummies only: then they are the file's events, without samples. */
static bool are_dummies_alone(const struct perf_events *events)
{
	for (size_t i = 0; i < events->n; i++)
		if (!is_dummy(&events->list[i]))
			return false;
	return true;
}

/* Whether both have the same name without the PMU; they may be on one PMU or two. */
static bool are_namesakes(const struct event *a, const struct event *b)
{
	char a_name[EVENT_NAME_SIZE], b_name[EVENT_NAME_SIZE];

	if (!a->pmu || !b->pmu)
		return false;
	event_name_without_pmu(a->name, a_name);
	event_name_without_pmu(b->name, b_name);
	return !strcmp(a_name, b_name);
}

/*
 * Finds the same event on another PMU, earlier in the list: the n-th namesake of one PMU belongs to
 * the n-th of another. NULL: this is the first one.
 */
static const struct event *find_same(const struct perf_events *events, const struct event *event)
{
	const struct event *list = events->list;
	size_t n_before = 0;
	uint32_t other_pmu = 0;

	for (const struct event *before = list; before < event; before++)
		n_before += before->pmu == event->pmu && are_namesakes(before, event);
	for (const struct event *before = list; before < event; before++) {
		if (before->pmu == event->pmu || !are_namesakes(before, event))
			continue;
		other_pmu = other_pmu ? other_pmu : before->pmu;
		if (before->pmu == other_pmu && n_before-- == 0)
			return before;
	}
	return NULL;
}

void events_settle(struct perf_events *events, const struct arch *arch)
{
	bool are_alone = are_dummies_alone(events);

	events->arch = arch;
	for (size_t i = 0; i < events->n; i++) {
		struct event *event = &events->list[i];
		const struct event *same;

		find_registers(event, arch);
		event->number = EVENT_NOT_SAMPLED;
		if (is_dummy(event) && !are_alone)
			continue;
		event->pmu = event_pmu(event->type, event->config, event->name);
		same = find_same(events, event);
		event->number = same ? same->number : events->n_numbers++;
	}
}

void events_title(const struct perf_events *events, uint32_t number, char ret[EVENT_NAME_SIZE])
{
	const struct event *first = events_first(events, number);
	size_t n = 0;

	for (size_t i = 0; i < events->n; i++)
		n += events->list[i].number == number;
	if (n > 1)
		event_name_without_pmu(first->name, ret);
	else
		strcpy(ret, first->name);
}

const struct event *events_of_id(const struct perf_events *events, uint64_t id)
{
	const uint64_t *index = pair_map_find(&events->by_id, id, 0);

	return index ? &events->list[*index] : NULL;
}

const struct event *events_of_record(const struct perf_events *events,
				     const struct perf_event_header *header)
{
	const struct event *first = &events->list[0], *event;
	uint64_t id;

	if (!events->n)
		return NULL;
	if (events->n == 1 || (header->type != PERF_RECORD_SAMPLE && !first->layout.sample_id_all))
		return first;
	if (!layout_find_id(first->layout.sample_type, header, &id))
		return NULL;
	event = events_of_id(events, id);
	/* Records synthesized by perf have id 0. */
	return event || id ? event : first;
}

const struct event *events_first(const struct perf_events *events, uint32_t number)
{
	for (size_t i = 0; i < events->n; i++)
		if (events->list[i].number == number)
			return &events->list[i];
	return NULL;
}

bool event_is_clock(const struct event *event)
{
	return perf_counter_is_clock(event->type, event->config);
}
