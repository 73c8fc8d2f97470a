/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "common/source/images.h"
#include "common/source/text-hole.h"

static const uint64_t PAGE = 4096;

static bool is_replacement(const struct proc_mapping *mapping)
{
	const struct image_source source = { .path = mapping->path, .inode = mapping->inode };

	return mapping->is_executable && images_is_anonymous(&source);
}

static bool is_file(const struct proc_mapping *mapping)
{
	const struct image_source source = { .path = mapping->path, .inode = mapping->inode };

	return mapping->path[0] == '/' && !images_is_anonymous(&source);
}

static bool is_same_file(const struct proc_mapping *left, const struct proc_mapping *right)
{
	return left->inode == right->inode && left->major == right->major &&
	       left->minor == right->minor && !strcmp(left->path, right->path);
}

static void add_neighbour(struct text_hole *hole, const struct proc_maps *maps, size_t i)
{
	hole->file = i;
	hole->beside[hole->n_beside++] =
		(struct text_neighbour){ maps->list[i].start, maps->list[i].offset };
}

/* Adds adjacent file mappings, before `first` and at `behind`. false: none, or of two files. */
static bool find_neighbours(const struct proc_maps *maps, size_t first, size_t behind,
			    struct text_hole *hole)
{
	const struct proc_mapping *list = maps->list;
	bool is_before =
		first > 0 && list[first - 1].end == hole->start && is_file(&list[first - 1]);
	bool is_behind =
		behind < maps->n && list[behind].start == hole->end && is_file(&list[behind]);

	if (is_before && is_behind && !is_same_file(&list[first - 1], &list[behind]))
		return false;
	if (is_before)
		add_neighbour(hole, maps, first - 1);
	if (is_behind)
		add_neighbour(hole, maps, behind);
	return hole->n_beside > 0;
}

/* Adjacent replacements count as one. */
bool text_hole_next(const struct proc_maps *maps, size_t *at, struct text_hole *ret)
{
	while (*at < maps->n) {
		size_t first = *at;

		if (!is_replacement(&maps->list[(*at)++]))
			continue;
		*ret = (struct text_hole){
			.start = maps->list[first].start,
			.end = maps->list[first].end,
			.is_writable = maps->list[first].is_writable,
		};
		for (; *at < maps->n && maps->list[*at].start == ret->end &&
		       is_replacement(&maps->list[*at]);
		     ++*at) {
			ret->end = maps->list[*at].end;
			ret->is_writable |= maps->list[*at].is_writable;
		}
		if (find_neighbours(maps, first, *at, ret))
			return true;
	}
	return false;
}

/* The number of program headers of a 64-bit ELF file; 0: it is none, or has too many. */
static size_t read_headers(int fd, Elf64_Phdr headers[static TEXT_HOLE_HEADERS_MAX])
{
	Elf64_Ehdr elf;
	ssize_t size;

	if (pread(fd, &elf, sizeof(elf), 0) != sizeof(elf) ||
	    memcmp(elf.e_ident, ELFMAG, SELFMAG) || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf.e_phentsize != sizeof(*headers) || elf.e_phnum > TEXT_HOLE_HEADERS_MAX)
		return 0;
	size = elf.e_phnum * sizeof(*headers);
	return pread(fd, headers, size, elf.e_phoff) == size ? elf.e_phnum : 0;
}

static uint64_t page_of(uint64_t address)
{
	return address & -PAGE;
}

/* The bytes of whole pages that the file has for a segment; 0: not loaded, or invalid. */
static uint64_t size_of(const Elf64_Phdr *segment)
{
	uint64_t end = segment->p_offset + segment->p_filesz + PAGE - 1;

	if (segment->p_type != PT_LOAD || segment->p_filesz > INT64_MAX ||
	    segment->p_offset > INT64_MAX - PAGE)
		return 0;
	return page_of(end) - page_of(segment->p_offset);
}

/* Whether a segment, loaded with that bias, puts the neighbour's offset at its address. */
static bool holds(const Elf64_Phdr *segment, uint64_t bias, const struct text_neighbour *neighbour)
{
	uint64_t from_start = neighbour->offset - page_of(segment->p_offset);

	return from_start < size_of(segment) &&
	       page_of(segment->p_vaddr) + bias + from_start == neighbour->address;
}

static bool all_are_held(const struct text_hole *hole, const Elf64_Phdr *headers, size_t n,
			 uint64_t bias)
{
	for (size_t i = 0; i < hole->n_beside; i++) {
		size_t k = 0;

		while (k < n && !holds(&headers[k], bias, &hole->beside[i]))
			k++;
		if (k == n)
			return false;
	}
	return true;
}

static bool find_text(const struct text_hole *hole, const Elf64_Phdr *headers, size_t n,
		      uint64_t bias, uint64_t *ret)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t size = size_of(&headers[i]);
		uint64_t from_start = hole->start - page_of(headers[i].p_vaddr) - bias;

		if (!(headers[i].p_flags & PF_X) || from_start >= size ||
		    hole->end - hole->start > size - from_start)
			continue;
		*ret = page_of(headers[i].p_offset) + from_start;
		return true;
	}
	return false;
}

bool text_hole_offset(const struct text_hole *hole, int fd, uint64_t *ret)
{
	Elf64_Phdr headers[TEXT_HOLE_HEADERS_MAX];
	size_t n = read_headers(fd, headers);

	for (size_t i = 0; i < n; i++) {
		uint64_t from_start = hole->beside[0].offset - page_of(headers[i].p_offset);
		uint64_t bias = hole->beside[0].address - page_of(headers[i].p_vaddr) - from_start;

		if (all_are_held(hole, headers, n, bias) && find_text(hole, headers, n, bias, ret))
			return true;
	}
	return false;
}
