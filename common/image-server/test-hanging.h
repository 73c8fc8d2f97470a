/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For tests linked with --wrap=image_open and --wrap=map_open: file systems that answer when a test
 * decides. An image hangs if its number, a map if its process's PID, is HANGS or more.
 */
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>

#include "common/image-server/image-opener.h"
#include "common/image-server/map-opener.h"

enum { HANGS = 1000 };

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool answers;
	size_t n_answers; /* answers that it gives although it does not answer */
	size_t n_hanging;
} file_system = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* The map that every process finds; inode 0: each process has its own. */
static struct {
	ino_t inode;
	uint32_t writer;
} shared_map;

static inline void file_system_answers(bool answers)
{
	pthread_mutex_lock(&file_system.mutex);
	file_system.answers = answers;
	pthread_cond_broadcast(&file_system.changed);
	pthread_mutex_unlock(&file_system.mutex);
}

static inline void file_system_answers_once(void)
{
	pthread_mutex_lock(&file_system.mutex);
	file_system.n_answers++;
	pthread_cond_broadcast(&file_system.changed);
	pthread_mutex_unlock(&file_system.mutex);
}

/* Waits until exactly `n` threads hang. */
static inline void wait_for_hanging(size_t n)
{
	pthread_mutex_lock(&file_system.mutex);
	while (file_system.n_hanging != n)
		pthread_cond_wait(&file_system.changed, &file_system.mutex);
	pthread_mutex_unlock(&file_system.mutex);
}

static inline void hang(void)
{
	pthread_mutex_lock(&file_system.mutex);
	file_system.n_hanging++;
	pthread_cond_broadcast(&file_system.changed);
	while (!file_system.answers && !file_system.n_answers)
		pthread_cond_wait(&file_system.changed, &file_system.mutex);
	if (!file_system.answers)
		file_system.n_answers--;
	file_system.n_hanging--;
	pthread_cond_broadcast(&file_system.changed);
	pthread_mutex_unlock(&file_system.mutex);
}

static inline int open_something(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void __wrap_image_open(const struct wire_image_open *request, struct image_file *ret);
void __wrap_map_open(struct map_process *process, struct image_file *ret);

void __wrap_image_open(const struct wire_image_open *request, struct image_file *ret)
{
	if (request->image >= HANGS)
		hang();
	*ret = (struct image_file){ .fd = open_something(), .status = WIRE_image_status_OPEN };
}

/* A map exists from the second look at its process on. */
void __wrap_map_open(struct map_process *process, struct image_file *ret)
{
	if (process->pid >= HANGS)
		hang();
	*ret = (struct image_file){ .fd = -1, .status = WIRE_image_status_GONE };
	if (process->root_fd < 0) {
		process->root_fd = open_something();
		return;
	}
	ret->fd = open_something();
	ret->status = WIRE_image_status_OPEN;
	process->inode = shared_map.inode;
	process->is_writer = process->pid == shared_map.writer;
}
