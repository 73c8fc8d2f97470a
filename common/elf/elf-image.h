/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ELF file behind an image: opened through the image server (or, in a recorded stream, by
 * path), read and never mapped, so that truncating it cannot kill us (SIGBUS).
 */
#pragma once

#include <libelf.h>

#include "common/file/file-state.h"
#include "common/image-server/image-client.h"
#include "common/stream/image-table.h"

enum { ELF_IMAGE_SEGMENTS_MAX = 256 }; /* program headers; a file with more is refused */

struct elf_segment {
	uint64_t offset, size; /* in the file */
	uint64_t address;      /* as linked */
	bool is_executable;
};

enum elf_image_outcome {
	ELF_IMAGE_OK = 0,
	ELF_IMAGE_E_UNAVAILABLE, /* the bytes are not available */
	ELF_IMAGE_E_NOT_ELF,	 /* not an ELF file of the stream's machine, or damaged */
};

struct elf_image {
	int fd;	  /* owned; -1: in memory, or suspended */
	Elf *elf; /* NULL: suspended */
	struct elf_segment *segments;
	size_t n_segments;
	uint64_t low, high;	 /* range of its addresses when loaded, as linked */
	uint64_t entry;		 /* entry point as linked; 0: none */
	size_t n_hidden;	 /* sections beyond the limits of elf-limits.h */
	struct file_state state; /* when it was opened; all zero: in memory */
	uint64_t modified;	 /* Unix time of its last write or later, ns; 0: in memory */
	uint16_t machine;	 /* e_machine */
};

/* Opens an image. Returns an elf_image_outcome or -ENOMEM. */
int elf_image_open(const struct image *image, struct image_client *client, struct elf_image *ret);

/* Opens the file behind an image, ELF or not. Returns a descriptor, to be closed, or -errno. */
int elf_image_open_file(const struct image *image, struct image_client *client);

/* As elf_image_open() for an open file, which it takes over; `machine` 0: this machine's. */
int elf_image_open_descriptor(int fd, uint16_t machine, struct elf_image *ret);
void elf_image_close(struct elf_image *elf_image);

/*
 * Closes the file but keeps its segments and state. elf_image_resume() reopens it and returns as
 * elf_image_open(); after a failure the image is still suspended.
 */
void elf_image_suspend(struct elf_image *elf_image);
int elf_image_resume(const struct image *image, struct image_client *client,
		     struct elf_image *elf_image);

/* Whether the file has not changed since it was opened. */
bool elf_image_is_unchanged(const struct elf_image *elf_image);

/* The address, as linked, of a file offset; false: no segment holds it. */
bool elf_image_address(const struct elf_image *elf_image, uint64_t offset, uint64_t *ret);

/* The file offset of an address as linked; false: no segment holds it. */
bool elf_image_offset(const struct elf_image *elf_image, uint64_t address, uint64_t *ret);

/*
 * Where its code is, as image_id has it, in `words`. Segments beyond WIRE_SEGMENTS_MAX are left
 * out.
 */
struct wire_addrs elf_image_code(const struct elf_image *elf_image,
				 uint64_t words[WIRE_SEGMENTS_MAX * WIRE_SEGMENT_WORDS]);

/* The build-id of Go's linker (a note of type 4); it points into the Elf. Empty: it has none. */
struct wire_string elf_image_go_build_id(const struct elf_image *elf_image);

/*
 * Fills in the record without its file id, segments and Go's build-id; `ret->build_id` points into
 * the Elf.
 */
void elf_image_id(const struct elf_image *elf_image, uint64_t image, struct wire_image_id *ret);
