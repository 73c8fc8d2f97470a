/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/arch.h"
#include "live-unwinder/call-sites.h"

int call_sites_new(struct image_files *files, struct call_sites **ret)
{
	struct call_sites *sites = calloc(1, sizeof(*sites));

	if (!sites)
		return -ENOMEM;
	sites->files = files;
	sites->arch = unwind_arch_find(arch_host.machine);
	*ret = sites;
	return 0;
}

struct call_sites *call_sites_free(struct call_sites *sites)
{
	free(sites);
	return NULL;
}

static bool read_code(const struct image *image, const struct elf_image *file, uint64_t offset,
		      uint8_t *to, size_t size)
{
	if (file->fd >= 0)
		return pread(file->fd, to, size, offset) == (ssize_t)size;
	if (offset > image->n_bytes || size > image->n_bytes - offset)
		return false;
	memcpy(to, (const char *)image->bytes + offset, size);
	return true;
}

static enum unwind_call read_call(const struct call_sites *sites, uint64_t number, uint64_t offset)
{
	struct image *image = image_table_find(sites->files->table, number);
	const struct elf_image *file = image ? image_files_get(sites->files, image) : NULL;
	uint8_t before[UNWIND_CODE_BEFORE];

	if (!file || !sites->arch || !sites->arch->find_call_before || offset < sizeof(before) ||
	    !read_code(image, file, offset - sizeof(before), before, sizeof(before)))
		return UNWIND_CALL_UNKNOWN;
	return sites->arch->find_call_before(before);
}

enum unwind_call call_sites_find(struct call_sites *sites, uint64_t image, uint64_t offset)
{
	uint64_t hash = (image << 32 ^ offset) * 0x9e3779b97f4a7c15ULL;
	struct call_site *site = &sites->cached[hash >> 40 & (CALL_SITES_CACHED - 1)];

	if (site->image == image && site->offset == offset)
		return site->call;
	*site = (struct call_site){ image, offset, read_call(sites, image, offset) };
	return site->call;
}

void call_sites_forget(struct call_sites *sites, uint64_t image)
{
	for (size_t i = 0; i < CALL_SITES_CACHED; i++)
		if (sites->cached[i].image == image)
			sites->cached[i].image = 0;
}
