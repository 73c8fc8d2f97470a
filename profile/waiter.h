/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who waits: of a wait's stack, the call that means something to the people who read it. */
#pragma once

#include "profile/profile.h"

/*
 * Of a wait in the kernel: the node of the function that has called it, as how the kernel goes
 * about a wait says nothing; and not where all calls of the C library that can be cancelled go
 * through, but which of them it is. Of a thread of the kernel, what has called the scheduler.
 */
uint32_t profile_waiter(const struct profile *profile, uint32_t node);
