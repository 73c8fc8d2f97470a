/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>

#include "common/arch/arch.h"
#include "common/base/cleanup.h"
#include "common/elf/elf-image.h"
#include "common/elf/elf-limits.h"
#include "common/image-server/image-descriptor.h"

enum {
	GO_BUILD_ID_NOTE = 4,
	NOTES_MAX = 65536, /* bytes of a segment of notes */
};
static const char go_note[] = "Go\0"; /* with both zero bytes */

/* Tries the image server; if there is none, the recorded path. */
int elf_image_open_file(const struct image *image, struct image_client *client)
{
	const struct wire_image record = image_record(image);
	struct wire_image_state state;
	int fd = -1, r;

	r = image_client_open(client, image->number, &state, &fd);
	if (r == 0 && fd >= 0 && !image_descriptor_is_of(fd, &record, &state)) {
		close(fd);
		return -ESTALE;
	}
	if (r == -ENOTCONN && image->state.status)
		r = image_open_recorded(&record, &image->state, &fd);
	else if (r == -ENOTCONN)
		r = image_open_unconfirmed(client, &record, &fd);
	client->was_denied = client->is_recorded && r == -EACCES;
	return r < 0 ? r : fd;
}

/* Only files with ELF magic go further: libelf would open archives, libdwfl compressed files. */
static bool has_elf_magic(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       !memcmp(magic, ELFMAG, SELFMAG);
}

static int begin_descriptor(int fd, struct elf_image *elf_image)
{
	elf_version(EV_CURRENT);
	elf_image->fd = fd;
	if (fd < 0)
		return ELF_IMAGE_E_UNAVAILABLE;
	if (!has_elf_magic(fd))
		return ELF_IMAGE_E_NOT_ELF;
	elf_image->elf = elf_begin(fd, ELF_C_READ, NULL);
	return elf_image->elf ? 0 : ELF_IMAGE_E_NOT_ELF;
}

static int begin_memory(const struct image *image, struct elf_image *elf_image)
{
	elf_version(EV_CURRENT);
	elf_image->elf = elf_memory(image->bytes, image->n_bytes);
	return elf_image->elf ? 0 : ELF_IMAGE_E_NOT_ELF;
}

/* `machine` is the required e_machine; 0: this machine's. */
static bool read_header(struct elf_image *elf_image, uint16_t machine)
{
	GElf_Ehdr header;

	if (elf_kind(elf_image->elf) != ELF_K_ELF || !gelf_getehdr(elf_image->elf, &header) ||
	    header.e_machine != (machine ?: arch_host()->elf_machine) ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    (header.e_type != ET_EXEC && header.e_type != ET_DYN))
		return false;
	elf_image->machine = header.e_machine;
	elf_image->entry = header.e_entry;
	return true;
}

static bool bound(struct elf_image *elf_image)
{
	if (elf_image->fd < 0)
		return elf_limits_hold(elf_image->elf);
	elf_image->n_hidden = elf_limits_apply(elf_image->elf);
	return true;
}

/* Reads the loaded segments, and the range that libdwfl gives a module of this file. */
static int read_segments(struct elf_image *elf_image)
{
	size_t n;

	if (elf_getphdrnum(elf_image->elf, &n) < 0 || n > ELF_IMAGE_SEGMENTS_MAX)
		return ELF_IMAGE_E_NOT_ELF;
	elf_image->segments = calloc(n ? n : 1, sizeof(*elf_image->segments));
	if (!elf_image->segments)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf_image->elf, i, &header) || header.p_type != PT_LOAD)
			continue;
		if (elf_image->n_segments == 0)
			elf_image->low = header.p_align > 1 ? header.p_vaddr & -header.p_align
							    : header.p_vaddr;
		elf_image->segments[elf_image->n_segments++] = (struct elf_segment){
			.offset = header.p_offset,
			.size = header.p_filesz,
			.address = header.p_vaddr,
			.is_executable = header.p_flags & PF_X,
		};
		if (header.p_vaddr + header.p_memsz > elf_image->high)
			elf_image->high = header.p_vaddr + header.p_memsz;
	}
	if (!elf_image->n_segments || elf_image->high <= elf_image->low)
		return ELF_IMAGE_E_NOT_ELF;
	return 0;
}

static struct file_state find_state(int fd)
{
	struct stat status;

	return fd >= 0 && fstat(fd, &status) == 0 ? file_state_of(&status)
						  : (struct file_state){ 0 };
}

bool elf_image_is_unchanged(const struct elf_image *elf_image)
{
	const struct file_state now = find_state(elf_image->fd);

	return !file_state_may_differ(&elf_image->state, &now);
}

