/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/unwind/unwind-code.h"

int unwind_code_open(const struct elf_image *image, struct unwind_code *ret)
{
	char *bytes;

	*ret = (struct unwind_code){ 0 };
	if (image->fd >= 0) {
		ret->fd = fcntl(image->fd, F_DUPFD_CLOEXEC, 0);
		ret->has_fd = ret->fd >= 0;
		return ret->has_fd ? 0 : -errno;
	}
	bytes = elf_rawfile(image->elf, &ret->size);
	if (!bytes)
		return 0;
	ret->file = malloc(ret->size + 1);
	if (!ret->file)
		return -ENOMEM;
	memcpy(ret->file, bytes, ret->size);
	return 0;
}

void unwind_code_close(struct unwind_code *code)
{
	if (code->has_fd)
		close(code->fd);
	free(code->file);
	*code = (struct unwind_code){ 0 };
}

static bool read_window(struct unwind_code *code, uint64_t offset)
{
	ssize_t size = pread(code->fd, code->window, sizeof(code->window), offset);

	code->window_at = offset;
	code->window_size = size > 0 ? size : 0;
	return size > 0;
}

static bool is_in_window(const struct unwind_code *code, uint64_t offset, size_t n)
{
	return offset >= code->window_at && offset - code->window_at <= code->window_size &&
	       n <= code->window_size - (offset - code->window_at);
}

const uint8_t *unwind_code_before(struct unwind_code *code, uint64_t offset, size_t n)
{
	if (offset < n)
		return NULL;
	offset -= n;
	if (!code->has_fd)
		return code->file && offset <= code->size && n <= code->size - offset
			       ? code->file + offset
			       : NULL;
	if (!is_in_window(code, offset, n) &&
	    !(read_window(code, offset) && is_in_window(code, offset, n)))
		return NULL;
	return code->window + (offset - code->window_at);
}
