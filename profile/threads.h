/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The samples of each thread in a view, in order of time; threads with the most samples first. */
#pragma once

#include "profile/profile.h"

struct profile_thread_samples {
	uint32_t thread;
	size_t n;
	const uint32_t *list; /* indices of the profile's samples */
};

struct profile_threads {
	struct profile_thread_samples *list;
	size_t n;
	uint32_t *samples; /* of all threads */
};

/* 0 or -ENOMEM */
int profile_threads_init(struct profile_threads *threads, const struct profile *profile,
			 struct view view);
void profile_threads_deinit(struct profile_threads *threads);
