/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload-source/reader/doorbell.h"
#include "preload-source/shared/heap-ring.h"

static uint32_t *words(const struct doorbell *doorbell)
{
	return doorbell->memory.bytes; /* number of rings; whether a ring wakes us */
}

static void *sleep_at(void *arg)
{
	struct doorbell *doorbell = arg;
	uint32_t heard = 0;

	while (!__atomic_load_n(&doorbell->must_end, __ATOMIC_SEQ_CST)) {
		uint32_t rung = __atomic_load_n(words(doorbell), __ATOMIC_SEQ_CST);

		if (rung == heard) {
			syscall(SYS_futex, words(doorbell), FUTEX_WAIT, rung, NULL, NULL, 0);
			continue;
		}
		heard = rung;
		__atomic_store_n(words(doorbell) + 1, 0, __ATOMIC_SEQ_CST);
		eventfd_write(doorbell->fd, 1);
	}
	return NULL;
}

int doorbell_make(struct doorbell *doorbell)
{
	*doorbell =
		(struct doorbell){ .memory.fd = -1, .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	if (doorbell->fd < 0)
		return -errno;
	return shared_memory_make(&doorbell->memory, "stackpipe-bell", HEAP_PAGE,
				  SHARED_WITH_WRITERS);
}

int doorbell_hang(struct doorbell *doorbell)
{
	int r = -pthread_create(&doorbell->thread, NULL, sleep_at, doorbell);

	doorbell->has_thread = r == 0;
	return r;
}

void doorbell_deinit(struct doorbell *doorbell)
{
	if (doorbell->has_thread) {
		__atomic_store_n(&doorbell->must_end, true, __ATOMIC_SEQ_CST);
		__atomic_fetch_add(words(doorbell), 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, words(doorbell), FUTEX_WAKE, 1, NULL, NULL, 0);
		pthread_join(doorbell->thread, NULL);
	}
	if (doorbell->fd >= 0)
		close(doorbell->fd);
	shared_memory_deinit(&doorbell->memory);
	doorbell->has_thread = false;
	doorbell->fd = -1;
}

void doorbell_listen(struct doorbell *doorbell)
{
	eventfd_t n;

	eventfd_read(doorbell->fd, &n);
	__atomic_store_n(words(doorbell) + 1, 1, __ATOMIC_SEQ_CST);
}
