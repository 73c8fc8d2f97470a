/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What traced programs wake us with: a word in shared memory, on which a thread of ours sleeps
 * (futex(2)), and an eventfd that it writes to, for poll(2). Programs need no descriptor for that.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "preload-source/reader/shared-memory.h"

struct doorbell {
	struct shared_memory memory;
	int fd; /* readable when it has rung */
	pthread_t thread;
	bool has_thread, must_end;
};

/* What others can ring, and the thread that listens. 0 or -errno. */
int doorbell_make(struct doorbell *doorbell);
int doorbell_hang(struct doorbell *doorbell);
void doorbell_deinit(struct doorbell *doorbell);

/* It is heard from here on, until it has rung once. */
void doorbell_listen(struct doorbell *doorbell);
