/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Publishes contexts that make trouble, for as long as it is told:
 *
 *	publisher WAY SECONDS
 *
 * guard: the thread's context ends in memory that is not there; far: it is no address of a process;
 * huge: its attributes have 64 KiB; random: all of it is random, and changes; message: what the
 * process publishes is random; changing: it is never at rest; large: it has 4 GiB; again: it is
 * published over and over; exec: the program begins anew, over and over; slow: it lies in memory
 * that nobody ever fills.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "../context-writer.h"

__attribute__((visibility("default"))) __thread void *volatile otel_thread_ctx_v1;

static size_t page;
static const char *way;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void fill_randomly(uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = random();
}

/* `size` bytes before memory that is not there. */
static uint8_t *before_the_end(size_t size)
{
	uint8_t *memory =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(memory + page, page);
	return memory + page - size;
}

/* Memory whose reader waits for ever; without permission, memory that is not there. */
static void *never_filled(void)
{
	void *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { (uintptr_t)memory, page },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	if (fd >= 0 && !ioctl(fd, UFFDIO_API, &api))
		ioctl(fd, UFFDIO_REGISTER, &range);
	return memory;
}

static struct thread_context *make(uint16_t attributes)
{
	struct thread_context *context = calloc(1, sizeof(*context) + attributes);

	memset(context->trace_id, 0xee, sizeof(context->trace_id));
	memset(context->span_id, 0xee, sizeof(context->span_id));
	context->valid = 1;
	context->attributes_size = attributes;
	return context;
}

static void change_context(void)
{
	static struct thread_context *context;

	if (!context)
		context = make(!strcmp(way, "huge") ? UINT16_MAX : 64);
	otel_thread_ctx_v1 = context;
	if (!strcmp(way, "guard"))
		otel_thread_ctx_v1 = before_the_end(random() % 40);
	else if (!strcmp(way, "far"))
		otel_thread_ctx_v1 = (void *)(random() << 33 | random());
	else if (!strcmp(way, "random"))
		fill_randomly((uint8_t *)context, sizeof(*context) + 64);
	context->valid = 1;
}

static void publish(void)
{
	static const char *const keys[] = { "user", "route", NULL };
	struct context_message message = context_of("hostile", keys);

	if (!strcmp(way, "message"))
		fill_randomly(message.bytes, message.size);
	if (!strcmp(way, "large"))
		message.size = 1; /* context_publish() copies so much; the header says more */
	context_publish(&message);
}

/* Changes what was published behind the reader's back. */
static void *change_published(void *arg)
{
	struct process_context_header *header = arg;

	for (uint64_t n = 1; !strcmp(way, "changing"); n++)
		atomic_store(&header->published, n);
	return NULL;
}

static void spoil(char **argv)
{
	struct process_context_header *header = context_header();
	pthread_t thread;

	if (!strcmp(way, "large"))
		header->payload_size = UINT32_MAX;
	if (!strcmp(way, "slow"))
		header->payload = never_filled();
	pthread_create(&thread, NULL, change_published, header);
	if (!strcmp(way, "exec") && atof(argv[2]) > 0.05) {
		char left[32];

		snprintf(left, sizeof(left), "%f", atof(argv[2]) - 0.05);
		for (double until = now() + 0.05; now() < until;)
			change_context();
		execl("/proc/self/exe", argv[0], way, left, NULL);
	}
}

int main(int argc, char **argv)
{
	double until;

	if (argc < 3)
		return 2;
	way = argv[1];
	page = sysconf(_SC_PAGESIZE);
	until = now() + atof(argv[2]);
	publish();
	spoil(argv);
	while (now() < until) {
		change_context();
		if (!strcmp(way, "again"))
			publish();
	}
	return 0;
}
