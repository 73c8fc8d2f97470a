/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The identity of images: one number for one content of one file, from what the kernel reports of
 * a mapping (device, inode, its generation, path). Each new image goes downstream as a record, and
 * a file at once to the image server, while it can still be had. The server sends back a
 * descriptor, by which a file is seen to be written to: what it holds then is another image. Of
 * memory without a file the server finds the process, for what its JIT compiler tells of the code.
 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

#include "common/image-server/image-file.h"
#include "common/stage/stage.h"

enum {
	IMAGES_MAX = 1 << 18, /* known at one time; beyond that all are forgotten and get new
				 numbers when they are met again */
	IMAGES_SPARE_FDS = 256,
	IMAGES_ASK_AGAIN_NS = 10000000, /* no faster, for a file that was gone */
	IMAGE_KERNEL = 1,
	IMAGE_VDSO = 2,
	IMAGE_FIRST = 3,
};

struct images {
	struct stage *stage;	       /* borrowed */
	struct image_entry *by_file;   /* the current one of each file */
	struct image_entry *by_number; /* all that are known */
	uint64_t n_numbers;
	uint64_t n_replaced;
	size_t n_gone; /* current ones that the server came too late for, if they are still there */
	int highest_fd; /* beyond it no descriptors are kept */
	int server_fd;	/* of the image server; -1: none */
	bool vdso_is_known;
	uint64_t special;  /* 0: none is known */
	bool is_elsewhere; /* the processes are not of this kernel: its vDSO is not theirs */
};

/* What is known of a piece of mapped memory. */
struct image_source {
	uint32_t task; /* that has it mapped; any thread of a process */
	uint64_t start, length, offset;
	uint32_t major, minor;
	uint64_t inode, generation; /* generation 0: not known */
	const char *path;	    /* as the kernel gives it */
	const uint8_t *build_id;    /* instead of device and inode, or to them */
	size_t build_id_size;	    /* 0: not known */
};

/* `server_fd` is taken over. */
void images_init(struct images *images, struct stage *stage, int server_fd);
void images_deinit(struct images *images);

/* Memory without a file: images_find() is not for it. */
bool images_is_anonymous(const struct image_source *source);

/*
 * Tells of the kernel's image, and of its ids if `build_id` is not empty: nobody else can read it.
 * 0 or -errno of the output.
 */
int images_add_kernel(struct images *images, struct wire_blob build_id);

/*
 * The number of the image behind a mapping, new or known; `ret_flags` are a mapping's
 * (WIRE_mapping_flags_…). 0 or -errno of the output.
 */
int images_find(struct images *images, const struct image_source *source, uint64_t *ret_image,
		uint32_t *ret_flags);

/* Whether the file behind a mapping has been found already, as far as can be told without a look.
 */
bool images_knows(const struct images *images, const struct image_source *source);

/*
 * Another anonymous image, of the process that /proc shows as `pid` (0: as none): the server is
 * told that its perf map may be asked for. The process was started or executed at `began` (0: not
 * known). 0 or -errno of the output.
 */
int images_add_anonymous(struct images *images, uint32_t pid, uint64_t began, uint64_t *ret_image);

/*
 * An image may hold code of a JIT compiler (jit-memory.h). The process that /proc shows as `pid`
 * (0: as none) is the first that has it mapped: its perf map can be asked for by
 * IMAGE_MESSAGE_MAP_OF. Later ones change nothing.
 */
void images_offer_map(struct images *images, uint64_t image, uint32_t pid, uint64_t began);

/*
 * A file of another recorder as an image (WIRE_image_kind_RECORDING), of which `status` tells; it
 * stays until the stream ends. Its ctime is not told: who reads it takes a file of his own alone,
 * which he may have moved since. 0 or -errno of the output.
 */
int images_add_recording(struct images *images, const char *path, const struct stat *status,
			 uint64_t *ret_image);

/* Whether an image is memory without a file. */
bool images_is_memory(const struct images *images, uint64_t image);

/* Whether an image is a content of a file. */
bool images_is_file(const struct images *images, uint64_t image);

/*
 * Whether that may be the file that `source` names: the same device and inode, by any path, or the
 * same name in any directory. The kernel may tell other numbers of an overlayfs in its events than
 * in /proc.
 */
bool images_may_be_file(const struct images *images, uint64_t image,
			const struct image_source *source);

/*
 * The descriptor of an image as the server has opened it, borrowed. -EAGAIN: it has not answered
 * yet; -ENOENT: the image is no file, or cannot be had.
 */
int images_descriptor(const struct images *images, uint64_t image);

/* Passes on what the image server has found since: 0 or -errno of the output. */
int images_take_states(struct images *images);

/* Looks whether any file was written to, and numbers it anew: 0 or -errno of the output. */
int images_check(struct images *images);

/* A process has an image mapped at `time`. */
void images_use(struct images *images, uint64_t image, uint64_t time);

/*
 * Tells the end of all images that have not been used since `since`, and forgets them: a file that
 * is mapped again is another image. 0 or -errno of the output.
 */
int images_end_unused(struct images *images, uint64_t since, uint64_t time);

/* The image that has taken the place of one; itself, if none has. */
uint64_t images_current(const struct images *images, uint64_t image);
