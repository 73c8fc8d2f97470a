/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The identity of images: one number for one content of one file, from what the kernel reports of a
 * mapping (device, inode, generation, path). Each new image is emitted as a record, and a file is
 * at once requested from the image server, while it still exists. The server returns a descriptor,
 * which shows when the file is written to: it becomes another image then. For memory without a file
 * the server finds the process, whose JIT compiler may describe the code.
 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

#include "common/image-server/image-file.h"
#include "common/script/script-place.h"
#include "common/stage/stage.h"

enum {
	IMAGES_MAX = 1 << 18, /* beyond it all are forgotten, and renumbered later */
	IMAGES_SPARE_FDS = 256,
	IMAGES_ASK_AGAIN_NS = 10000000, /* pause before a lost file is requested again */
	IMAGE_KERNEL = 1,
	IMAGE_VDSO = 2,
	IMAGE_FIRST = 3,
};

struct images {
	struct stage *stage;	       /* borrowed */
	struct image_entry *by_file;   /* the current image of each file */
	struct image_entry *by_number; /* all images */
	uint64_t n_numbers;
	uint64_t n_replaced;
	size_t n_gone;	/* current images whose file was gone when the server opened it */
	int highest_fd; /* descriptors above it are closed */
	int server_fd;	/* of the image server; -1: none */
	struct blocked_time blocked; /* in requests to it */
	bool vdso_is_known;
	uint64_t special; /* image of [uprobes]; 0: none yet */
	/* Images of code in languages of interpreters; 0: none yet. */
	uint64_t scripts[SCRIPT_LANGUAGES_MAX];
	bool is_elsewhere; /* the processes run on another kernel, so our vDSO is not theirs */
};

/* A piece of mapped memory. */
struct image_source {
	uint32_t task; /* any thread of a process that has it mapped */
	uint64_t start, length, offset;
	uint32_t major, minor;
	uint64_t inode, generation; /* generation 0: unknown */
	const char *path;	    /* as the kernel reports it */
	const uint8_t *build_id;    /* in addition to device and inode, or instead */
	size_t build_id_size;	    /* 0: unknown */
};

/* Takes `server_fd` over. */
void images_init(struct images *images, struct stage *stage, int server_fd);
void images_deinit(struct images *images);

/* Whether it is memory without a file; images_find() does not handle that. */
bool images_is_anonymous(const struct image_source *source);

/*
 * Emits the kernel's image and, if `build_id` is not empty, its ids, which no later stage can read.
 * 0 or -errno of the output.
 */
int images_add_kernel(struct images *images, struct wire_blob build_id);

/*
 * The image of a mapping, new or known; `ret_flags` are the mapping's (WIRE_mapping_flags_…). 0 or
 * -errno of the output.
 */
int images_find(struct images *images, const struct image_source *source, uint64_t *ret_image,
		uint32_t *ret_flags);

/* The image of a mapping whose file is already known, without examining it; 0: it is not. */
uint64_t images_known(const struct images *images, const struct image_source *source);

/*
 * A new anonymous image of the process that /proc shows as `pid` (0: none), which began at `began`
 * (0: unknown). Announces its perf map to the server. 0 or -errno of the output.
 */
int images_add_anonymous(struct images *images, uint32_t pid, uint64_t began, uint64_t *ret_image);

/*
 * Announces the perf map of an image that may hold JIT code (jit-memory.h), available by
 * IMAGE_MESSAGE_MAP_OF. `pid` (as /proc shows it, 0: none) is the first process that has it mapped;
 * later calls have no effect.
 */
void images_offer_map(struct images *images, uint64_t image, uint32_t pid, uint64_t began);

/*
 * Emits another recorder's file as an image (WIRE_image_kind_RECORDING), which lasts until the end
 * of the stream. Its ctime is omitted: it is read by its owner only, who may have moved it since. 0
 * or -errno of the output.
 */
int images_add_recording(struct images *images, const char *path, const struct stat *status,
			 uint64_t *ret_image);

/* Emits the image of a language's scripts, once. 0 or -errno of the output. */
int images_add_scripts(struct images *images, enum script_language language);

/* This machine's vDSO, which is IMAGE_VDSO unless the processes run on another; empty: none. */
struct wire_blob images_vdso(void);

/* Whether an image is memory without a file. */
bool images_is_memory(const struct images *images, uint64_t image);

/* Whether an image is the content of a file. */
bool images_is_file(const struct images *images, uint64_t image);

/*
 * Whether an image may be the file of `source`: the same device and inode with any path, or the
 * same name in any directory. For overlayfs, events may have other numbers than /proc.
 */
bool images_may_be_file(const struct images *images, uint64_t image,
			const struct image_source *source);

/*
 * The descriptor that the server sent, borrowed. -EAGAIN: no answer yet; -ENOENT: the image is no
 * file, or not available.
 */
int images_descriptor(const struct images *images, uint64_t image);

/* Emits the states that the image server has sent. 0 or -errno of the output. */
int images_take_states(struct images *images);

/* Renumbers files that were written to. 0 or -errno of the output. */
int images_check(struct images *images);

/* Records that a process has an image mapped at `time`. */
void images_use(struct images *images, uint64_t image, uint64_t time);

/*
 * Emits the end of all images that were last used before `since`, and forgets them: a file that is
 * mapped again becomes another image. 0 or -errno of the output.
 */
int images_end_unused(struct images *images, uint64_t since, uint64_t time);

/* Whether the file of an image has changed since it was opened, before images_check() finds out. */
bool images_have_changed(const struct images *images, uint64_t image);

/* The last successor of an image, or the image itself. */
uint64_t images_current(const struct images *images, uint64_t image);
