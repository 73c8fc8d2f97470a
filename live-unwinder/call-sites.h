/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Classifies return addresses by the code in front of them: whether it is a call, and of which
 * kind. Results are cached, as the same return addresses recur.
 */
#pragma once

#include "common/elf/elf-cache.h"
#include "common/unwind/unwind-arch.h"

enum {
	CALL_SITES_CACHED = 65536, /* a power of two */
	/* Layout of a cached word; larger image numbers and offsets are not cached. */
	CALL_SITE_CALL_BITS = 2,
	CALL_SITE_OFFSET_BITS = 34,
	CALL_SITE_IMAGE_BITS = 28,
};

struct call_sites {
	uint64_t cached[CALL_SITES_CACHED]; /* image, offset and enum unwind_call; 0: unused */
	struct elf_cache *files;	    /* borrowed */
	const struct unwind_arch *arch;
};

/* `files` is borrowed. 0 or -ENOMEM. */
int call_sites_new(struct elf_cache *files, struct call_sites **ret);
struct call_sites *call_sites_free(struct call_sites *sites);

/* The call in front of an offset in an image's file; UNWIND_CALL_UNKNOWN: unreadable. */
enum unwind_call call_sites_find(struct call_sites *sites, uint64_t image, uint64_t offset);

/* Drops what is cached of an image that has ended. */
void call_sites_forget(struct call_sites *sites, uint64_t image);
