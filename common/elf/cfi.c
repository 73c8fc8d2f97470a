/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/growing-list.h"
#include "common/elf/cfi.h"

/* DW_EH_PE_indirect (needs the process's memory; linkers do not write it) and DW_EH_PE_omit. */
enum { POINTER_INDIRECT = 0x80, POINTER_OMIT = 0xff };

static uint64_t take_format(struct dwarf_cursor *cursor, uint8_t format)
{
	switch (format) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return dwarf_take(cursor, 8);
	case DW_EH_PE_udata4:
		return dwarf_take(cursor, 4);
	case DW_EH_PE_sdata4:
		return (int32_t)dwarf_take(cursor, 4);
	case DW_EH_PE_udata2:
		return dwarf_take(cursor, 2);
	case DW_EH_PE_sdata2:
		return (int16_t)dwarf_take(cursor, 2);
	case DW_EH_PE_uleb128:
		return dwarf_take_uleb(cursor);
	case DW_EH_PE_sleb128:
		return dwarf_take_sleb(cursor);
	default:
		cursor->is_bad = true;
		return 0;
	}
}

uint64_t cfi_take_encoded(struct dwarf_cursor *cursor, uint8_t encoding, uint64_t address)
{
	uint64_t value = take_format(cursor, encoding & 0x0f);

	switch (encoding & 0x70) {
	case 0: /* absolute */
		break;
	case DW_EH_PE_pcrel:
		value += address;
		break;
	default: /* relative to a segment or a function: meaningless for the start of code */
		cursor->is_bad = true;
	}
	if (encoding & POINTER_INDIRECT)
		cursor->is_bad = true;
	return value;
}

/* A CIE or FDE of the section. */
struct entry {
	size_t at;
	struct dwarf_cursor body; /* what follows its length and id */
	uint64_t id;
	const uint8_t *id_at;
	size_t id_size;
	size_t next;
};

/* Reads the entry at an offset; false: the section ends here, or the entry is cut. */
static bool read_entry(const struct cfi_section *section, size_t at, struct entry *ret)
{
	struct dwarf_cursor cursor = { section->bytes + at, section->bytes + section->size, false };
	uint64_t length;

	*ret = (struct entry){ .at = at, .id_size = 4 };
	if (at >= section->size)
		return false;
	length = dwarf_take(&cursor, 4);
	if (length == 0xffffffff) {
		length = dwarf_take(&cursor, 8);
		ret->id_size = section->kind == CFI_DEBUG_FRAME ? 8 : 4;
	}
	if (cursor.is_bad || length == 0 || length > (uint64_t)(cursor.end - cursor.at))
		return false;
	ret->next = cursor.at - section->bytes + length;
	cursor.end = cursor.at + length;
	ret->id_at = cursor.at;
	ret->id = dwarf_take(&cursor, ret->id_size);
	ret->body = cursor;
	return true;
}

static bool is_common(const struct cfi_section *section, const struct entry *entry)
{
	if (section->kind == CFI_EH_FRAME)
		return entry->id == 0;
	return entry->id == (entry->id_size == 8 ? UINT64_MAX : UINT32_MAX);
}

/*
 * Reads an augmentation. Data after "z" has a size, so an unknown character ends reading without
 * harm. Returns false if the size of the augmentation's data is unknown or the data is malformed.
 */
static bool read_augmentation(const struct cfi_section *section, const char *augmentation,
			      struct dwarf_cursor *cursor, struct cfi_common *common)
{
	struct dwarf_cursor data = *cursor;
	uint64_t size;

	if (*augmentation == 0)
		return true;
	if (*augmentation++ != 'z')
		return false;
	common->has_augmentation_size = true;
	size = dwarf_take_uleb(cursor);
	if (cursor->is_bad || size > (uint64_t)(cursor->end - cursor->at))
		return false;
	data = (struct dwarf_cursor){ cursor->at, cursor->at + size, false };
	cursor->at += size;
	for (; *augmentation && !data.is_bad; augmentation++) {
		switch (*augmentation) {
		case 'R':
			common->encoding = dwarf_take(&data, 1);
			break;
		case 'L':
			dwarf_take(&data, 1);
			break;
		case 'P':
			size = dwarf_take(&data, 1);
			if (size != POINTER_OMIT)
				take_format(&data, size & 0x0f);
			break;
		case 'S':
			common->is_signal_frame = true;
			break;
		case 'B': /* aarch64: signed with key B; signatures are masked anyway */
			break;
		default:
			return true;
		}
	}
	return !data.is_bad;
}

static void read_common(const struct cfi_section *section, const struct entry *entry,
			struct cfi_common *ret)
{
	struct dwarf_cursor cursor = entry->body;
	uint8_t version = dwarf_take(&cursor, 1);
	const char *augmentation = (const char *)cursor.at;
	bool is_good = true;

