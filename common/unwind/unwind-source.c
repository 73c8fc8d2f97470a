/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/elf/elf-section.h"
#include "common/unwind/go-elf.h"
#include "common/unwind/unwind-dropped.h"
#include "common/unwind/unwind-source.h"

/*
 * Finds a section's bytes, decompressed, as libelf keeps them. One without bytes in the file counts
 * as missing, as the .eh_frame that ld leaves where all is in .debug_frame.
 */
static int get_section(const struct elf_section *section, Elf_Data **ret)
{
	const GElf_Shdr *header = &section->header;

	if (header->sh_type == SHT_NOBITS || header->sh_size == 0)
		return -ENODATA;
	if (header->sh_size > UNWIND_SECTION_MAX ||
	    elf_section_size_in_memory(section) > UNWIND_SECTION_MAX)
		return -EFBIG;
	if (header->sh_flags & SHF_COMPRESSED && elf_compress(section->handle, 0, 0) < 0)
		return -EBADMSG;
	*ret = elf_getdata(section->handle, NULL);
	return *ret && (*ret)->d_buf ? 0 : -EBADMSG;
}

static int copy_section(const struct elf_section *section, uint8_t **ret, size_t *ret_size)
{
	Elf_Data *data;
	int r = get_section(section, &data);

	if (r < 0)
		return r;
	*ret = malloc(data->d_size + 1);
	if (!*ret)
		return -ENOMEM;
	memcpy(*ret, data->d_buf, data->d_size);
	*ret_size = data->d_size;
	return 0;
}

/* Copies a section; -ENODATA: there is none of that name. */
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

/* Copies the bytes from an address to the end of its segment. */
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

/* .eh_frame of a file without section headers, by .eh_frame_hdr, which is a segment. */
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
	if (dwarf_take(&cursor, 1) != 1) /* version */
		return -EBADMSG;
	encoding = dwarf_take(&cursor, 1);
	dwarf_take(&cursor, 2); /* encodings of its search table */
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
	uint64_t unused; /* .debug_frame is not loaded */
	int r = find_section(elf, ".debug_frame", &unused, ret, &section->size);

	section->kind = CFI_DEBUG_FRAME;
	section->bytes = *ret;
	return r;
}

/* Finds the first code: a segment may begin with headers, or data (ld -z noseparate-code). */
static void find_code(const struct elf_image *image, const GElf_Ehdr *header,
		      struct unwind_bytes *bytes)
{
	uint64_t headers_end = header->e_phoff + (uint64_t)header->e_phnum * header->e_phentsize;

	for (size_t i = 0; i < bytes->source.n_segments; i++) {
		struct unwind_segment *segment = &bytes->segments[i];
		struct elf_section section = elf_section_before_first(image->elf);
		uint64_t first = UINT64_MAX;

		while (elf_section_next(&section))
			if (section.header.sh_flags & SHF_EXECINSTR &&
			    section.header.sh_addr - segment->address < segment->size &&
			    section.header.sh_addr < first)
				first = section.header.sh_addr;
		segment->code = first;
		if (first == UINT64_MAX) /* no sections, or only those of debug files */
			segment->code = segment->address + (segment->offset ? 0 : headers_end);
	}
}

/* PLTs that are too large or too many get no rules. 0 or -ENOMEM. */
static int read_plts(Elf *elf, struct unwind_bytes *bytes)
{
	struct unwind_source *source = &bytes->source;
	struct elf_section section = elf_section_before_first(elf);

	source->plts = bytes->plts;
	while (source->n_plts < UNWIND_PLTS_MAX && elf_section_next(&section)) {
		struct plt_code *plt = &bytes->plts[source->n_plts];
		uint8_t **owned = &bytes->owned_plts[source->n_plts];
		int r;

		if (!elf_section_is_plt(&section))
			continue;
		r = copy_section(&section, owned, &plt->size);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			continue;
		plt->address = section.header.sh_addr;
		plt->bytes = *owned;
		source->n_plts++;
	}
	return 0;
}

/* Copies a Go program's table, unless its version is unknown. 0 or -ENOMEM. */
static int read_go(Elf *elf, struct unwind_bytes *bytes)
{
	if (go_elf_read(elf, &bytes->go) != GO_PCLNTAB_OK)
		return 0;
	bytes->owned_go = malloc(bytes->go.size + 1);
	if (!bytes->owned_go)
		return -ENOMEM;
	memcpy(bytes->owned_go, bytes->go.bytes, bytes->go.size);
	bytes->go.bytes = bytes->owned_go;
	bytes->source.go = &bytes->go;
	return 0;
}

static void take_segments(const struct elf_image *image, struct unwind_bytes *bytes)
{
	bytes->source.segments = bytes->segments;
	for (size_t i = 0; i < image->n_segments; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (segment->is_executable)
			bytes->segments[bytes->source.n_segments++] = (struct unwind_segment){
				.offset = segment->offset,
				.size = segment->size,
				.address = segment->address,
			};
	}
}

static void hide_dropped(const struct unwind_source *source, struct cfi *cfi)
{
	size_t n_dropped = unwind_source_drop_others(source, cfi);

	for (size_t i = cfi->n; i < cfi->n + n_dropped; i++) {
		const struct cfi_description *description = &cfi->list[i];
		uint64_t nowhere = UINT64_MAX - (description->end - description->start);

		if (cfi->commons[description->common].encoding == DW_EH_PE_absptr)
			memcpy((uint8_t *)description->range, &nowhere, sizeof(nowhere));
	}
}

void unwind_source_hide_dropped(const struct elf_image *image)
{
	_cleanup_(unwind_bytes_deinit) struct unwind_bytes bytes = { 0 };
	_cleanup_(cfi_deinit) struct cfi cfi = { 0 };
	struct elf_section section = elf_section_before_first(image->elf);
	struct cfi_section frames;
	GElf_Ehdr header;
	Elf_Data *data;

	if (!gelf_getehdr(image->elf, &header))
		return;
	take_segments(image, &bytes);
	find_code(image, &header, &bytes);
	while (elf_section_next(&section))
		if (!strcmp(section.name, ".debug_frame"))
			break;
	if (!section.handle || get_section(&section, &data) < 0)
		return;
	frames = (struct cfi_section){ CFI_DEBUG_FRAME, data->d_buf, data->d_size, 0 };
	if (cfi_read(&frames, &cfi) == 0)
		hide_dropped(&bytes.source, &cfi);
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
	find_code(image, &header, ret);
	source->sections = ret->sections;
	source->code = &ret->code;
	r = unwind_code_open(image, &ret->code);
	for (size_t i = 0; i < 2 && r >= 0; i++) {
		r = readers[i](image->elf, &ret->sections[source->n_sections],
			       &ret->owned[source->n_sections]);
		if (r == 0)
			source->n_sections++;
		if (r == -ENODATA)
			r = 0;
	}
	if (r >= 0 && source->arch->plt_rows)
		r = read_plts(image->elf, ret);
	if (r >= 0)
		r = read_go(image->elf, ret);
	if (r < 0)
		unwind_bytes_deinit(ret);
	return r;
}

void unwind_bytes_deinit(struct unwind_bytes *bytes)
{
	for (size_t i = 0; i < 2; i++)
		free(take_pointer(bytes->owned[i]));
	unwind_code_close(&bytes->code);
	for (size_t i = 0; i < UNWIND_PLTS_MAX; i++)
		free(take_pointer(bytes->owned_plts[i]));
	free(take_pointer(bytes->owned_go));
	bytes->source.n_sections = bytes->source.n_plts = 0;
	bytes->source.go = NULL;
}
