/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/base/hash.h"
#include "common/base/zero-pages.h"
#include "live-unwinder/call-sites.h"

int call_sites_new(struct elf_cache *files, struct call_sites **ret)
{
	struct call_sites *sites = zero_pages_get(sizeof(*sites));

	if (!sites)
		return -ENOMEM;
	sites->files = files;
	sites->arch = unwind_arch_find(files->client.machine);
	*ret = sites;
	return 0;
}

struct call_sites *call_sites_free(struct call_sites *sites)
{
	zero_pages_give_back(sites, sizeof(*sites));
	return NULL;
}

/* Returns the number of code bytes read: fewer than `size` where the file ends. */
static size_t read_code(const struct image *image, const struct elf_image *file, uint64_t offset,
			uint8_t *to, size_t size)
{
	ssize_t n;

	if (file->fd >= 0) {
		n = pread(file->fd, to, size, offset);
		return n > 0 && elf_image_is_unchanged(file) ? n : 0;
	}
	if (offset > image->n_bytes)
		return 0;
	if (size > image->n_bytes - offset)
		size = image->n_bytes - offset;
	memcpy(to, (const char *)image->bytes + offset, size);
	return size;
}

static enum unwind_call read_call(const struct call_sites *sites, uint64_t number, uint64_t offset)
{
	struct image *image = image_table_find(sites->files->table, number);
	const struct elf_image *file = image ? elf_cache_get(sites->files, image) : NULL;
	uint8_t code[UNWIND_CODE_BEFORE + UNWIND_CODE_BEHIND] = { 0 };
	uint64_t from = offset - UNWIND_CODE_BEFORE;

	if (!file || !sites->arch || !sites->arch->find_call_before || from > offset ||
	    read_code(image, file, from, code, sizeof(code)) < UNWIND_CODE_BEFORE)
		return UNWIND_CALL_UNKNOWN;
	return sites->arch->find_call_before(code, code + UNWIND_CODE_BEFORE);
}

/* Never 0, because no image has the number 0. */
static uint64_t pack(uint64_t image, uint64_t offset)
{
	return (image << CALL_SITE_OFFSET_BITS | offset) << CALL_SITE_CALL_BITS;
}

enum unwind_call call_sites_find(struct call_sites *sites, uint64_t image, uint64_t offset)
{
	const uint64_t call_mask = (1 << CALL_SITE_CALL_BITS) - 1;
	uint64_t place = pack(image, offset);
	uint64_t *cached = &sites->cached[hash_place(place, CALL_SITES_CACHED)];

	if (offset >> CALL_SITE_OFFSET_BITS || image >> CALL_SITE_IMAGE_BITS)
		return read_call(sites, image, offset);
	if ((*cached & ~call_mask) != place)
		*cached = place | read_call(sites, image, offset);
	return *cached & call_mask;
}

void call_sites_forget(struct call_sites *sites, uint64_t image)
{
	const unsigned int shift = CALL_SITE_OFFSET_BITS + CALL_SITE_CALL_BITS;

	for (size_t i = 0; i < CALL_SITES_CACHED; i++)
		if (sites->cached[i] >> shift == image)
			sites->cached[i] = 0;
}
