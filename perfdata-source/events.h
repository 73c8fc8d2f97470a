/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The events of a file: attributes, which event a record belongs to, and which events are one to
 * users. perf opens an event on each PMU that has it (kinds of CPU cores), with its own attributes;
 * their samples belong to one event of the stream.
 */
#pragma once

#include "common/arch/arch.h"
#include "common/base/pair-map.h"
#include "perfdata-source/event-names.h"
#include "perfdata-source/input.h"
#include "perfdata-source/layout.h"

enum {
	EVENTS_MAX = 1024,
	EVENT_IDS_MAX = 1 << 20,
	EVENT_NOT_SAMPLED = UINT32_MAX, /* `number` of an event that exists for side-band only */
};

struct event {
	struct layout layout;
	char name[EVENT_NAME_SIZE]; /* perf's, or made from the attributes */
	uint32_t pmu;		    /* the PMU, if several have the event; else 0 */
	uint32_t number;	    /* from 0; equal for events that are one event */
	uint32_t type;
	uint64_t config;
	uint64_t rate, period; /* as requested; 0: unknown */
	uint32_t stack_size;
	bool is_inherited;
	bool is_clockid;
	int32_t clockid;
	bool has_registers;			 /* all those that unwinding needs */
	uint8_t register_at[ARCH_REGISTERS_MAX]; /* index of each of those in a sample */
};

struct perf_events {
	struct event list[EVENTS_MAX];
	size_t n;
	uint32_t n_numbers;
	struct pair_map by_id;	 /* (id, 0) → index in `list` */
	const struct arch *arch; /* of the machine that recorded the file */
};

void events_init(struct perf_events *events);
void events_deinit(struct perf_events *events);

/*
 * Adds an event from a perf_event_attr of `size` bytes, of any kernel version, and its ids of 8
 * bytes each. 0; DAMAGED; TOO_MANY_EVENTS; -ENOMEM.
 */
int events_add(struct perf_events *events, const void *attr, size_t size, const uint8_t *ids,
	       size_t n_ids);

/*
 * Takes names from the feature HEADER_EVENT_DESC, which lists all events in order
 * (tools/perf/util/header.c, write_event_desc). false: it is damaged or of other events; names
 * before that are kept.
 */
bool events_take_names(struct perf_events *events, const uint8_t *bytes, size_t size);

/* Numbers the events, once all were added, and finds the registers that an architecture needs. */
void events_settle(struct perf_events *events, const struct arch *arch);

/* Returns the event of a record; NULL: unknown. */
const struct event *events_of_record(const struct perf_events *events,
				     const struct perf_event_header *header);

/* Returns the event of one value in a group's sample; NULL: unknown. */
const struct event *events_of_id(const struct perf_events *events, uint64_t id);

/* Returns the first event of that number; NULL: none. */
const struct event *events_first(const struct perf_events *events, uint32_t number);

/* Makes the stream's name of an existing event: perf's, without the PMU if several have it. */
void events_title(const struct perf_events *events, uint32_t number, char ret[EVENT_NAME_SIZE]);

/* Whether its samples weigh nanoseconds. */
bool event_is_clock(const struct event *event);
