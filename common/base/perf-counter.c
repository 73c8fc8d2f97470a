/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <linux/perf_event.h>
#include <string.h>

#include "common/base/perf-counter.h"

static const struct perf_counter counters[] = {
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
};

enum { N_COUNTERS = sizeof(counters) / sizeof(counters[0]) };

const struct perf_counter *perf_counter_find(const char *name)
{
	for (size_t i = 0; i < N_COUNTERS; i++)
		if (!strcmp(counters[i].name, name))
			return &counters[i];
	return NULL;
}

const struct perf_counter *perf_counter_of(uint32_t type, uint64_t config)
{
	for (size_t i = 0; i < N_COUNTERS; i++)
		if (counters[i].type == type && counters[i].config == config)
			return &counters[i];
	return NULL;
}

bool perf_counter_is_clock(uint32_t type, uint64_t config)
{
	return type == PERF_TYPE_SOFTWARE &&
	       (config == PERF_COUNT_SW_CPU_CLOCK || config == PERF_COUNT_SW_TASK_CLOCK);
}

bool perf_counter_name_is_clock(const char *name)
{
	size_t size = strcspn(name, ":/");

	for (size_t i = 0; i < N_COUNTERS; i++)
		if (perf_counter_is_clock(counters[i].type, counters[i].config) &&
		    strlen(counters[i].name) == size && !strncmp(counters[i].name, name, size))
			return true;
	return false;
}
