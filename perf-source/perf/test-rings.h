/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: rings in plain memory, filled as the kernel would fill them. */
#pragma once

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perf-source/perf/ring.h"

static inline void test_rings_open(struct ring *rings, size_t n, size_t size)
{
	for (size_t i = 0; i < n; i++) {
		size_t page = sysconf(_SC_PAGESIZE);
		int fd = memfd_create("ring", MFD_CLOEXEC);

		assert_int_equal(ftruncate(fd, page + size), 0);
		assert_int_equal(ring_open(&rings[i], fd, size), 0);
	}
}

static inline void test_rings_close(struct ring *rings, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ring_close(&rings[i]);
}

/* Writes a record as the kernel does; false if unreleased records leave no room. */
static inline bool test_ring_put(struct ring *ring, const void *record, size_t size)
{
	uint64_t head = ring->page->data_head;

	if (head + size - ring->page->data_tail > ring->size)
		return false;
	for (size_t i = 0; i < size; i++)
		ring->data[(head + i) % ring->size] = ((const char *)record)[i];
	__atomic_store_n(&ring->page->data_head, head + size, __ATOMIC_RELEASE);
	return true;
}
