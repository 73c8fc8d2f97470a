/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the machine does by now, for the head of the live view: a few of a stream's counters, those
 * of all CPUs, disks and networks together. */
#pragma once

#include <stddef.h>

#include "common/wire/wire.h"

enum { TOP_GAUGES = 8, TOP_GAUGE_COUNTERS_MAX = 4096, TOP_GAUGE_TEXT = 64 };

/* A counter of the stream that a gauge is made of. */
struct top_counter {
	uint32_t number, divisor;
	size_t gauge;
	uint64_t value;
	bool has_value;
};

struct top_gauges {
	struct top_counter *list;
	size_t n;
};

/* 0 or -ENOMEM. One that no gauge is made of, or that is beyond the limit, is not taken in. */
int top_gauges_add(struct top_gauges *gauges, const struct wire_counter *counter);
void top_gauges_set(struct top_gauges *gauges, const struct wire_counter_values *values);
void top_gauges_deinit(struct top_gauges *gauges);

/* "CPU 93 %"; empty: it is not known. */
void top_gauges_text(const struct top_gauges *gauges, size_t i, char ret[TOP_GAUGE_TEXT]);
