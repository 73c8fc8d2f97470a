/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "profile/threads.h"

static int by_samples(const void *a, const void *b)
{
	const struct profile_thread_samples *left = a, *right = b;

	if (left->n != right->n)
		return left->n > right->n ? -1 : 1;
	return left->thread < right->thread ? -1 : left->thread > right->thread;
}

/* Counts the samples of each thread and divides `samples` among the threads. */
static void divide(struct profile_threads *threads, const struct profile *profile, struct view view)
{
	uint32_t *at = threads->samples;

	threads->n = profile->n_threads;
	for (size_t i = 0; i < profile->n_samples; i++)
		if (profile_amount(profile, view, &profile->samples[i]))
			threads->list[profile->samples[i].thread].n++;
	for (size_t i = 0; i < threads->n; i++) {
		struct profile_thread_samples *thread = &threads->list[i];

		thread->thread = i;
		thread->list = at;
		at += thread->n;
		thread->n = 0;
	}
}

int profile_threads_init(struct profile_threads *threads, const struct profile *profile,
			 struct view view)
{
	*threads = (struct profile_threads){
		.list = calloc(profile->n_threads + 1, sizeof(*threads->list)),
		.samples = calloc(profile->n_samples + 1, sizeof(*threads->samples)),
	};
	if (!threads->list || !threads->samples) {
		profile_threads_deinit(threads);
		return -ENOMEM;
	}
	divide(threads, profile, view);
	for (size_t i = 0; i < profile->n_samples; i++) {
		struct profile_thread_samples *thread = &threads->list[profile->samples[i].thread];

		if (profile_amount(profile, view, &profile->samples[i]))
			threads->samples[thread->list + thread->n++ - threads->samples] = i;
	}
	qsort(threads->list, threads->n, sizeof(*threads->list), by_samples);
	return 0;
}

void profile_threads_deinit(struct profile_threads *threads)
{
	free(threads->list);
	free(threads->samples);
	*threads = (struct profile_threads){ 0 };
}
