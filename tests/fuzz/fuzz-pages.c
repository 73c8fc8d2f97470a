/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Zero pages for targets that run a whole stage. Pages are kept for the next run, because mapping
 * and unmapping them took a quarter of a run. While unused their beginning is poisoned.
 */
#include <sanitizer/asan_interface.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "common/base/zero-pages.h"

enum {
	BLOCKS_KEPT = 16,
	POISONED_MAX = 64 * 1024, /* poisoning more costs more than mapping it */
	STATE_MIN = 128 * 1024,
	PAGE_SIZE = 4096,
};

static struct block {
	void *pages; /* NULL: unused */
	size_t size;
	bool is_free;
} blocks[BLOCKS_KEPT];

static struct block state;

void *__wrap_calloc(size_t n, size_t size);
void *__real_calloc(size_t n, size_t size);
void __wrap_free(void *block);
void __real_free(void *block);
void *__wrap_zero_pages_get(size_t size);
void *__real_zero_pages_get(size_t size);
void __wrap_zero_pages_give_back(void *pages, size_t size);
void __real_zero_pages_give_back(void *pages, size_t size);

static size_t poisoned_size(size_t size)
{
	return size < POISONED_MAX ? size : POISONED_MAX;
}

void *__wrap_zero_pages_get(size_t size)
{
	void *pages;

	for (struct block *block = blocks; block < blocks + BLOCKS_KEPT; block++)
		if (block->is_free && block->size == size) {
			ASAN_UNPOISON_MEMORY_REGION(block->pages, poisoned_size(size));
			block->is_free = false;
			return block->pages;
		}
	pages = __real_zero_pages_get(size);
	for (struct block *block = blocks; pages && block < blocks + BLOCKS_KEPT; block++)
		if (!block->pages) {
			*block = (struct block){ pages, size, false };
			break;
		}
	return pages;
}

void __wrap_zero_pages_give_back(void *pages, size_t size)
{
	for (struct block *block = blocks; pages && block < blocks + BLOCKS_KEPT; block++)
		if (block->pages == pages && block->size == size && !block->is_free &&
		    madvise(pages, size, MADV_DONTNEED) == 0) {
			ASAN_POISON_MEMORY_REGION(pages, poisoned_size(size));
			block->is_free = true;
			return;
		}
	__real_zero_pages_give_back(pages, size);
}

/*
 * The state of a whole stage is such a block as well: ASan would map, mark and unmap it. The rest
 * of its last page is poisoned.
 */
void *__wrap_calloc(size_t n, size_t size)
{
	char *pages;

	if (n != 1 || size < STATE_MIN || state.pages)
		return __real_calloc(n, size);
	pages = __wrap_zero_pages_get(size);
	if (pages)
		ASAN_POISON_MEMORY_REGION(pages + size, -size % PAGE_SIZE);
	state = (struct block){ pages, size, false };
	return pages;
}

void __wrap_free(void *block)
{
	if (!block || block != state.pages) {
		__real_free(block);
		return;
	}
	__wrap_zero_pages_give_back(state.pages, state.size);
	state = (struct block){ 0 };
}
