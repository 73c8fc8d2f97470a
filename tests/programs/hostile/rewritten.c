/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Keeps changing the library that it runs:
 *
 *	rewritten LIBRARY truncate|garbage SECONDS
 *
 * LIBRARY defines spin(unsigned long). The part behind its code is cut off and restored, or all of
 * it behind the header changes. This process does not see that: it has private copies of all pages.
 */
#include <dlfcn.h>
#include <err.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

struct library {
	const char *path;
	off_t code_end; /* file offset */
};

static int copy_pages(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct library *library = arg;

	if (strcmp(info->dlpi_name, library->path))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		char *start = (char *)((info->dlpi_addr + segment->p_vaddr) & -(ElfW(Addr))PAGE);
		char *end = (char *)info->dlpi_addr + segment->p_vaddr + segment->p_memsz;

		if (segment->p_type != PT_LOAD)
			continue;
		if (segment->p_flags & PF_X)
			library->code_end = segment->p_offset + segment->p_filesz;
		if (mprotect(start, end - start, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
			err(2, "mprotect");
		for (char *at = start; at < end; at += PAGE)
			*(volatile char *)at = *(volatile char *)at;
	}
	return 1;
}

int main(int argc, char **argv)
{
	void *handle = argc == 4 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*spin)(unsigned long) =
		handle ? (void (*)(unsigned long))dlsym(handle, "spin") : NULL;
	struct library library = { argv[1], 0 };
	int fd = argc == 4 ? open(argv[1], O_RDWR) : -1;
	struct stat status;
	char *content;
	clock_t end;

	if (!spin || fd < 0 || fstat(fd, &status) < 0 || !(content = malloc(2 * status.st_size)))
		errx(2, "usage: rewritten LIBRARY truncate|garbage SECONDS");
	if (read(fd, content, status.st_size) != status.st_size ||
	    !dl_iterate_phdr(copy_pages, &library))
		errx(2, "'%s' cannot be copied", argv[1]);
	end = atof(argv[3]) * CLOCKS_PER_SEC;
	for (unsigned int i = 0; clock() < end; i++) {
		bool is_cut = !strcmp(argv[2], "truncate");

		if (is_cut && ftruncate(fd, library.code_end) < 0)
			err(2, "ftruncate");
		for (off_t at = 64; !is_cut && at < status.st_size; at++)
			content[at] += at * 31 + i; /* all but the ELF header */
		if (i % 2 && pwrite(fd, content, status.st_size, 0) < 0)
			err(2, "pwrite");
		spin(20000000);
	}
	_exit(0); /* the loader would read the changed library */
}
