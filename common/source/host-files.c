/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/file/read-file.h"
#include "common/source/host-files.h"

#define KALLSYMS "/proc/kallsyms"

enum {
	FILE_MAX = 64 * 1024 * 1024, /* bytes of a file */
	PIECE_MAX = 64 * 1024,	     /* bytes of data in a record */
};

/* Sends the text uncompressed: compression takes longer than passing it through all pipes. */
static int put_data(struct stage *stage, const char *path, const char *data, size_t size,
		    uint64_t time)
{
	int r = 0;

	for (size_t left = size; left && r == 0;) {
		size_t piece = left < PIECE_MAX ? left : PIECE_MAX;
		struct wire_file file = {
			.time = time,
			.path = wire_string(path, 255),
			.left = left - piece,
			.data = { data + size - left, piece },
		};

		r = stage_put(stage, WIRE_RECORD_file, &file);
		left -= piece;
	}
	return r < 0 ? r : wire_writer_flush(&stage->writer); /* the record borrows the data */
}

int host_files_put(struct stage *stage, uint64_t time)
{
	static const char *const paths[] = { "/etc/os-release", "/proc/cpuinfo" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		_cleanup_free_ char *data = NULL;
		size_t size;
		int r = read_file(paths[i], FILE_MAX, &data, &size);

		if (r == 0)
			r = put_data(stage, paths[i], data, size, time);
		else
			r = 0; /* the host has no such file */
		if (r < 0)
			return r;
	}
	return 0;
}

/* With kernel.kptr_restrict every address is zero. */
static bool has_addresses(const char *text, size_t size)
{
	const char *end = text + size;

	while (text < end) {
		const char *line_end = memchr(text, '\n', end - text);

		if (strspn(text, "0") < 16)
			return true;
		if (!line_end)
			return false;
		text = line_end + 1;
	}
	return false;
}

int host_files_open_kallsyms(void)
{
	int fd = open(KALLSYMS, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int host_files_read_kallsyms(int fd, char **ret, size_t *ret_size)
{
	_cleanup_free_ char *data = NULL;
	int r = read_file_descriptor(fd, FILE_MAX, &data, ret_size);

	if (r == -ENOMEM)
		return r;
	if (r < 0 || !has_addresses(data, *ret_size))
		return -EACCES;
	*ret = take_pointer(data);
	return 0;
}

int host_files_put_kallsyms(struct stage *stage, const char *text, size_t size, uint64_t time)
{
	return put_data(stage, KALLSYMS, text, size, time);
}
