/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the machine does by now, for the head of the live view: a few of a stream's counters. */
#pragma once

#include <stddef.h>

#include "common/wire.h"

enum { TOP_GAUGES = 5, TOP_GAUGE_TEXT = 64 };

struct top_gauge {
	uint32_t number, divisor; /* of the counter; 0: there is none */
	uint64_t value;
	bool has_value;
};

struct top_gauges {
	struct top_gauge list[TOP_GAUGES];
};

void top_gauges_add(struct top_gauges *gauges, const struct wire_counter *counter);
void top_gauges_set(struct top_gauges *gauges, const struct wire_counter_values *values);

/* "CPU 93 %"; empty: it is not known. */
void top_gauges_text(const struct top_gauges *gauges, size_t i, char ret[TOP_GAUGE_TEXT]);
