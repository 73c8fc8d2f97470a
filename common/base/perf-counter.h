/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hardware and kernel counters by the names that perf and stackpipe use. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct perf_counter {
	const char *name;
	uint32_t type; /* as in struct perf_event_attr */
	uint64_t config;
};

/* NULL: there is no such counter, or it is not in our table. */
const struct perf_counter *perf_counter_find(const char *name);
const struct perf_counter *perf_counter_of(uint32_t type, uint64_t config);

/* Whether the event's samples have nanoseconds as weight. */
bool perf_counter_is_clock(uint32_t type, uint64_t config);

/* The same by name alone, which perf's modifiers may follow, as in ":u" or "/call-graph=no/". */
bool perf_counter_name_is_clock(const char *name);
