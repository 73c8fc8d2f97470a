/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs code out of any given file:
 *
 *	mapped-code FILE OFFSET N SECONDS
 *
 * Maps a page of FILE at OFFSET N times, each followed by a gap, and replaces its content, in this
 * process alone, by a loop.
 */
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* dec %rdi; jnz -5; ret */
static const unsigned char loop[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };

int main(int argc, char **argv)
{
	int fd = argc == 5 ? open(argv[1], O_RDONLY) : -1;
	size_t n = argc == 5 ? atol(argv[3]) : 0;
	clock_t end = argc == 5 ? atof(argv[4]) * CLOCKS_PER_SEC : 0;
	char *area = mmap(NULL, 2 * PAGE * n, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (fd < 0 || area == MAP_FAILED)
		err(2, "usage: mapped-code FILE OFFSET N SECONDS");
	for (size_t i = 0; i < n; i++) {
		void *page = mmap(area + 2 * PAGE * i, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
				  MAP_PRIVATE | MAP_FIXED, fd, atol(argv[2]));

		if (page == MAP_FAILED)
			break; /* vm.max_map_count */
		memcpy(page, loop, sizeof(loop));
	}
	for (size_t i = 0; clock() < end; i++)
		((void (*)(unsigned long))(area + 2 * PAGE * (i % (n < 1000 ? n : 1000))))(1000000);
	return 0;
}
