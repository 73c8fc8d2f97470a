/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <elfutils/libdwelf.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/elf/elf-limits.h"
#include "common/elf/elf-section.h"
#include "common/stream/build-id.h"
#include "common/wire/wire.h"
#include "symbolizer/debuginfod/debuginfod-cache.h"
#include "symbolizer/dwarf/debug-files.h"
#include "symbolizer/dwarf/debug-sections.h"

enum { PATH_SIZE = 4096 };

uint64_t debug_file_size(const struct debug_file *file)
{
	size_t size = 0;

	if (!file->elf)
		return 0;
	if (file->memory)
		elf_rawfile(file->elf, &size);
	return size + elf_tables_size(file->elf);
}

void debug_file_close(struct debug_file *file)
{
	elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	free(file->memory);
	free(file->path);
	*file = (struct debug_file){ .fd = -1 };
}

/* Takes ownership of the descriptor. */
static bool open_descriptor(int fd, const char *path, struct debug_file *ret)
{
	_cleanup_(debug_file_close) struct debug_file file = { .fd = fd };
	char magic[SELFMAG];
	struct stat status;

	if (file.fd < 0 || fstat(file.fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    pread(file.fd, magic, SELFMAG, 0) != SELFMAG || memcmp(magic, ELFMAG, SELFMAG))
		return false;
	file.elf = elf_begin(file.fd, ELF_C_READ, NULL);
	file.path = strdup(path);
	if (!file.elf || !file.path)
		return false;
	file.n_hidden = elf_limits_apply(file.elf);
	*ret = file;
	file = (struct debug_file){ .fd = -1 };
	return true;
}

bool debug_file_open(const char *path, const struct debug_dirs *dirs, struct debug_file *ret)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;

	return fd >= 0 && fstat(fd, &status) == 0 &&
	       file_trust_accepts(dirs->trust, path, &status, &dirs->asker) &&
	       open_descriptor(take_fd(&fd), path, ret);
}

static bool has_same_build_id(Elf *elf, Elf *candidate)
{
	const void *ours, *theirs;
	ssize_t size = dwelf_elf_gnu_build_id(elf, &ours);

	return size > 0 && dwelf_elf_gnu_build_id(candidate, &theirs) == size &&
	       !memcmp(ours, theirs, size);
}

static bool has_symbols(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			return true;
	return false;
}

/* A stripped copy in place of a debug file must not hide others. */
static bool has_what_is_needed(Elf *elf, enum debug_file_need need)
{
	return need == DEBUG_FILE_DWARF ? debug_sections_has_info(elf) : has_symbols(elf);
}

bool debug_file_build_id_path(const char *dir, const unsigned char *id, size_t size, char *ret,
			      size_t ret_size)
{
	char hex[BUILD_ID_TEXT];

	if (size < 2 || size > WIRE_BUILD_ID_MAX)
		return false;
	build_id_text(id, size, hex);
	return snprintf(ret, ret_size, "%s/.build-id/%.2s/%s.debug", dir, hex, hex + 2) <
	       (int)ret_size;
}

/* Whether an opened file is the one wanted; closes it otherwise. */
static bool is_wanted(Elf *elf, enum debug_file_need need, struct debug_file *ret)
{
	if (has_same_build_id(elf, ret->elf) && has_what_is_needed(ret->elf, need))
		return true;
	debug_file_close(ret);
	return false;
}

static bool try_build_id(Elf *elf, const char *path, const struct debug_dirs *dirs,
			 enum debug_file_need need, struct debug_file *ret)
{
	return debug_file_open(path, dirs, ret) && is_wanted(elf, need, ret);
}

/* For a program in a container: looks in its own /usr/lib/debug through the image server. */
static bool find_in_container(Elf *elf, const struct debug_dirs *dirs, enum debug_file_need need,
			      struct debug_file *ret)
{
	const unsigned char *id;
	ssize_t size = dwelf_elf_gnu_build_id(elf, (const void **)&id);
	int fd, r;

	if (!dirs->client || size < 2 || size > WIRE_BUILD_ID_MAX)
		return false;
	r = image_client_open_debug(dirs->client, dirs->image, id, size, &fd);
	ret->is_late = r == -EAGAIN;
	return r == 0 && open_descriptor(fd, "", ret) && is_wanted(elf, need, ret);
}

/* Looks in each directory, and in the cache of debuginfod clients. */
static bool find_by_build_id(Elf *elf, const struct debug_dirs *dirs, enum debug_file_need need,
			     struct debug_file *ret)
{
	const unsigned char *id;
	ssize_t size = dwelf_elf_gnu_build_id(elf, (const void **)&id);
	_cleanup_free_ char *cached = NULL;
	char path[PATH_SIZE];

