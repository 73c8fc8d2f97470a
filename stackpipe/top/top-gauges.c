/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/growing-list.h"
#include "stackpipe/top/top-gauges.h"

/* The same bytes may pass several stacked disks or networks, so a sum would count them twice. */
enum together { TOGETHER_MEAN, TOGETHER_MOST };

#define GIB (1024.0 * 1024 * 1024)
#define MIB (1024.0 * 1024)

/* The gauges. Counters of perf-source match by category and by prefix of their name. */
static const struct {
	const char *category, *name, *format;
	double unit; /* divides the value for display */
	enum together together;
} shown[TOP_GAUGES] = {
	{ "CPU Percent", "Combined", "CPU %.0f %%", 1, TOGETHER_MEAN },
	{ "CPU Frequency", "CPU ", "%.2f GHz", 1000, TOGETHER_MEAN },
	{ "Memory", "Used", "memory %.1f GiB", GIB, TOGETHER_MEAN },
	{ "Scheduler", "Context Switches", "%.0f switches/s", 1, TOGETHER_MEAN },
	{ "Disk", "", "busiest disk %.1f MiB/s", MIB, TOGETHER_MOST },
	{ "Network", "", "busiest network %.1f MiB/s", MIB, TOGETHER_MOST },
	{ "Pressure", "CPU (some)", "CPU pressure %.0f %%", 1, TOGETHER_MEAN },
	{ "Pressure", "I/O (some)", "I/O pressure %.0f %%", 1, TOGETHER_MEAN },
};

static bool begins(struct wire_string string, const char *prefix)
{
	size_t n = strlen(prefix);

	return string.size >= n && !memcmp(string.data, prefix, n);
}

static int add(struct top_gauges *gauges, size_t gauge, const struct wire_counter *counter)
{
	if (gauges->n == TOP_GAUGE_COUNTERS_MAX)
		return 0;
	return GROWING_LIST_ADD(gauges->list, gauges->n,
				(struct top_counter){
					.number = counter->number,
					.divisor = counter->divisor ? counter->divisor : 1,
					.gauge = gauge,
				});
}

int top_gauges_add(struct top_gauges *gauges, const struct wire_counter *counter)
{
	for (size_t i = 0; i < TOP_GAUGES; i++)
		if (counter->category.size == strlen(shown[i].category) &&
		    begins(counter->category, shown[i].category) &&
		    begins(counter->name, shown[i].name))
			return add(gauges, i, counter);
	return 0;
}

void top_gauges_deinit(struct top_gauges *gauges)
{
	free(gauges->list);
	*gauges = (struct top_gauges){ 0 };
}

void top_gauges_set(struct top_gauges *gauges, const struct wire_counter_values *values)
{
	for (size_t i = 0; i < gauges->n; i++) {
		struct top_counter *counter = &gauges->list[i];

		for (size_t k = 0; k < values->values.n; k++) {
			if (values->values.data[k].counter != counter->number)
				continue;
			counter->value = values->values.data[k].value;
			counter->has_value = true;
		}
	}
}

void top_gauges_text(const struct top_gauges *gauges, size_t i, char ret[TOP_GAUGE_TEXT])
{
	double each, sum = 0, most = 0;
	size_t n = 0;

	for (size_t k = 0; k < gauges->n; k++) {
		const struct top_counter *counter = &gauges->list[k];

		if (counter->gauge != i || !counter->has_value)
			continue;
		each = (double)counter->value / counter->divisor;
		sum += each;
		most = each > most ? each : most;
		n++;
	}
	*ret = 0;
	if (!n)
		return;
	snprintf(ret, TOP_GAUGE_TEXT, shown[i].format,
		 (shown[i].together == TOGETHER_MOST ? most : sum / n) / shown[i].unit);
}