/* Completes an opening whose first step returned `outcome`. */
static int finish(struct elf_image *elf_image, int outcome, uint16_t machine, struct elf_image *ret)
{
	if (!outcome && !(read_header(elf_image, machine) && bound(elf_image)))
		outcome = ELF_IMAGE_E_NOT_ELF;
	if (!outcome)
		outcome = read_segments(elf_image);
	if (outcome) {
		elf_image_close(elf_image);
		return outcome;
	}
	elf_image->state = find_state(elf_image->fd);
	elf_image->modified = elf_image->state.modified;
	*ret = *elf_image;
	return 0;
}

static bool has_build_id(const struct elf_image *elf_image, const struct image *image)
{
	struct wire_image_id id;

	elf_image_id(elf_image, image->number, &id);
	return id.build_id.size == image->build_id_size &&
	       !memcmp(id.build_id.data, image->build_id, image->build_id_size);
}

/* A debug file has no code, and so other offsets than the file that was mapped. */
static bool take_segments(const struct image *image, struct elf_image *elf_image)
{
	size_t n = image->n_segments;
	struct elf_segment *segments = n ? calloc(n, sizeof(*segments)) : NULL;

	if (!segments)
		return !n;
	for (size_t i = 0; i < n; i++)
		segments[i] = (struct elf_segment){
			.offset = image->segments[i].offset,
			.size = image->segments[i].size,
			.address = image->segments[i].address,
			.is_executable = true,
		};
	free(elf_image->segments);
	elf_image->segments = segments;
	elf_image->n_segments = n;
	return true;
}

/* Whether the file of `fd`, which it takes over, has the image's build-id. */
static bool try_descriptor(const struct image *image, int fd, uint16_t machine,
			   struct elf_image *ret)
{
	if (elf_image_open_descriptor(fd, machine, ret) != ELF_IMAGE_OK)
		return false;
	if (has_build_id(ret, image) && take_segments(image, ret))
		return true;
	elf_image_close(ret);
	return false;
}

/*
 * A file with the build-id is accepted at any path. It may be any user's if it is the mapped file
 * and unchanged; otherwise it must be trusted (file-trust.h), as anyone can forge a build-id.
 */
static int open_by_build_id(const struct image *image, struct image_client *client,
			    struct elf_image *ret)
{
	const struct wire_image record = image_record(image);
	int fd, r;

	if (!client->has_server && image_open_unconfirmed(client, &record, &fd) == 0 &&
	    try_descriptor(image, fd, client->machine, ret))
		return ELF_IMAGE_OK;
	for (size_t i = 0; (r = image_open_candidate(client, image->path, image->build_id,
						     image->build_id_size, i, &fd)) != -ERANGE;
	     i++) {
		if (r == 0 && try_descriptor(image, fd, client->machine, ret))
			return ELF_IMAGE_OK;
	}
	return ELF_IMAGE_E_UNAVAILABLE;
}

/*
 * False for streams before 1.9: they lack the ctime, and the present one may be of a later change.
 */
static bool has_change(const struct image *image)
{
	return !image->state.status || image->state.changed;
}

int elf_image_open(const struct image *image, struct image_client *client, struct elf_image *ret)
{
	struct elf_image elf_image = { .fd = -1 };
	int outcome = ELF_IMAGE_E_UNAVAILABLE;

	if (image->bytes)
		outcome = begin_memory(image, &elf_image);
	else if (image->kind == WIRE_image_kind_FILE &&
		 (client->has_server || !image->build_id_size))
		outcome = begin_descriptor(elf_image_open_file(image, client), &elf_image);
	if (outcome == ELF_IMAGE_E_UNAVAILABLE && image->kind == WIRE_image_kind_FILE &&
	    image->build_id_size)
		return open_by_build_id(image, client, ret);
	outcome = finish(&elf_image, outcome, client->machine, ret);
	/* The build-id has not identified the file, so its mtime alone is not trusted. */
	if (outcome == ELF_IMAGE_OK && has_change(image))
		ret->modified = file_state_written(&ret->state);
	return outcome;
}

int elf_image_open_descriptor(int fd, uint16_t machine, struct elf_image *ret)
{
	struct elf_image elf_image = { .fd = -1 };

	return finish(&elf_image, begin_descriptor(fd, &elf_image), machine, ret);
}

void elf_image_suspend(struct elf_image *elf_image)
{
	elf_end(elf_image->elf);
	if (elf_image->fd >= 0)
		close(elf_image->fd);
	elf_image->elf = NULL;
	elf_image->fd = -1;
}

