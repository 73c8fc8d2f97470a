/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "perf-source/perf/ring.h"

int ring_open(struct ring *ring, int fd, size_t size)
{
	_cleanup_fd_ int owned = fd;
	size_t page = sysconf(_SC_PAGESIZE);
	void *memory;

	*ring = (struct ring){ .fd = -1,
			       .filled_at = RING_NEVER_FILLED,
			       .held = RING_NOTHING_HELD,
			       .wrapped = malloc(RING_RECORD_MAX) };
	if (!ring->wrapped)
		return -ENOMEM;
	memory = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		int error = errno == EPERM || errno == ENOMEM ? ENOBUFS : errno;

		free(ring->wrapped);
		ring->wrapped = NULL;
		return -error;
	}
	ring->page = memory;
	ring->data = (char *)memory + page;
	ring->size = size;
	ring->fd = take_fd(&owned);
	return 0;
}

void ring_close(struct ring *ring)
{
	if (ring->page)
		munmap(ring->page, ring->data - (char *)ring->page + ring->size);
	if (ring->fd >= 0)
		close(ring->fd);
	free(ring->wrapped);
	*ring = (struct ring){ .fd = -1 };
}

/* Only we move the tail, so no room can have appeared between reading it and the head. */
static bool is_filled(const struct ring *ring, uint64_t tail, uint64_t head)
{
	return head - tail > ring->size - RING_SIDEBAND_MAX;
}

void ring_look(struct ring *ring)
{
	if (!ring->page)
		return;
	ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	if (is_filled(ring, ring->page->data_tail, ring->head))
		ring->filled_at = ring->head;
}

bool ring_is_filled(const struct ring *ring)
{
	return ring->page && is_filled(ring, ring->page->data_tail, ring->head);
}

const struct perf_event_header *ring_peek(struct ring *ring)
{
	uint64_t at = ring->position & (ring->size - 1);
	const struct perf_event_header *header;

	if (ring->position == ring->head)
		return NULL;
	header = (const void *)(ring->data + at);
	if (header->size < sizeof(*header)) { /* no kernel does this; nothing could follow it */
		ring->position = ring->head;
		return NULL;
	}
	if (at + header->size <= ring->size)
		return header;
	memcpy(ring->wrapped, header, ring->size - at);
	memcpy(ring->wrapped + (ring->size - at), ring->data, header->size - (ring->size - at));
	return (const void *)ring->wrapped;
}

void ring_advance(struct ring *ring, const struct perf_event_header *header)
{
	ring->position += header->size;
}

/*
 * The head is read after the tail has moved, and compared with the old tail: we may be preempted in
 * between, while the kernel fills the ring.
 */
void ring_release(struct ring *ring)
{
	uint64_t free = ring->position < ring->held ? ring->position : ring->held;
	uint64_t tail, head;

	if (!ring->page || ring->page->data_tail == free)
		return;
	tail = ring->page->data_tail;
	__atomic_store_n(&ring->page->data_tail, free, __ATOMIC_SEQ_CST);
	head = __atomic_load_n(&ring->page->data_head, __ATOMIC_SEQ_CST);
	if (is_filled(ring, tail, head))
		ring->filled_at = head;
}
