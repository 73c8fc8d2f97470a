/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What threads have waited for, as far as the stack that they left with tells. */
#pragma once

#include "profile/profile.h"

struct wait_reasons {
	const struct profile *profile; /* borrowed */
	uint32_t *of_node;	       /* names; 0: not known */
	uint32_t preempted;	       /* a name */
};

/* Of a profile that is settled. 0 or -ENOMEM. */
int wait_reasons_init(struct wait_reasons *reasons, const struct profile *profile);
void wait_reasons_deinit(struct wait_reasons *reasons);

/*
 * A name: of the system call ("futex"), "page fault", "preempted", or why there is no stack of it;
 * 0: it is not known, or the sample is no wait.
 */
uint32_t wait_reason(const struct wait_reasons *reasons, const struct profile_sample *sample);

/* Who has ended a wait; NULL: it is not known. */
static inline const struct profile_thread *wait_waker(const struct profile *profile,
						      const struct profile_sample *sample)
{
	return sample->waker ? &profile->threads[sample->waker - 1] : NULL;
}
