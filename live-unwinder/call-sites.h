/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a return address returns behind: in most files the bytes in front of it tell whether it is
 * one at all. What was seen is kept at hand, as the same places come again and again.
 */
#pragma once

#include "common/elf/elf-cache.h"
#include "common/unwind/unwind-arch.h"

enum {
	CALL_SITES_CACHED = 65536, /* a power of two */
	/* Bits of what is kept, in 64; of a place beyond them nothing is. */
	CALL_SITE_CALL_BITS = 2,
	CALL_SITE_OFFSET_BITS = 34,
	CALL_SITE_IMAGE_BITS = 28,
};

struct call_sites {
	uint64_t cached[CALL_SITES_CACHED]; /* image, offset and enum unwind_call; 0: none */
	struct elf_cache *files;	    /* borrowed */
	const struct unwind_arch *arch;
};

/* `files` is borrowed. 0 or -ENOMEM. */
int call_sites_new(struct elf_cache *files, struct call_sites **ret);
struct call_sites *call_sites_free(struct call_sites *sites);

/* What is in front of an offset in an image's file; UNWIND_CALL_UNKNOWN: that cannot be read. */
enum unwind_call call_sites_find(struct call_sites *sites, uint64_t image, uint64_t offset);

/* An image is no more. */
void call_sites_forget(struct call_sites *sites, uint64_t image);
