/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Publishes a process context (OpenTelemetry's OTEP 4719) and thread contexts (OTEP 4947), step by
 * step as these documents say.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

struct process_context_header {
	char signature[8];
	uint32_t version, payload_size;
	_Atomic uint64_t published;
	const void *payload;
};

struct thread_context {
	uint8_t trace_id[16], span_id[8];
	volatile uint8_t valid;
	uint8_t trace_flags;
	uint16_t attributes_size;
	uint8_t attributes[];
} __attribute__((packed, aligned(2)));

/* A message of protobuf; all sizes are below 128. */
struct context_message {
	uint8_t bytes[1024];
	size_t size;
};

static inline void context_put(struct context_message *message, int field, const void *bytes,
			       size_t size)
{
	message->bytes[message->size++] = field << 3 | 2;
	message->bytes[message->size++] = size;
	memcpy(message->bytes + message->size, bytes, size);
	message->size += size;
}

static inline struct context_message context_text(const char *text)
{
	struct context_message value = { .size = 0 };

	context_put(&value, 1, text, strlen(text));
	return value;
}

static inline void context_put_pair(struct context_message *message, int field, const char *key,
				    struct context_message value)
{
	struct context_message pair = { .size = 0 };

	context_put(&pair, 1, key, strlen(key));
	context_put(&pair, 2, value.bytes, value.size);
	context_put(message, field, pair.bytes, pair.size);
}

/* One resource attribute, service.name, and the keys of thread contexts, up to NULL. */
static inline struct context_message context_of(const char *service, const char *const *keys)
{
	struct context_message message = { .size = 0 }, resource = { .size = 0 };
	struct context_message array = { .size = 0 }, value = { .size = 0 };

	context_put_pair(&resource, 1, "service.name", context_text(service));
	context_put(&message, 1, resource.bytes, resource.size);
	context_put_pair(&message, 2, "threadlocal.schema_version", context_text("tls_v1"));
	for (; *keys; keys++) {
		struct context_message key = context_text(*keys);

		context_put(&array, 1, key.bytes, key.size);
	}
	context_put(&value, 5, array.bytes, array.size);
	context_put_pair(&message, 2, "threadlocal.attribute_key_map", value);
	return message;
}

/* The header; before the first publication it is empty. */
static inline struct process_context_header *context_header(void)
{
	static struct process_context_header *header;
	size_t size = sysconf(_SC_PAGESIZE);
	int fd;

	if (header)
		return header;
	fd = memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd >= 0 && ftruncate(fd, size) < 0)
		abort();
	header = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
	close(fd);
	madvise(header, size, MADV_DONTFORK);
	memcpy(header->signature, "OTEL_CTX", 8);
	header->version = 2;
	return header;
}

/* Publishes a message, at first or again. */
static inline void context_publish(const struct context_message *message)
{
	static uint64_t last;
	struct process_context_header *header = context_header();
	size_t size = sysconf(_SC_PAGESIZE);
	struct timespec now;
	uint8_t *payload = malloc(message->size);

	memcpy(payload, message->bytes, message->size);
	clock_gettime(CLOCK_BOOTTIME, &now);
	if (now.tv_sec * 1000000000ull + now.tv_nsec <= last)
		now.tv_nsec++;
	last = now.tv_sec * 1000000000ull + now.tv_nsec;
	atomic_store(&header->published, 0);
	header->payload = payload; /* the old one is left to readers */
	header->payload_size = message->size;
	atomic_thread_fence(memory_order_seq_cst);
	atomic_store(&header->published, last);
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, header, size, "OTEL_CTX");
}
