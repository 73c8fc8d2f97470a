/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/growing-list.h"
#include "stackpipe/top-gauges.h"

enum together { TOGETHER_SUM, TOGETHER_MEAN };

#define GIB (1024.0 * 1024 * 1024)
#define MIB (1024.0 * 1024)

/* What is shown; of perf-source's instruments those whose names begin so. */
static const struct {
	const char *category, *name, *format;
	double unit; /* of the value that is shown */
	enum together together;
} shown[TOP_GAUGES] = {
	{ "CPU Percent", "Combined", "CPU %.0f %%", 1, TOGETHER_SUM },
	{ "CPU Frequency", "CPU ", "%.2f GHz", 1000, TOGETHER_MEAN },
	{ "Memory", "Used", "memory %.1f GiB", GIB, TOGETHER_SUM },
	{ "Scheduler", "Context Switches", "%.0f switches/s", 1, TOGETHER_SUM },
	{ "Disk", "", "disk %.1f MiB/s", MIB, TOGETHER_SUM },
	{ "Network", "", "network %.1f MiB/s", MIB, TOGETHER_SUM },
	{ "Pressure", "CPU (some)", "CPU pressure %.0f %%", 1, TOGETHER_SUM },
	{ "Pressure", "I/O (some)", "I/O pressure %.0f %%", 1, TOGETHER_SUM },
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
	if (GROWING_LIST_MAKE_ROOM(gauges->list, gauges->n) < 0)
		return -ENOMEM;
	gauges->list[gauges->n++] = (struct top_counter){
		.number = counter->number,
		.divisor = counter->divisor ? counter->divisor : 1,
		.gauge = gauge,
	};
	return 0;
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
	double value = 0;
	size_t n = 0;

	for (size_t k = 0; k < gauges->n; k++) {
		const struct top_counter *counter = &gauges->list[k];

		if (counter->gauge != i || !counter->has_value)
			continue;
		value += (double)counter->value / counter->divisor;
		n++;
	}
	*ret = 0;
	if (n)
		snprintf(ret, TOP_GAUGE_TEXT, shown[i].format,
			 value / shown[i].unit / (shown[i].together == TOGETHER_MEAN ? n : 1));
}
