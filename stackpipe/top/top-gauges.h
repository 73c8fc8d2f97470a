/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Machine-wide gauges in the live view's head, made of a few of the stream's counters. */
#pragma once

#include <stddef.h>

#include "common/wire/wire.h"

enum { TOP_GAUGES = 8, TOP_GAUGE_COUNTERS_MAX = 4096, TOP_GAUGE_TEXT = 64 };

/* A counter of the stream that contributes to a gauge. */
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

/* Ignores a counter that no gauge shows, or beyond the limit. 0 or -ENOMEM. */
int top_gauges_add(struct top_gauges *gauges, const struct wire_counter *counter);
void top_gauges_set(struct top_gauges *gauges, const struct wire_counter_values *values);
void top_gauges_deinit(struct top_gauges *gauges);

/* E.g. "CPU 93 %"; empty if no value is known. */
void top_gauges_text(const struct top_gauges *gauges, size_t i, char ret[TOP_GAUGE_TEXT]);
