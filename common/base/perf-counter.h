/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counters of the hardware and of the kernel, by the names that perf and we give them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct perf_counter {
	const char *name;
	uint32_t type; /* struct perf_event_attr */
	uint64_t config;
};

/* NULL: there is none, or it is not known here. */
const struct perf_counter *perf_counter_find(const char *name);
const struct perf_counter *perf_counter_of(uint32_t type, uint64_t config);

/* Whether samples of it weigh nanoseconds. */
bool perf_counter_is_clock(uint32_t type, uint64_t config);

/*
 * The same of an event of which only the name is known; what perf was told of it, as in ":u" or
 * "/call-graph=no/", may follow.
 */
bool perf_counter_name_is_clock(const char *name);