int elf_image_resume(const struct image *image, struct image_client *client,
		     struct elf_image *elf_image)
{
	struct elf_image again;
	int outcome = elf_image_open(image, client, &again);

	if (outcome != ELF_IMAGE_OK)
		return outcome;
	free(elf_image->segments);
	*elf_image = again;
	return ELF_IMAGE_OK;
}

void elf_image_close(struct elf_image *elf_image)
{
	elf_image_suspend(elf_image);
	free(elf_image->segments);
	*elf_image = (struct elf_image){ .fd = -1 };
}

static bool holds(const struct elf_segment *segment, uint64_t offset)
{
	return offset >= segment->offset && offset - segment->offset < segment->size;
}

/*
 * Segments are mapped in whole pages: an executable mapping may begin before its segment's first
 * byte, at an offset that belongs to another segment in the file. So executable segments take
 * precedence, with the rest of their first page.
 */
bool elf_image_address(const struct elf_image *elf_image, uint64_t offset, uint64_t *ret)
{
	const uint64_t page = 4096;
	const struct elf_segment *best = NULL;

	for (size_t i = 0; i < elf_image->n_segments; i++) {
		const struct elf_segment *segment = &elf_image->segments[i];

		if (segment->is_executable && holds(segment, offset)) {
			best = segment;
			break;
		}
		if (segment->is_executable && offset < segment->offset &&
		    offset >= (segment->offset & -page))
			best = segment;
		else if (!best && holds(segment, offset))
			best = segment;
	}
	if (best)
		*ret = best->address + (offset - best->offset);
	return best;
}

bool elf_image_offset(const struct elf_image *elf_image, uint64_t address, uint64_t *ret)
{
	for (size_t i = 0; i < elf_image->n_segments; i++) {
		const struct elf_segment *segment = &elf_image->segments[i];

		if (address >= segment->address && address - segment->address < segment->size) {
			*ret = segment->offset + (address - segment->address);
			return true;
		}
	}
	return false;
}

void elf_image_id(const struct elf_image *elf_image, uint64_t image, struct wire_image_id *ret)
{
	const void *build_id;
	ssize_t size = dwelf_elf_gnu_build_id(elf_image->elf, &build_id);

	*ret = (struct wire_image_id){ .image = image };
	if (size > 0 && size <= WIRE_BUILD_ID_MAX)
		ret->build_id = (struct wire_blob){ build_id, size };
}

struct wire_addrs elf_image_code(const struct elf_image *elf_image,
				 uint64_t words[WIRE_SEGMENTS_MAX * WIRE_SEGMENT_WORDS])
{
	size_t n = 0;

	for (size_t i = 0; i < elf_image->n_segments; i++) {
		const struct elf_segment *segment = &elf_image->segments[i];

		if (!segment->is_executable || !segment->size ||
		    n == WIRE_SEGMENTS_MAX * WIRE_SEGMENT_WORDS)
			continue;
		words[n++] = segment->offset;
		words[n++] = segment->address;
		words[n++] = segment->size;
	}
	return (struct wire_addrs){ words, n };
}

/* Go's note among those of a segment; NULL data: it has none. */
static struct wire_string find_go_note(Elf_Data *notes)
{
	size_t at = 0, name, text;
	GElf_Nhdr note;

	while ((at = gelf_getnote(notes, at, &note, &name, &text)) > 0) {
		const char *bytes = notes->d_buf;

		if (note.n_type == GO_BUILD_ID_NOTE && note.n_namesz == sizeof(go_note) &&
		    !memcmp(bytes + name, go_note, sizeof(go_note)))
			return (struct wire_string){ bytes + text,
						     strnlen(bytes + text, note.n_descsz) };
	}
	return (struct wire_string){ 0 };
}

struct wire_string elf_image_go_build_id(const struct elf_image *elf_image)
{
	struct wire_string ret = { 0 };
	size_t n;

	if (elf_getphdrnum(elf_image->elf, &n) < 0)
		return ret;
	for (size_t i = 0; i < n && i < ELF_IMAGE_SEGMENTS_MAX && !ret.data; i++) {
		GElf_Phdr header;
		Elf_Data *notes;

		if (!gelf_getphdr(elf_image->elf, i, &header) || header.p_type != PT_NOTE ||
		    header.p_filesz > NOTES_MAX)
			continue;
		notes = elf_getdata_rawchunk(elf_image->elf, header.p_offset, header.p_filesz,
					     header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (notes)
			ret = find_go_note(notes);
	}
	return ret;
}
