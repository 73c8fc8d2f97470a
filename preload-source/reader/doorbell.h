/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How traced programs wake us without a descriptor: a thread of ours sleeps on a word in shared
 * memory (futex(2)) and writes to an eventfd for poll(2).
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "preload-source/reader/shared-memory.h"

struct doorbell {
	struct shared_memory memory;
	int fd; /* eventfd, readable after a ring */
	pthread_t thread;
	bool has_thread, must_end;
};

/* Makes the shared memory; starts the thread. 0 or -errno. */
int doorbell_make(struct doorbell *doorbell);
int doorbell_hang(struct doorbell *doorbell);
void doorbell_deinit(struct doorbell *doorbell);

/* Enables the doorbell for one ring. */
void doorbell_listen(struct doorbell *doorbell);
