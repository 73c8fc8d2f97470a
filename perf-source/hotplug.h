/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CPUs that go offline and online while recording (hotplug, suspend to RAM): the kernel closes the
 * events of an offline CPU, and does not open them again. What a CPU does between coming online and
 * the reopening of its events is reported as lost.
 */
#pragma once

#include "common/stage/stage.h"

struct perf_source;

struct hotplug {
	uint64_t looked_at;
	uint64_t *offline_since; /* by index of the CPU; 0: online */
};

/* 0 or -ENOMEM. */
int hotplug_init(struct hotplug *hotplug, const struct perf_source *self);
void hotplug_deinit(struct hotplug *hotplug);

/* Looks for changes every 100 ms if events are CPU-wide. 0 or -errno. */
int hotplug_follow(struct perf_source *self, struct stage *stage);
