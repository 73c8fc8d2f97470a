/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file is mapped for reading, and is made executable later.
 *
 * truth: chain START main call_right right_enter right_outer right_spin
 * truth: aside START main map_text? HELPERS*
 */
#include <elf.h>
#include <sys/mman.h>

#include "use-sides.h"

/* Returns the address of right_enter() in a mapping that only this function made. */
static LINK char *map_text(const char *path)
{
	char *enter = find(open_library(path), "right_enter");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Phdr segment[16];
	Elf64_Ehdr header;
	Dl_info info;
	char *text;

	check(dladdr(enter, &info) && pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
		      pread(fd, segment, sizeof(segment), header.e_phoff) == sizeof(segment),
	      path);
	for (int i = 0; i < header.e_phnum; i++) {
		if (segment[i].p_type != PT_LOAD || !(segment[i].p_flags & PF_X))
			continue;
		text = mmap(NULL, segment[i].p_filesz, PROT_READ, MAP_PRIVATE, fd,
			    segment[i].p_offset);
		check(text != MAP_FAILED, "mmap");
		check(mprotect(text, segment[i].p_filesz, PROT_READ | PROT_EXEC) == 0, "mprotect");
		return text + (enter - (char *)info.dli_fbase) - segment[i].p_vaddr;
	}
	exit(1);
}

int main(int argc, char **argv)
{
	enter_function *enter = (enter_function *)map_text(beside("libright.so"));

	call_right(enter, rounds_of(argc, argv));
	return 0;
}
