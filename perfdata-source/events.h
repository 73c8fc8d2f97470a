/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The events of a file: their attributes, which of them a record belongs to, and which of them are
 * one for a person. perf opens an event on each PMU that has it (the kinds of cores of a CPU), with
 * attributes of their own: their samples are of one event of the stream.
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
	EVENT_NOT_SAMPLED = UINT32_MAX, /* a number: it is there for side-band alone */
};

struct event {
	struct layout layout;
	char name[EVENT_NAME_SIZE]; /* as perf tells it, or by what it counts */
	uint32_t pmu;		    /* of several that have the event; 0: there is one */
	uint32_t number;	    /* those that are one event have the same; from 0 on */
	uint32_t type;
	uint64_t config;
	uint64_t rate, period; /* what was asked for; 0: not known */
	uint32_t stack_size;
	bool is_inherited;
	bool is_clockid;
	int32_t clockid;
	bool has_registers;			 /* all that unwinding needs */
	uint8_t register_at[ARCH_REGISTERS_MAX]; /* of each of those in a sample */
};

struct perf_events {
	struct event list[EVENTS_MAX];
	size_t n;
	uint32_t n_numbers;
	struct pair_map by_id;	 /* (id, 0) → index in `list` */
	const struct arch *arch; /* of the machine that has recorded them */
};

void events_init(struct perf_events *events);
void events_deinit(struct perf_events *events);

/*
 * Adds an event whose perf_event_attr has `size` bytes, of any version of the kernel. `ids` are its
 * ids, of 8 bytes each. 0; DAMAGED; TOO_MANY_EVENTS; -ENOMEM.
 */
int events_add(struct perf_events *events, const void *attr, size_t size, const uint8_t *ids,
	       size_t n_ids);

/*
 * Takes the names from the feature HEADER_EVENT_DESC, which lists all events in their order
 * (tools/perf/util/header.c, write_event_desc). false: it is damaged, or is not of these events;
 * the names in front of that are taken.
 */
bool events_take_names(struct perf_events *events, const uint8_t *bytes, size_t size);

/* All events are there: numbers them, and finds the registers that an architecture needs. */
void events_settle(struct perf_events *events, const struct arch *arch);

/* The event that a record belongs to; NULL: it is not told. */
const struct event *events_of_record(const struct perf_events *events,
				     const struct perf_event_header *header);

/* The same of one of the values that a sample of a group holds. */
const struct event *events_of_id(const struct perf_events *events, uint64_t id);

/* The first one of that number; NULL: there is none. */
const struct event *events_first(const struct perf_events *events, uint32_t number);

/* What the stream calls an event that there is: perf's name, but for PMUs that have it in common.
 */
void events_title(const struct perf_events *events, uint32_t number, char ret[EVENT_NAME_SIZE]);

/* Whether its samples weigh nanoseconds. */
bool event_is_clock(const struct event *event);
