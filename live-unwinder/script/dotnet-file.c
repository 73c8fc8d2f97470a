/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "live-unwinder/script/dotnet-file.h"

enum dotnet_file_outcome dotnet_file_read(struct elf_cache *files, const struct process *process,
					  uint64_t begin, struct dotnet_code *code)
{
	uint64_t at = begin - code->functions[0].begin + code->functions[0].unwind;
	const struct mapping *mapping = mapping_table_find(process_mappings(process), at);
	const struct image *image = mapping ? image_table_find(files->table, mapping->image) : NULL;
	_cleanup_fd_ int fd = image ? elf_image_open_file(image, &files->client) : -ENOENT;
	ssize_t n;

	if (fd == -EAGAIN)
		return DOTNET_FILE_E_PENDING;
	if (fd < 0)
		return DOTNET_FILE_E_UNAVAILABLE;
	n = pread(fd, code->unwind, sizeof(code->unwind), at - mapping->start + mapping->offset);
	return n > 0 ? DOTNET_FILE_OK : DOTNET_FILE_E_UNAVAILABLE;
}
