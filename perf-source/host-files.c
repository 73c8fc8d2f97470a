/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "common/cleanup.h"
#include "perf-source/host-files.h"

enum {
	FILE_MAX = 64 * 1024 * 1024, /* of a file, uncompressed */
	PIECE_MAX = 64 * 1024,	     /* of a record's data */
	GZIP = 16 + MAX_WBITS,	     /* deflateInit2(): with gzip's header */
};

/* A whole file; some of /proc tell no size before they are read. 0 or -errno. */
static int read_file(const char *path, char **ret, size_t *ret_size)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *data = NULL;
	size_t used = 0, size = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	do {
		if (used == size) {
			char *larger;

			size = size ? size * 2 : 256 * 1024;
			if (size > FILE_MAX)
				return -EFBIG;
			larger = realloc(data, size);
			if (!larger)
				return -ENOMEM;
			data = larger;
		}
		n = read(fd, data + used, size - used);
		if (n < 0)
			return -errno;
		used += n;
	} while (n > 0);
	*ret = take_pointer(data);
	*ret_size = used;
	return 0;
}

/* Fast rather than small: it is done before the recording begins. */
static int compress_data(char *data, size_t size, char **ret, size_t *ret_size)
{
	z_stream stream = { 0 };
	_cleanup_free_ char *compressed = NULL;
	size_t bound;

	if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	bound = deflateBound(&stream, size);
	compressed = malloc(bound);
	stream.next_in = (Bytef *)data;
	stream.avail_in = size;
	stream.next_out = (Bytef *)compressed;
	stream.avail_out = bound;
	if (!compressed || deflate(&stream, Z_FINISH) != Z_STREAM_END) {
		deflateEnd(&stream);
		return -ENOMEM;
	}
	*ret_size = stream.total_out;
	deflateEnd(&stream);
	*ret = take_pointer(compressed);
	return 0;
}

static int put_data(struct stage *stage, const char *path, char *data, size_t size, uint64_t time)
{
	_cleanup_free_ char *compressed = NULL;
	size_t left;
	int r = compress_data(data, size, &compressed, &left);

	for (char *at = compressed; left && r == 0;) {
		size_t piece = left < PIECE_MAX ? left : PIECE_MAX;
		struct wire_file file = {
			.time = time,
			.path = wire_string(path, 255),
			.left = left - piece,
			.data = { at, piece },
		};

		r = stage_put(stage, WIRE_RECORD_file, &file);
		at += piece;
		left -= piece;
	}
	return r < 0 ? r : wire_writer_flush(&stage->writer); /* the data was borrowed */
}

int host_files_put(struct stage *stage, uint64_t time)
{
	static const char *const paths[] = { "/etc/os-release", "/proc/cpuinfo" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		_cleanup_free_ char *data = NULL;
		size_t size;
		int r = read_file(paths[i], &data, &size);

		if (r == 0)
			r = put_data(stage, paths[i], data, size, time);
		else
			r = 0; /* a host without it */
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

int host_files_put_kallsyms(struct stage *stage, uint64_t time)
{
	static const char path[] = "/proc/kallsyms";
	_cleanup_free_ char *data = NULL;
	size_t size;

	if (read_file(path, &data, &size) < 0 || !has_addresses(data, size))
		return -EACCES;
	return put_data(stage, path, data, size, time);
}
