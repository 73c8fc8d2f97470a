/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "formats/output-stream.h"

enum {
	PIECE = 64 * 1024, /* bytes of a unit of the output */
	WINDOW_BITS = 15,
	GZIP_FORMAT = 16, /* added to WINDOW_BITS (zlib.h, deflateInit2) */
	MEMORY_LEVEL = 8,
};

struct gzip_stream {
	struct output *output;
	z_stream z;
	unsigned char piece[PIECE];
};

static ssize_t write_plain(void *cookie, const char *data, size_t size)
{
	size_t done = 0;
	int r = 0;

	while (done < size && r == 0) {
		size_t n = size - done < PIECE ? size - done : PIECE;

		r = output_add(cookie, data + done, n);
		done += n;
	}
	if (r == 0)
		return size;
	errno = -r;
	return 0; /* an error to fopencookie(3) */
}

/* Compresses all pending input and adds the result to the output. 0 or -errno. */
static int deflate_all(struct gzip_stream *gzip, int flush)
{
	int outcome, r;

	do {
		gzip->z.next_out = gzip->piece;
		gzip->z.avail_out = PIECE;
		outcome = deflate(&gzip->z, flush);
		r = output_add(gzip->output, gzip->piece, PIECE - gzip->z.avail_out);
		if (r < 0)
			return r;
	} while (gzip->z.avail_out == 0 || (flush == Z_FINISH && outcome == Z_OK));
	return 0;
}

static ssize_t write_gzip(void *cookie, const char *data, size_t size)
{
	struct gzip_stream *gzip = cookie;
	int r;

	gzip->z.next_in = (void *)data;
	gzip->z.avail_in = size;
	r = deflate_all(gzip, Z_NO_FLUSH);
	if (r == 0)
		return size;
	errno = -r;
	return 0;
}

static int close_gzip(void *cookie)
{
	struct gzip_stream *gzip = cookie;
	int r;

	gzip->z.avail_in = 0;
	r = deflate_all(gzip, Z_FINISH);
	deflateEnd(&gzip->z);
	free(gzip);
	if (r == 0)
		return 0;
	errno = -r;
	return -1;
}

FILE *output_stream_open(struct output *output, enum output_compression compression)
{
	static const cookie_io_functions_t plain = { .write = write_plain };
	static const cookie_io_functions_t compressed = { .write = write_gzip,
							  .close = close_gzip };
	struct gzip_stream *gzip;
	FILE *stream;

	if (compression == OUTPUT_PLAIN) {
		stream = fopencookie(output, "w", plain);
		if (stream)
			setvbuf(stream, NULL, _IOFBF, PIECE);
		return stream;
	}
	gzip = calloc(1, sizeof(*gzip));
	if (!gzip)
		return NULL;
	gzip->output = output;
	if (deflateInit2(&gzip->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS + GZIP_FORMAT,
			 MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gzip);
		return NULL;
	}
	stream = fopencookie(gzip, "w", compressed);
	if (stream) {
		setvbuf(stream, NULL, _IOFBF, PIECE);
		return stream;
	}
	deflateEnd(&gzip->z);
	free(gzip);
	return NULL;
}

int output_stream_close(FILE *stream)
{
	bool has_failed = ferror(stream);
	int error = errno;

	if (fclose(stream) != 0 && !has_failed)
		return errno ? -errno : -EIO;
	return has_failed ? (error ? -error : -EIO) : 0;
}