	for (size_t i = 0; i < dirs->n && size > 0; i++)
		if (debug_file_build_id_path(dirs->list[i], id, size, path, sizeof(path)) &&
		    try_build_id(elf, path, dirs, need, ret))
			return true;
	if (size <= 0 || !dirs->debuginfod_cache)
		return false;
	cached = debuginfod_cache_file(dirs->debuginfod_cache, id, size);
	return cached && try_build_id(elf, cached, dirs, need, ret);
}

static bool has_crc(int fd, GElf_Word expected)
{
	_cleanup_free_ unsigned char *buffer = malloc(1 << 16);
	uLong crc = crc32(0, NULL, 0);
	off_t offset = 0;
	ssize_t n;

	while (buffer && offset <= DEBUG_CRC_MAX && (n = pread(fd, buffer, 1 << 16, offset)) > 0) {
		crc = crc32(crc, buffer, n);
		offset += n;
	}
	return buffer && n == 0 && crc == expected;
}

static bool try_link(Elf *elf, const char *path, const struct debug_dirs *dirs, GElf_Word crc,
		     enum debug_file_need need, struct debug_file *ret)
{
	const void *id;

	if (!debug_file_open(path, dirs, ret))
		return false;
	if (has_what_is_needed(ret->elf, need) &&
	    (dwelf_elf_gnu_build_id(elf, &id) > 0 ? has_same_build_id(elf, ret->elf)
						  : has_crc(ret->fd, crc)))
		return true;
	debug_file_close(ret);
	return false;
}

/* Looks beside the file, in .debug beside it, and below each directory. */
static bool find_by_link(Elf *elf, const char *file_path, const struct debug_dirs *dirs,
			 enum debug_file_need need, struct debug_file *ret)
{
	GElf_Word crc;
	const char *link = dwelf_elf_gnu_debuglink(elf, &crc), *slash = strrchr(file_path, '/');
	int dir_size = slash ? slash - file_path : 0;
	char path[PATH_SIZE];

	if (!link || !slash || strchr(link, '/'))
		return false;
	snprintf(path, sizeof(path), "%.*s/%s", dir_size, file_path, link);
	if (strcmp(path, file_path) && try_link(elf, path, dirs, crc, need, ret))
		return true;
	snprintf(path, sizeof(path), "%.*s/.debug/%s", dir_size, file_path, link);
	if (try_link(elf, path, dirs, crc, need, ret))
		return true;
	for (size_t i = 0; i < dirs->n; i++) {
		snprintf(path, sizeof(path), "%s%.*s/%s", dirs->list[i], dir_size, file_path, link);
		if (try_link(elf, path, dirs, crc, need, ret))
			return true;
	}
	return false;
}

static Elf_Data *find_section_data(Elf *elf, const char *wanted)
{
	struct elf_section section = elf_section_before_first(elf);

	while (elf_section_next(&section))
		if (section.header.sh_type == SHT_PROGBITS && !strcmp(section.name, wanted))
			return elf_rawdata(section.handle, NULL);
	return NULL;
}

/* Decompresses XZ. libdwfl could, but has no limit: 2 MB may decompress to gigabytes. */
static void *decompress(const Elf_Data *data, size_t *ret_size)
{
	_cleanup_free_ uint8_t *out = NULL;
	uint64_t memory = DEBUG_DATA_MEMORY;

	for (size_t size = data->d_size * 4 + 65536; size <= DEBUG_DATA_MAX; size *= 2) {
		size_t read = 0, written = 0;
		lzma_ret r;

		if (GROWING_LIST_RESIZE(out, size) < 0)
			return NULL;
		r = lzma_stream_buffer_decode(&memory, 0, NULL, data->d_buf, &read, data->d_size,
					      out, &written, size);
		if (r == LZMA_OK) {
			*ret_size = written;
			return take_pointer(out);
		}
		if (r != LZMA_BUF_ERROR || read == data->d_size)
			return NULL;
	}
	return NULL;
}

/* Reads "MiniDebugInfo": a small compressed ELF file with the names of local functions. */
static bool find_debug_data(Elf *elf, struct debug_file *ret)
{
	Elf_Data *data = find_section_data(elf, ".gnu_debugdata");
	_cleanup_(debug_file_close) struct debug_file file = { .fd = -1 };
	size_t size;

	if (!data || !data->d_buf)
		return false;
	file.memory = decompress(data, &size);
	if (!file.memory || size < SELFMAG || memcmp(file.memory, ELFMAG, SELFMAG))
		return false;
	file.elf = elf_memory(file.memory, size);
	if (!file.elf || !elf_limits_hold(file.elf))
		return false;
	*ret = file;
	file = (struct debug_file){ .fd = -1 };
	return true;
}

bool debug_file_find(Elf *elf, const char *path, const struct debug_dirs *dirs,
		     enum debug_file_need need, struct debug_file *ret)
{
	return find_by_build_id(elf, dirs, need, ret) || find_in_container(elf, dirs, need, ret) ||
	       find_by_link(elf, path, dirs, need, ret) ||
	       (need == DEBUG_FILE_SYMBOLS && find_debug_data(elf, ret));
}
