/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The right library's text is mapped over the left one's, first all of it, then one page: the same
 * address belongs to another function, unknown to the loader.
 *
 * truth: chain START main call_left left_enter left_outer left_spin
 * truth: chain START main call_right right_enter right_outer right_spin
 * truth: chain START main call_half left_enter left_outer right_spin
 * truth: ends image-unavailable at (left_outer|left_spin|right_spin)  # in the moment after a change
 * truth: aside START main (map_over|HELPERS)* compare? HELPERS*
 */
#include <link.h>
#include <sys/mman.h>

#include "use-sides.h"

struct text {
	const char *name; /* file name of the library */
	char *address;
	size_t size;
	off_t offset;
};

static LINK void call_half(enter_function *enter, long rounds)
{
	enter(rounds);
	STAY();
}

static int compare(struct dl_phdr_info *info, size_t size, void *data)
{
	struct text *text = data;

	for (int i = 0; strstr(info->dlpi_name, text->name) && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X) {
			text->address = (char *)info->dlpi_addr + segment->p_vaddr;
			text->size = segment->p_memsz;
			text->offset = segment->p_offset;
		}
	}
	return 0;
}

static LINK void map_over(const struct text *place, int fd, size_t skip, size_t size)
{
	void *mapped = mmap(place->address + skip, size, PROT_READ | PROT_EXEC,
			    MAP_PRIVATE | MAP_FIXED, fd, place->offset + skip);

	check(mapped != MAP_FAILED, "mmap");
}

int main(int argc, char **argv)
{
	struct text left = { .name = "libleft.so" }, right = { .name = "libright.so" };
	enter_function *enter = find(open_library(beside("libleft.so")), "left_enter");
	char *spin_page = find(open_library(beside("libleft.so")), "left_spin");
	int fd_left = open(beside("libleft.so"), O_RDONLY | O_CLOEXEC);
	int fd_right = open(beside("libright.so"), O_RDONLY | O_CLOEXEC);

	open_library(beside("libright.so"));
	dl_iterate_phdr(compare, &left);
	dl_iterate_phdr(compare, &right);
	check(left.address && right.offset == left.offset && right.size == left.size, "texts");
	for (long n = turns(rounds_of(argc, argv), 300); n; n--) {
		call_left(enter, 100);
		map_over(&left, fd_right, 0, left.size);
		call_right(enter, 100);
		map_over(&left, fd_left, 0, left.size);
		map_over(&left, fd_right, spin_page - left.address, 4096);
		call_half(enter, 100);
		map_over(&left, fd_left, 0, left.size);
	}
	return 0;
}
