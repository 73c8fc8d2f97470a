/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ELF file behind an image: opened through the image server (or, on a recorded stream, by its
 * path), read but never mapped, so that a file that is cut under us cannot kill us (SIGBUS).
 */
#pragma once

#include <libelf.h>

#include "common/file/file-state.h"
#include "common/image-server/image-client.h"
#include "common/stream/image-table.h"

enum { ELF_IMAGE_SEGMENTS_MAX = 256 }; /* loaded segments; a file with more is refused */

struct elf_segment {
	uint64_t offset, size; /* in the file */
	uint64_t address;      /* as linked */
	bool is_executable;
};

enum elf_image_outcome {
	ELF_IMAGE_OK = 0,
	ELF_IMAGE_E_UNAVAILABLE, /* the bytes cannot be had */
	ELF_IMAGE_E_NOT_ELF, /* they are no ELF file of the stream's machine, or a damaged one */
};

struct elf_image {
	int fd;	  /* owned; -1: the image is in memory */
	Elf *elf; /* NULL: it is suspended */
	struct elf_segment *segments;
	size_t n_segments;
	uint64_t low, high;	 /* addresses that it takes when loaded, as linked */
	uint64_t entry;		 /* where the kernel starts it, as linked; 0: nowhere */
	size_t n_hidden;	 /* sections that are beyond the limits of elf-limits.h */
	struct file_state state; /* when it was opened; all zero: it is in memory */
	uint64_t modified;	 /* when its content was, or later; 0: it is in memory */
	uint16_t machine;	 /* e_machine */
};

/* Opens an image. A positive outcome, or -ENOMEM. */
int elf_image_open(const struct image *image, struct image_client *client, struct elf_image *ret);

/* The file behind an image, ELF or not, as a descriptor that the caller owns; -errno: none. */
int elf_image_open_file(const struct image *image, struct image_client *client);

/*
 * The same of an open file, which is of that e_machine, or of this machine's if that is 0; takes
 * the descriptor over, come what may.
 */
int elf_image_open_descriptor(int fd, uint16_t machine, struct elf_image *ret);
void elf_image_close(struct elf_image *elf_image);

/*
 * Closes the file but keeps what is known of it; elf_image_resume() opens it again: as
 * elf_image_open(), and after a failure it is still suspended.
 */
void elf_image_suspend(struct elf_image *elf_image);
int elf_image_resume(const struct image *image, struct image_client *client,
		     struct elf_image *elf_image);

/* Whether what is read of the file now is what was opened. */
bool elf_image_is_unchanged(const struct elf_image *elf_image);

/* The address, as linked, of an offset in the file; false: no segment holds it. */
bool elf_image_address(const struct elf_image *elf_image, uint64_t offset, uint64_t *ret);

/* The other way round. */
bool elf_image_offset(const struct elf_image *elf_image, uint64_t address, uint64_t *ret);

/* Fills in the record but for its file id; `ret->build_id` points into the Elf. */
void elf_image_id(const struct elf_image *elf_image, uint64_t image, struct wire_image_id *ret);
