/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What events are called: by perf, or where it does not tell, by what they count. */
#pragma once

#include <linux/perf_event.h>
#include <stdint.h>

enum { EVENT_NAME_SIZE = 65 };

/* The name that perf would give an event: "cycles:u". Of what only a PMU knows it says the numbers.
 */
void event_name_make(const struct perf_event_attr *attr, char ret[EVENT_NAME_SIZE]);

/*
 * Which of several PMUs of a CPU an event is of, 0: it has but one. The kernel takes its number in
 * the upper half of `config` (PERF_PMU_TYPE_SHIFT of linux/perf_event.h), or as the type; perf puts
 * the name of such a PMU in front: "cpu_core/…/".
 */
uint32_t event_pmu(uint32_t type, uint64_t config, const char *name);

/* "cpu_atom/cycles/u" as "cycles:u"; any other name as it is. */
void event_name_without_pmu(const char *name, char ret[EVENT_NAME_SIZE]);
