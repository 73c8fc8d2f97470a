/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread that waits for something other than the kernel's rings, until it is stopped. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct side_thread {
	pthread_t thread;
	int stop_fd; /* readable once the thread must stop; -1: not running */
};

/* Runs `run(arg)`, which must return soon after `stop_fd` becomes readable. 0 or -errno. */
int side_thread_start(struct side_thread *thread, void *(*run)(void *arg), void *arg);

/* Stops and joins the thread; does nothing if it is not running. */
void side_thread_stop(struct side_thread *thread);
