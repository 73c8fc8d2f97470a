/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that publish which span they are in, and write down when they changed it:
 *
 *	spans THREADS SECONDS LOG [SPAN-US [flag] [wait] [none]]
 *
 * A thread changes its span every SPAN-US microseconds (default 20): to another record, or with
 * "flag" in one record whose `valid` it clears meanwhile; it is in no span now and then. With
 *"wait" it sleeps in each span. With "none" no process context is published. LOG gets, for each
 *thread, its TID and the number of changes, and of each change the times before and after, and the
 *span (0: none), all in 64 bits. The attribute "route" of a span is its number in hexadecimal
 *digits.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "context-writer.h"

enum { RECORDS = 4, ROUTE_SIZE = 16, PAUSES = 16, LOG_MAX = 1 << 24 };

/* Of this program, or of a library that is linked or loaded. */
struct thread_context *volatile *spans_variable(void);

struct change {
	uint64_t before, after, span;
};

struct span_record {
	struct thread_context context;
	uint8_t attributes[2 + ROUTE_SIZE];
};

struct span_thread {
	pthread_t thread;
	uint64_t number, tid, n_changes;
	struct change *changes;
	struct span_record records[RECORDS];
};

static double seconds;
static uint64_t span_ns = 20000;
static bool uses_flag, waits;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static void fill(struct span_record *record, uint64_t span)
{
	char route[ROUTE_SIZE + 1];

	memset(record->context.trace_id, 0, sizeof(record->context.trace_id));
	memcpy(record->context.trace_id + 8, &span, sizeof(span));
	record->context.trace_id[0] = 1;
	memcpy(record->context.span_id, &span, sizeof(span));
	record->context.trace_flags = 1;
	snprintf(route, sizeof(route), "%016" PRIx64, span);
	record->attributes[0] = 1; /* its key */
	record->attributes[1] = ROUTE_SIZE;
	memcpy(record->attributes + 2, route, ROUTE_SIZE);
	record->context.attributes_size = sizeof(record->attributes);
}

/* To another record, which no reader sees while it is written. */
static void change_record(struct span_thread *self, uint64_t span)
{
	struct thread_context *volatile *variable = spans_variable();
	struct span_record *record = &self->records[self->n_changes % RECORDS];

	if (span) {
		fill(record, span);
		record->context.valid = 1;
	}
	atomic_signal_fence(memory_order_seq_cst);
	*variable = span ? &record->context : NULL;
	atomic_signal_fence(memory_order_seq_cst);
}

static void change_flag(struct span_thread *self, uint64_t span)
{
	struct span_record *record = &self->records[0];

	record->context.valid = 0;
	atomic_signal_fence(memory_order_seq_cst);
	*spans_variable() = &record->context;
	if (!span)
		return;
	fill(record, span);
	atomic_signal_fence(memory_order_seq_cst);
	record->context.valid = 1;
	atomic_signal_fence(memory_order_seq_cst);
}

static void change(struct span_thread *self, uint64_t span)
{
	struct change *change = &self->changes[self->n_changes];

	change->span = span;
	change->before = now();
	if (uses_flag)
		change_flag(self, span);
	else
		change_record(self, span);
	change->after = now();
	self->n_changes++;
}

static void work_until(uint64_t time)
{
	if (waits)
		usleep(span_ns / 2000);
	while (now() < time)
		;
}

static void *run(void *arg)
{
	struct span_thread *self = arg;
	uint64_t begun = now(), end = begun + seconds * 1e9;

	self->tid = syscall(SYS_gettid);
	while (now() < end && self->n_changes < LOG_MAX) {
		bool pauses = self->n_changes % PAUSES == PAUSES - 1;

		change(self, pauses ? 0 : (self->number + 1) << 40 | self->n_changes);
		work_until(self->changes[self->n_changes - 1].after + span_ns);
	}
	change(self, 0);
	return NULL;
}

static void write_log(FILE *log, const struct span_thread *self)
{
	fwrite(&self->tid, sizeof(self->tid), 1, log);
	fwrite(&self->n_changes, sizeof(self->n_changes), 1, log);
	fwrite(self->changes, sizeof(*self->changes), self->n_changes, log);
}

int main(int argc, char **argv)
{
	static const char *const keys[] = { "user", "route", NULL };
	struct context_message message = context_of("spans", keys);
	struct span_thread *threads;
	bool publishes = true;
	FILE *log;
	long n;

	if (argc < 4)
		return 2;
	n = atol(argv[1]);
	seconds = atof(argv[2]);
	if (argc > 4)
		span_ns = atof(argv[4]) * 1000;
	for (int i = 5; i < argc; i++) {
		uses_flag |= !strcmp(argv[i], "flag");
		waits |= !strcmp(argv[i], "wait");
		publishes &= strcmp(argv[i], "none") != 0;
	}
	if (publishes)
		context_publish(&message);
	threads = calloc(n, sizeof(*threads));
	for (long i = 0; i < n; i++) {
		threads[i].number = i;
		threads[i].changes =
			mmap(NULL, (LOG_MAX + 1) * sizeof(struct change), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		pthread_create(&threads[i].thread, NULL, run, &threads[i]);
	}
	for (long i = 0; i < n; i++)
		pthread_join(threads[i].thread, NULL);
	log = fopen(argv[3], "w");
	if (!log)
		return 1;
	for (long i = 0; i < n; i++)
		write_log(log, &threads[i]);
	return fclose(log) ? 1 : 0;
}
