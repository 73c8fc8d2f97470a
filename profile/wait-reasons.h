/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What threads waited for, as far as the stack at the beginning of the wait shows. */
#pragma once

#include "profile/profile.h"

struct wait_reasons {
	const struct profile *profile;	 /* borrowed */
	uint32_t *of_node;		 /* names; 0: not known */
	uint32_t preempted, interpreter; /* names */
};

/* The profile must be settled. 0 or -ENOMEM. */
int wait_reasons_init(struct wait_reasons *reasons, const struct profile *profile);
void wait_reasons_deinit(struct wait_reasons *reasons);

/*
 * The reason's name: the system call ("futex"), "page fault", "preempted", "Python's GIL", or the
 * end reason of a stack without one. 0: not known, or the sample is not a wait.
 */
uint32_t wait_reason(const struct wait_reasons *reasons, const struct profile_sample *sample);

/* The thread that ended a wait; NULL: not known. */
static inline const struct profile_thread *wait_waker(const struct profile *profile,
						      const struct profile_sample *sample)
{
	return sample->waker ? &profile->threads[sample->waker - 1] : NULL;
}
