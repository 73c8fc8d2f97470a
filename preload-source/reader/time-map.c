/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "preload-source/reader/time-map.h"

/*
 * The kernel uses the TSC only if it has a constant rate and is the same on all CPUs, and drops it
 * when it finds otherwise (Documentation/virt/kvm/x86/timekeeping.rst).
 */
enum heap_clock time_map_best_clock(void)
{
	_cleanup_file_ FILE *file =
		fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
	char name[32] = "";

	if (file && fgets(name, sizeof(name), file) && !strcmp(name, "tsc\n"))
		return HEAP_CLOCK_TSC;
	return HEAP_CLOCK_MONOTONIC;
}
