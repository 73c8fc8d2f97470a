/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <elf.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/file/read-file.h"
#include "common/source/kernel-build-id.h"

enum { NOTES_MAX = 64 * 1024 }; /* bytes; kernels have about 200 */

/* A note without padding. */
struct note {
	uint32_t type;
	const uint8_t *name, *description;
	size_t name_size, description_size;
};

/* The kernel's notes pad names and descriptions to 4 bytes (linux/elfnote.h). */
static size_t round_up_4(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

/* The bytes that the first note takes; 0: it is truncated. */
static size_t parse_note(const uint8_t *notes, size_t size, struct note *ret)
{
	Elf64_Nhdr header;
	size_t left, padded;

	if (size < sizeof(header))
		return 0;
	memcpy(&header, notes, sizeof(header));
	left = size - sizeof(header);
	if (header.n_namesz > left || round_up_4(header.n_namesz) > left)
		return 0;
	left -= round_up_4(header.n_namesz);
	if (header.n_descsz > left)
		return 0;
	*ret = (struct note){
		.type = header.n_type,
		.name = notes + sizeof(header),
		.name_size = header.n_namesz,
		.description = notes + (size - left),
		.description_size = header.n_descsz,
	};
	padded = round_up_4(header.n_descsz);
	return size - left + (padded < left ? padded : left); /* the last one may lack padding */
}

static bool is_build_id(const struct note *note)
{
	return note->type == NT_GNU_BUILD_ID && note->name_size == sizeof(ELF_NOTE_GNU) &&
	       !memcmp(note->name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) && note->description_size &&
	       note->description_size <= WIRE_BUILD_ID_MAX;
}

size_t kernel_build_id_find(const void *notes, size_t size, const uint8_t **ret)
{
	const uint8_t *at = notes;
	struct note note;
	size_t step;

	for (; (step = parse_note(at, size, &note)); at += step, size -= step) {
		if (is_build_id(&note)) {
			*ret = note.description;
			return note.description_size;
		}
	}
	return 0;
}

size_t kernel_build_id_read(uint8_t ret[WIRE_BUILD_ID_MAX])
{
	_cleanup_free_ char *notes = NULL;
	const uint8_t *build_id;
	size_t size;

	if (read_file("/sys/kernel/notes", NOTES_MAX, &notes, &size) < 0)
		return 0;
	size = kernel_build_id_find(notes, size, &build_id);
	if (size)
		memcpy(ret, build_id, size);
	return size;
}
