/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "perf-source/perf/side-thread.h"

int side_thread_start(struct side_thread *thread, void *(*run)(void *arg), void *arg)
{
	int error;

	thread->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (thread->stop_fd < 0)
		return -errno;
	error = pthread_create(&thread->thread, NULL, run, arg);
	if (error) {
		close(thread->stop_fd);
		thread->stop_fd = -1;
	}
	return -error;
}

void side_thread_stop(struct side_thread *thread)
{
	if (thread->stop_fd < 0)
		return;
	if (eventfd_write(thread->stop_fd, 1) == 0)
		pthread_join(thread->thread, NULL);
	close(thread->stop_fd);
	thread->stop_fd = -1;
}
