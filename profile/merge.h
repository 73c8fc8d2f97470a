/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Room for the samples of a profile: those of the same thread, event and stack become one, first of
 * times that are close, then of whatever times. (What a wait is of then is no time in one piece: it
 * is flagged as `sampled`.) Where that is not enough, what is rare loses its stack.
 */
#pragma once

#include "profile/profile.h"

/* Leaves room for at least as many samples as there are then. They stay in the order of time. */
void profile_merge(struct profile *profile, uint32_t crowd);
