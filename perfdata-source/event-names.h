/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of events: perf's, or made from the attributes where the file has none. */
#pragma once

#include <linux/perf_event.h>
#include <stdint.h>

enum { EVENT_NAME_SIZE = 65 };

/* Makes perf's name of an event: "cycles:u". Events that only a PMU defines get numbers. */
void event_name_make(const struct perf_event_attr *attr, char ret[EVENT_NAME_SIZE]);

/*
 * Returns which of a CPU's several PMUs an event is of; 0: there is only one. The kernel has the
 * PMU in the upper half of `config` (PERF_PMU_TYPE_SHIFT of linux/perf_event.h), or as the type;
 * perf puts its name first: "cpu_core/…/".
 */
uint32_t event_pmu(uint32_t type, uint64_t config, const char *name);

/* Turns "cpu_atom/cycles/u" into "cycles:u"; copies any other name. */
void event_name_without_pmu(const char *name, char ret[EVENT_NAME_SIZE]);
