/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CPUs that go and come while recording (hotplug, suspend to RAM): the kernel closes events of a
 * CPU that goes offline, and does not open them again. What a CPU has done from when it came back
 * until its events were open again is told as lost.
 */
#pragma once

#include "common/stage/stage.h"

struct perf_source;

struct hotplug {
	uint64_t looked_at;
	uint64_t *offline_since; /* by CPU of the recording; 0: it is online */
};

/* 0 or -ENOMEM. */
int hotplug_init(struct hotplug *hotplug, const struct perf_source *self);
void hotplug_deinit(struct hotplug *hotplug);

/* Looks now and then, where events are those of CPUs: 0 or -errno. */
int hotplug_follow(struct perf_source *self, struct stage *stage);
