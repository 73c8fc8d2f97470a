/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread that waits for something else than the kernel's rings, until it is told to stop. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct side_thread {
	pthread_t thread;
	int stop_fd; /* readable once it is to stop; -1: it does not run */
};

/* Runs `run(arg)`, which ends soon after `stop_fd` has become readable. 0 or -errno. */
int side_thread_start(struct side_thread *thread, void *(*run)(void *arg), void *arg);

/* Waits for its end. Nothing, if it does not run. */
void side_thread_stop(struct side_thread *thread);
