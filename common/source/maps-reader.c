/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/priority.h"
#include "common/proc/task-user.h"
#include "common/source/maps-reader.h"

/* A thread and its job. After `is_given_up` it belongs to the thread until `is_back`. */
struct worker {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	enum { IDLE, WANTED, DONE } state;
	bool is_given_up, is_back;
	uint32_t pid;
	enum maps_kind kind;
	struct proc_maps maps;
	int outcome;
	uid_t user; /* set when abandoned */
	pthread_t thread;
};

struct maps_reader {
	struct worker *worker; /* NULL: none */
	struct worker *stuck[MAPS_READER_STUCK_MAX];
	size_t n_stuck;
};

static bool wait_for_work(struct worker *worker)
{
	bool is_given_up;

	pthread_mutex_lock(&worker->mutex);
	while (worker->state != WANTED && !worker->is_given_up)
		pthread_cond_wait(&worker->changed, &worker->mutex);
	is_given_up = worker->is_given_up;
	pthread_mutex_unlock(&worker->mutex);
	return !is_given_up;
}

static void *run(void *arg)
{
	struct worker *worker = arg;

	priority_wait_for_nobody();
	while (wait_for_work(worker)) {
		worker->outcome = worker->kind == MAPS_EXECUTABLE
					  ? proc_read_maps(worker->pid, &worker->maps)
					  : proc_read_all_maps(worker->pid, &worker->maps);
		pthread_mutex_lock(&worker->mutex);
		worker->state = DONE;
		pthread_mutex_unlock(&worker->mutex);
		pthread_cond_signal(&worker->changed);
	}
	__atomic_store_n(&worker->is_back, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Blocks signals: they are for the main thread. */
static bool begin_thread(struct worker *worker)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&worker->thread, NULL, run, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r == 0;
}

static struct worker *begin(void)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	pthread_condattr_t attributes;

	if (!worker)
		return NULL;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&worker->mutex, NULL);
	pthread_cond_init(&worker->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (begin_thread(worker))
		return worker;
	free(worker);
	return NULL;
}

/* The thread has exited, or is about to. */
static void free_worker(struct worker *worker)
{
	pthread_join(worker->thread, NULL);
	proc_maps_deinit(&worker->maps);
	pthread_mutex_destroy(&worker->mutex);
	pthread_cond_destroy(&worker->changed);
	free(worker);
}

/* Frees workers whose threads are back. */
static void sweep(struct maps_reader *reader)
{
	size_t n = 0;

	for (size_t i = 0; i < reader->n_stuck; i++) {
		struct worker *worker = reader->stuck[i];

		if (__atomic_load_n(&worker->is_back, __ATOMIC_ACQUIRE))
			free_worker(worker);
		else
			reader->stuck[n++] = worker;
	}
	reader->n_stuck = n;
}

void maps_reader_end(struct maps_reader *reader)
{
	struct worker *worker = reader ? reader->worker : NULL;

	if (worker) { /* the worker is idle */
		pthread_mutex_lock(&worker->mutex);
		worker->is_given_up = true;
		pthread_cond_signal(&worker->changed);
		pthread_mutex_unlock(&worker->mutex);
		free_worker(worker);
	}
	if (reader)
		sweep(reader);
	free(reader);
}

/* Cheap as long as no thread is stuck. */
static bool may_be_read(struct maps_reader *reader, uint32_t pid)
{
	uid_t user;
	size_t n = 0;

	sweep(reader);
	if (!reader->n_stuck)
		return true;
	user = task_user(pid);
	for (size_t i = 0; i < reader->n_stuck; i++)
		n += reader->stuck[i]->user == user;
	return n < MAPS_READER_STUCK_OF_USER_MAX && reader->n_stuck < MAPS_READER_STUCK_MAX;
}

static int wait_for_it(struct worker *worker)
{
	uint64_t until =
		clock_now(CLOCK_MONOTONIC) + MAPS_READER_PATIENCE_MS * NANOSECONDS_A_MILLISECOND;
	const struct timespec deadline = {
		.tv_sec = until / NANOSECONDS_A_SECOND,
		.tv_nsec = until % NANOSECONDS_A_SECOND,
	};
	int r = 0;

	while (worker->state == WANTED && r == 0)
		r = pthread_cond_timedwait(&worker->changed, &worker->mutex, &deadline);
	if (worker->state == WANTED)
		return -ETIMEDOUT;
	worker->state = IDLE;
	return 0;
}

static int ask(struct worker *worker, uint32_t pid, enum maps_kind kind, struct proc_maps *ret)
{
	int r;

	pthread_mutex_lock(&worker->mutex);
	worker->pid = pid;
	worker->kind = kind;
	worker->maps = (struct proc_maps){ 0 };
	worker->state = WANTED;
	pthread_cond_signal(&worker->changed);
	r = wait_for_it(worker);
	worker->is_given_up = r < 0;
	if (r == 0) {
		*ret = worker->maps;
		worker->maps = (struct proc_maps){ 0 };
		r = worker->outcome;
	}
	pthread_mutex_unlock(&worker->mutex);
	return r;
}

int maps_reader_read(struct maps_reader **reader, uint32_t pid, enum maps_kind kind,
		     struct proc_maps *ret)
{
	struct maps_reader *self = *reader ? *reader : (*reader = calloc(1, sizeof(**reader)));
	int r;

	*ret = (struct proc_maps){ 0 };
	if (!self)
		return -ENOMEM;
	if (!may_be_read(self, pid))
		return -EBUSY;
	if (!self->worker)
		self->worker = begin();
	if (!self->worker)
		return -ENOMEM;
	r = ask(self->worker, pid, kind, ret);
	if (!self->worker->is_given_up)
		return r;
	self->worker->user = task_user(pid);
	self->stuck[self->n_stuck++] = self->worker;
	self->worker = NULL;
	return -ETIMEDOUT;
}
