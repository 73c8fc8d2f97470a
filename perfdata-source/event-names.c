/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/perf-counter.h"
#include "perfdata-source/event-names.h"

enum { PMU_SHIFT = 32 }; /* PERF_PMU_TYPE_SHIFT; spelled out for older headers */

static const char pmu_prefix[] = "cpu_"; /* begins each PMU's name if a CPU has several */

/* Whether `config` also holds the number of a PMU. */
static bool has_pmu_in_config(uint32_t type)
{
	return type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE;
}

static const char *modifier(const struct perf_event_attr *attr)
{
	if (attr->exclude_kernel == attr->exclude_user)
		return "";
	return attr->exclude_kernel ? ":u" : ":k";
}

void event_name_make(const struct perf_event_attr *attr, char ret[EVENT_NAME_SIZE])
{
	uint64_t config = has_pmu_in_config(attr->type) ? (uint32_t)attr->config : attr->config;
	const struct perf_counter *counter = perf_counter_of(attr->type, config);

	if (counter)
		snprintf(ret, EVENT_NAME_SIZE, "%s%s", counter->name, modifier(attr));
	else
		snprintf(ret, EVENT_NAME_SIZE, "type-%" PRIu32 "/config=0x%" PRIx64 "/%s",
			 attr->type, config, modifier(attr) + (*modifier(attr) == ':'));
}

/* Returns the size of a name's prefix "cpu_core/"; 0: none. */
static size_t pmu_size(const char *name)
{
	size_t size = strcspn(name, "/");

	if (strncmp(name, pmu_prefix, strlen(pmu_prefix)) || !name[size] ||
	    !strchr(name + size + 1, '/'))
		return 0;
	return size + 1;
}

uint32_t event_pmu(uint32_t type, uint64_t config, const char *name)
{
	if (has_pmu_in_config(type))
		return config >> PMU_SHIFT;
	return pmu_size(name) ? type : 0;
}

void event_name_without_pmu(const char *name, char ret[EVENT_NAME_SIZE])
{
	const char *event = name + pmu_size(name), *end = strrchr(event, '/');

	if (event == name || end == event)
		snprintf(ret, EVENT_NAME_SIZE, "%s", name);
	else
		snprintf(ret, EVENT_NAME_SIZE, "%.*s%s%s", (int)(end - event), event,
			 end[1] ? ":" : "", end + 1);
}
