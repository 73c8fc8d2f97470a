/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/elf-section.h"
#include "common/unwind-source.h"

/*
 * A copy of a section's bytes, decompressed. A section that takes no room in the file has none, as
 * the .eh_frame that ld leaves where all is in .debug_frame.
 */
static int copy_section(const struct elf_section *section, uint8_t **ret, size_t *ret_size)
{
	const GElf_Shdr *header = &section->header;
	Elf_Data *data;

	if (header->sh_type == SHT_NOBITS || header->sh_size == 0)
		return -ENODATA;
	if (header->sh_size > UNWIND_SECTION_MAX ||
	    elf_section_size_in_memory(section) > UNWIND_SECTION_MAX)
		return -EFBIG;
	if (header->sh_flags & SHF_COMPRESSED && elf_compress(section->handle, 0, 0) < 0)
		return -EBADMSG;
	data = elf_getdata(section->handle, NULL);
	if (!data || !data->d_buf)
		return -EBADMSG;
	*ret = malloc(data->d_size + 1);
	if (!*ret)
		return -ENOMEM;
	memcpy(*ret, data->d_buf, data->d_size);
	*ret_size = data->d_size;
	return 0;
}

/* -ENODATA: there is no section of that name. */
static int find_section(Elf *elf, const char *wanted, uint64_t *ret_address, uint8_t **ret,
			size_t *ret_size)
{
	struct elf_section section = elf_section_before_first(elf);

	while (elf_section_next(&section))
		if (!strcmp(section.name, wanted)) {
			*ret_address = section.header.sh_addr;
			return copy_section(&section, ret, ret_size);
		}
	return -ENODATA;
}

/* The bytes from an address on to the end of the segment that holds it. */
static int copy_from_address(Elf *elf, uint64_t address, uint8_t **ret, size_t *ret_size)
{
	size_t n;

	if (elf_getphdrnum(elf, &n) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr header;
		Elf_Data *data;
		uint64_t size;

		if (!gelf_getphdr(elf, i, &header) || header.p_type != PT_LOAD ||
		    address - header.p_vaddr >= header.p_filesz)
			continue;
		size = header.p_filesz - (address - header.p_vaddr);
		if (size > UNWIND_SECTION_MAX)
			return -EFBIG;
		data = elf_getdata_rawchunk(elf, header.p_offset + (address - header.p_vaddr), size,
					    ELF_T_BYTE);
		if (!data || !data->d_buf)
			return -EBADMSG;
		*ret = malloc(data->d_size + 1);
		if (!*ret)
			return -ENOMEM;
		memcpy(*ret, data->d_buf, data->d_size);
		*ret_size = data->d_size;
		return 0;
	}
	return -EBADMSG;
}

/* .eh_frame of a file without section headers: .eh_frame_hdr, which is a segment, points to it. */
static int find_by_header(Elf *elf, struct cfi_section *section, uint8_t **ret)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	struct dwarf_cursor cursor;
	GElf_Phdr header;
	uint8_t encoding;
	size_t n, size;
	int r = -ENODATA;

	if (elf_getphdrnum(elf, &n) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < n && r == -ENODATA; i++)
		if (gelf_getphdr(elf, i, &header) && header.p_type == PT_GNU_EH_FRAME)
			r = copy_from_address(elf, header.p_vaddr, &bytes, &size);
	if (r < 0)
		return r;
	cursor = (struct dwarf_cursor){ bytes, bytes + size, false };
	if (dwarf_take(&cursor, 1) != 1) /* its version */
		return -EBADMSG;
	encoding = dwarf_take(&cursor, 1);
	dwarf_take(&cursor, 2); /* how its own table is encoded */
	section->address = cfi_take_encoded(&cursor, encoding, header.p_vaddr + 4);
	if (cursor.is_bad)
		return -EBADMSG;
	r = copy_from_address(elf, section->address, ret, &section->size);
	section->bytes = *ret;
	return r;
}

static int read_eh_frame(Elf *elf, struct cfi_section *section, uint8_t **ret)
{
	int r = find_section(elf, ".eh_frame", &section->address, ret, &section->size);

	section->kind = CFI_EH_FRAME;
	section->bytes = *ret;
	return r == -ENODATA ? find_by_header(elf, section, ret) : r;
}

static int read_debug_frame(Elf *elf, struct cfi_section *section, uint8_t **ret)
{
	uint64_t unused; /* it is not loaded */
	int r = find_section(elf, ".debug_frame", &unused, ret, &section->size);

	section->kind = CFI_DEBUG_FRAME;
	section->bytes = *ret;
	return r;
}

static void take_segments(const struct elf_image *image, struct unwind_bytes *bytes)
{
	bytes->source.segments = bytes->segments;
	for (size_t i = 0; i < image->n_segments; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (segment->is_executable)
			bytes->segments[bytes->source.n_segments++] = (struct unwind_segment){
				segment->offset,
				segment->size,
				segment->address,
			};
	}
}

int unwind_bytes_read(const struct elf_image *image, struct unwind_bytes *ret)
{
	static int (*const readers[])(Elf *, struct cfi_section *, uint8_t **) = {
		read_eh_frame,
		read_debug_frame,
	};
	struct unwind_source *source = &ret->source;
	GElf_Ehdr header;
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	if (!gelf_getehdr(image->elf, &header))
		return -EBADMSG;
	source->arch = unwind_arch_find(header.e_machine);
	if (!source->arch)
		return -ENOTSUP;
	take_segments(image, ret);
	source->sections = ret->sections;
	for (size_t i = 0; i < 2 && r >= 0; i++) {
		r = readers[i](image->elf, &ret->sections[source->n_sections],
			       &ret->owned[source->n_sections]);
		if (r == 0)
			source->n_sections++;
		if (r == -ENODATA)
			r = 0;
	}
	if (r < 0)
		unwind_bytes_deinit(ret);
	return r;
}

void unwind_bytes_deinit(struct unwind_bytes *bytes)
{
	for (size_t i = 0; i < 2; i++)
		free(take_pointer(bytes->owned[i]));
	bytes->source.n_sections = 0;
}
