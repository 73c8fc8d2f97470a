/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The events of a file: their attributes, and which of them a record belongs to. */
#pragma once

#include "common/pair-map.h"
#include "perfdata-source/input.h"
#include "perfdata-source/layout.h"

enum {
	EVENTS_MAX = 1024,
	EVENT_IDS_MAX = 1 << 20,
};

struct event {
	struct layout layout;
	uint32_t type;
	uint64_t config;
	uint64_t rate, period; /* what was asked for; 0: not known */
	uint32_t stack_size;
	bool is_clockid;
	int32_t clockid;
};

struct events {
	struct event list[EVENTS_MAX];
	size_t n;
	struct pair_map by_id; /* (id, 0) → index in `list` */
};

void events_init(struct events *events);
void events_deinit(struct events *events);

/*
 * Adds an event whose perf_event_attr has `size` bytes, of any version of the kernel. `ids` are its
 * ids, of 8 bytes each. 0; DAMAGED; -ENOMEM.
 */
int events_add(struct events *events, const void *attr, size_t size, const uint8_t *ids,
	       size_t n_ids);

/* The event that a record belongs to; NULL: it is not told. */
const struct event *events_of_record(const struct events *events,
				     const struct perf_event_header *header);

/* The event whose samples are replayed: the first one that is not there for side-band alone. */
const struct event *events_main(const struct events *events);

/* Its name, as perf-source would have it; "event" if that is not known. */
const char *event_title(const struct event *event);
