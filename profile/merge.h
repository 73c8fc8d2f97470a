/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes room for samples of a profile. Samples of one thread, event and stack become one: first
 * those close in time, then all. (The merged time of waits is not contiguous: they are flagged
 * `sampled`.) If that is not enough, rare samples lose their stacks.
 */
#pragma once

#include "profile/profile.h"

/* Merges samples until at most half of the limit is left. They stay ordered by time. */
void profile_merge(struct profile *profile, uint32_t crowd);
