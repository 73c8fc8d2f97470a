/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sys/mman.h>

#include "common/base/zero-pages.h"

void *zero_pages_get(size_t size)
{
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

void zero_pages_give_back(void *pages, size_t size)
{
	if (pages)
		munmap(pages, size);
}
