/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Allocates like an honest program, then writes an impossible value to the memory by which its heap
 * is reported, and exits:
 *
 *	forger WAY
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload-source/shared/heap-ring.h"

enum { N_BLOCKS = 1000, SIZE = 100 };

/* Finds the library's region: the only mapping with its name. */
static struct heap_region *find_region(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	struct heap_region *region = NULL;
	unsigned long start;
	char line[512];

	while (maps && !region && fgets(line, sizeof(line), maps))
		if (strstr(line, "stackpipe-rings") && sscanf(line, "%lx", &start) == 1)
			region = (void *)start;
	if (maps)
		fclose(maps);
	return region && region->magic == HEAP_MAGIC ? region : NULL;
}

static struct heap_ring *find_ring(struct heap_region *region)
{
	for (uint32_t i = 0; i < HEAP_RINGS_MAX; i++)
		if (heap_ring_at(region, i)->head)
			return heap_ring_at(region, i);
	return NULL;
}

/* Writes a record by hand. The library's next one would overwrite it, so none follows. */
static void put(struct heap_ring *ring, const uint64_t *words, uint32_t n)
{
	uint64_t head = ring->head;

	for (uint32_t i = 0; i < n; i++)
		ring->words[(head + i) % HEAP_RING_WORDS] = words[i];
	__atomic_store_n(&ring->head, head + n, __ATOMIC_RELEASE);
}

static uint64_t first_word(enum heap_record kind, uint64_t time)
{
	return (uint64_t)kind << HEAP_KIND_SHIFT | (time & HEAP_TIME_MASK);
}

static int forge(struct heap_region *region, struct heap_ring *ring, const char *way)
{
	uint64_t large[] = { first_word(HEAP_RECORD_ALLOCATED, 1), 0x1000, HEAP_SIZE_MAX + 1 };
	uint64_t all[] = { first_word(HEAP_RECORD_ALLOCATED, 1), 0x1000, HEAP_SIZE_MAX };
	uint64_t tomorrow[] = { first_word(HEAP_RECORD_FREED, HEAP_TIME_MASK), 0x1000 };
	uint64_t sampling[] = { first_word(HEAP_RECORD_SAMPLING, 1), 12345 };
	uint64_t lost[] = { first_word(HEAP_RECORD_LOST, 1), HEAP_LOST_MAX + 1, 0, 0, 0 };
	uint64_t untrue[] = { first_word(HEAP_RECORD_LOST, 1), 5, 0, 500, 0 };
	uint64_t none[] = { first_word(15, 1) };

	if (!strcmp(way, "size"))
		put(ring, large, 3);
	else if (!strcmp(way, "total"))
		for (uint64_t i = 0; i <= HEAP_TOTAL_MAX / HEAP_SIZE_MAX; i++)
			put(ring, all, 3);
	else if (!strcmp(way, "tomorrow"))
		put(ring, tomorrow, 2);
	else if (!strcmp(way, "sampling"))
		put(ring, sampling, 2);
	else if (!strcmp(way, "lost"))
		put(ring, lost, 5);
	else if (!strcmp(way, "untrue"))
		put(ring, untrue, 5);
	else if (!strcmp(way, "none"))
		put(ring, none, 1);
	else if (!strcmp(way, "back"))
		__atomic_store_n(&ring->head, 1, __ATOMIC_RELEASE);
	else if (!strcmp(way, "ahead"))
		__atomic_store_n(&ring->head, UINT64_MAX, __ATOMIC_RELEASE);
	else if (!strcmp(way, "unheard"))
		__atomic_store_n(&region->n_unrecorded, UINT64_MAX, __ATOMIC_RELEASE);
	else if (!strcmp(way, "nested"))
		__atomic_store_n(&ring->n_nested, HEAP_LOST_MAX + 1, __ATOMIC_RELEASE);
	else if (!strcmp(way, "count"))
		__atomic_store_n(&ring->lost.n_bytes, UINT64_MAX, __ATOMIC_RELEASE);
	else if (strcmp(way, "honest"))
		return 2;
	return 0;
}

int main(int argc, char **argv)
{
	static void *blocks[N_BLOCKS];
	struct heap_region *region;
	struct heap_ring *ring;

	for (int i = 0; i < N_BLOCKS; i++)
		blocks[i] = malloc(SIZE);
	region = find_region();
	ring = region ? find_ring(region) : NULL;
	if (!ring || argc != 2 || !blocks[N_BLOCKS - 1])
		return 1;
	_Exit(forge(region, ring, argv[1]));
}