	*ret = (struct cfi_common){ .at = entry->at, .encoding = DW_EH_PE_absptr };
	while (dwarf_take(&cursor, 1)) /* the augmentation's text and its zero byte */
		;
	if (cursor.is_bad || (version != 1 && version != 3 && version != 4))
		return;
	if (version == 4) /* address size, segment selector size */
		is_good = dwarf_take(&cursor, 1) == 8 && dwarf_take(&cursor, 1) == 0;
	ret->code_factor = dwarf_take_uleb(&cursor);
	ret->data_factor = dwarf_take_sleb(&cursor);
	ret->return_address = version == 1 ? dwarf_take(&cursor, 1) : dwarf_take_uleb(&cursor);
	is_good = is_good && read_augmentation(section, augmentation, &cursor, ret);
	ret->program = cursor.at;
	ret->program_end = cursor.end;
	ret->is_good = is_good && !cursor.is_bad &&
		       ret->program_end - ret->program <= CFI_COMMON_PROGRAM_MAX;
}

static int compare_at(const void *a, const void *b)
{
	const struct cfi_common *left = a, *right = b;

	return left->at < right->at ? -1 : left->at > right->at;
}

/* Returns the CIE that an FDE points to; NULL: there is none at that offset. */
static const struct cfi_common *find_common(const struct cfi_section *section,
					    const struct cfi *cfi, const struct entry *entry)
{
	struct cfi_common wanted = { .at = entry->id };

	if (!cfi->n_commons)
		return NULL;
	if (section->kind == CFI_EH_FRAME)
		wanted.at = entry->id_at - section->bytes - entry->id;
	if (cfi->commons[cfi->n_commons - 1].at == wanted.at)
		return &cfi->commons[cfi->n_commons - 1];
	return bsearch(&wanted, cfi->commons, cfi->n_commons, sizeof(wanted), compare_at);
}

static bool read_description(const struct cfi_section *section, const struct cfi_common *common,
			     const struct entry *entry, struct cfi_description *ret)
{
	struct dwarf_cursor cursor = entry->body;
	uint64_t length, size;

	ret->range = cursor.at;
	ret->start = cfi_take_encoded(&cursor, common->encoding, cfi_address(section, cursor.at));
	length = take_format(&cursor, common->encoding & 0x0f);
	if (common->has_augmentation_size) {
		size = dwarf_take_uleb(&cursor);
		if (size > (uint64_t)(cursor.end - cursor.at))
			return false;
		cursor.at += size;
	}
	ret->end = ret->start + length;
	ret->program = cursor.at;
	ret->program_end = cursor.end;
	return !cursor.is_bad && ret->end > ret->start;
}

static int compare_start(const void *a, const void *b)
{
	const struct cfi_description *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->program < right->program ? -1 : left->program > right->program;
}

/* Linkers usually emit FDEs in order, which costs no sorting. */
static void sort(struct cfi *cfi)
{
	for (size_t i = 1; i < cfi->n; i++) {
		if (cfi->list[i].start >= cfi->list[i - 1].start)
			continue;
		qsort(cfi->list, cfi->n, sizeof(*cfi->list), compare_start);
		return;
	}
}

static int read_commons(const struct cfi_section *section, struct cfi *cfi)
{
	struct cfi_common common;
	struct entry entry;
	int r = 0;

	for (size_t at = 0; r == 0 && read_entry(section, at, &entry); at = entry.next) {
		if (!is_common(section, &entry))
			continue;
		read_common(section, &entry, &common);
		r = GROWING_LIST_ADD(cfi->commons, cfi->n_commons, common);
	}
	return r;
}

static int read_descriptions(const struct cfi_section *section, struct cfi *cfi)
{
	struct cfi_description description;
	const struct cfi_common *common;
	struct entry entry;
	int r = 0;

	for (size_t at = 0; r == 0 && read_entry(section, at, &entry); at = entry.next) {
		if (is_common(section, &entry))
			continue;
		common = find_common(section, cfi, &entry);
		if (!common || !common->is_good ||
		    !read_description(section, common, &entry, &description)) {
			cfi->n_refused++;
			continue;
		}
		description.common = common - cfi->commons;
		r = GROWING_LIST_ADD(cfi->list, cfi->n, description);
	}
	return r;
}

/* Reads CIEs first: in .debug_frame an FDE may precede its own CIE. */
int cfi_read(const struct cfi_section *section, struct cfi *ret)
{
	struct cfi cfi = { .section = *section };
	int r = read_commons(section, &cfi);

	if (r == 0)
		r = read_descriptions(section, &cfi);
	if (r < 0) {
		cfi_deinit(&cfi);
		return r;
	}
	sort(&cfi);
	*ret = cfi;
	return 0;
}

void cfi_deinit(struct cfi *cfi)
{
	free(cfi->list);
	free(cfi->commons);
	*cfi = (struct cfi){ 0 };
}
