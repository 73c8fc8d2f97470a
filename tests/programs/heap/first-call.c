/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program whose first allocator call is FIRST; nothing before it allocates. */
#include <malloc.h>
#include <stdlib.h>

static __attribute__((constructor)) void call(void)
{
	void *volatile block = NULL;

	(void)!posix_memalign((void **)&block, 64, 1);
	FIRST;
}

int main(void)
{
	return 0;
}
