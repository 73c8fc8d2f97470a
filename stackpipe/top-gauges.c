/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "stackpipe/top-gauges.h"

/* What is shown; of perf-source's instruments. */
static const struct {
	const char *category, *name, *format;
	double unit; /* of the value that is shown */
} shown[TOP_GAUGES] = {
	{ "CPU Percent", "Combined", "CPU %.0f %%", 1 },
	{ "Memory", "Used", "memory %.1f GiB", 1024.0 * 1024 * 1024 },
	{ "Scheduler", "Context Switches", "%.0f switches/s", 1 },
	{ "Pressure", "CPU (some)", "CPU pressure %.0f %%", 1 },
	{ "Pressure", "I/O (some)", "I/O pressure %.0f %%", 1 },
};

void top_gauges_add(struct top_gauges *gauges, const struct wire_counter *counter)
{
	for (size_t i = 0; i < TOP_GAUGES; i++) {
		if (strcmp(counter->category.data, shown[i].category) ||
		    strcmp(counter->name.data, shown[i].name))
			continue;
		gauges->list[i].number = counter->number;
		gauges->list[i].divisor = counter->divisor ? counter->divisor : 1;
	}
}

void top_gauges_set(struct top_gauges *gauges, const struct wire_counter_values *values)
{
	for (size_t i = 0; i < TOP_GAUGES; i++) {
		struct top_gauge *gauge = &gauges->list[i];

		for (size_t k = 0; gauge->number && k < values->values.n; k++) {
			if (values->values.data[k].counter != gauge->number)
				continue;
			gauge->value = values->values.data[k].value;
			gauge->has_value = true;
		}
	}
}

void top_gauges_text(const struct top_gauges *gauges, size_t i, char ret[TOP_GAUGE_TEXT])
{
	const struct top_gauge *gauge = &gauges->list[i];

	*ret = 0;
	if (gauge->has_value)
		snprintf(ret, TOP_GAUGE_TEXT, shown[i].format,
			 (double)gauge->value / gauge->divisor / shown[i].unit);
}
