/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload-source/shared/heap-ring.h"
#include "preload-source/reader/bell.h"

static uint32_t *words(const struct bell *bell)
{
	return bell->memory.bytes; /* how often it was rung; whether anybody listens */
}

static void *sleep_at(void *arg)
{
	struct bell *bell = arg;
	uint32_t heard = 0;

	while (!__atomic_load_n(&bell->must_end, __ATOMIC_SEQ_CST)) {
		uint32_t rung = __atomic_load_n(words(bell), __ATOMIC_SEQ_CST);

		if (rung == heard) {
			syscall(SYS_futex, words(bell), FUTEX_WAIT, rung, NULL, NULL, 0);
			continue;
		}
		heard = rung;
		__atomic_store_n(words(bell) + 1, 0, __ATOMIC_SEQ_CST);
		eventfd_write(bell->fd, 1);
	}
	return NULL;
}

int bell_make(struct bell *bell)
{
	*bell = (struct bell){ .memory.fd = -1, .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	if (bell->fd < 0)
		return -errno;
	return shared_memory_make(&bell->memory, "stackpipe-bell", HEAP_PAGE, SHARED_WITH_WRITERS);
}

int bell_hang(struct bell *bell)
{
	int r = -pthread_create(&bell->thread, NULL, sleep_at, bell);

	bell->has_thread = r == 0;
	return r;
}

void bell_deinit(struct bell *bell)
{
	if (bell->has_thread) {
		__atomic_store_n(&bell->must_end, true, __ATOMIC_SEQ_CST);
		__atomic_fetch_add(words(bell), 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, words(bell), FUTEX_WAKE, 1, NULL, NULL, 0);
		pthread_join(bell->thread, NULL);
	}
	if (bell->fd >= 0)
		close(bell->fd);
	shared_memory_deinit(&bell->memory);
	bell->has_thread = false;
	bell->fd = -1;
}

void bell_listen(struct bell *bell)
{
	eventfd_t n;

	eventfd_read(bell->fd, &n);
	__atomic_store_n(words(bell) + 1, 1, __ATOMIC_SEQ_CST);
}
