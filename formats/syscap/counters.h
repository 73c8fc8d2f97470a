/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The counters of a Sysprof capture: two of stackpipe, followed by those of the machine. */
#pragma once

#include "common/wire/wire.h"
#include "formats/syscap/frames.h"

enum { SYSCAP_MACHINE_COUNTERS_MAX = 1024 };

struct syscap_counters {
	struct syscap *syscap; /* borrowed */
	uint64_t time;	       /* of the last values of stackpipe's counters */
	uint64_t n_lost, n_incomplete;
	uint32_t divisors[SYSCAP_MACHINE_COUNTERS_MAX + 1]; /* by number; 0: not defined */
};

/* All of these return 0 or -errno of the output. */
int syscap_counters_begin(struct syscap_counters *counters, uint64_t time);
/* Writes the values of stackpipe's counters. */
int syscap_counters_put(struct syscap_counters *counters, uint64_t time);
/* Defines a counter of the machine; one beyond the limit is left out. */
int syscap_counters_add(struct syscap_counters *counters, const struct wire_counter *record,
			uint64_t time);
int syscap_counters_add_values(struct syscap_counters *counters,
			       const struct wire_counter_values *record);
