/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the function to which a wait is attributed: one that is meaningful to readers. */
#pragma once

#include "profile/profile.h"

/*
 * For a wait of user code: the node of the function that entered the kernel, without the kernel's
 * functions; for a cancellable call of the C library, the exported function instead of the common
 * wrapper. For a kernel thread: the caller of the scheduler.
 */
uint32_t profile_waiter(const struct profile *profile, uint32_t node);
