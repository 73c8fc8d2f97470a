/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What traced programs wake us with: a word in shared memory, on which a thread of ours sleeps
 * (futex(2)), and an eventfd that it writes to, for poll(2). Programs need no descriptor for that.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "preload-source/reader/shared-memory.h"

struct bell {
	struct shared_memory memory;
	int fd; /* readable when it has rung */
	pthread_t thread;
	bool has_thread, must_end;
};

/* What others can ring, and the thread that listens. 0 or -errno. */
int bell_make(struct bell *bell);
int bell_hang(struct bell *bell);
void bell_deinit(struct bell *bell);

/* It is heard from here on, until it has rung once. */
void bell_listen(struct bell *bell);
