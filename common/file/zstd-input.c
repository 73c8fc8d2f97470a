/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "common/base/zero-pages.h"
#include "common/file/zstd-input.h"

enum { READ_SIZE = 256 * 1024 };

bool zstd_input_is(const void *bytes, size_t size)
{
	static const uint32_t magic = ZSTD_MAGICNUMBER; /* little-endian, as all that we run on */

	return size >= sizeof(magic) && !memcmp(bytes, &magic, sizeof(magic));
}

int zstd_input_init(struct zstd_input *input, const void *first, size_t size)
{
	*input = (struct zstd_input){
		.decoder = ZSTD_createDCtx(),
		.size = size > READ_SIZE ? size : READ_SIZE,
		.end = size,
	};
	input->buffer = zero_pages_get(input->size);
	if (!input->decoder || !input->buffer ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(input->decoder, ZSTD_d_windowLogMax,
						ZSTD_INPUT_WINDOW_LOG_MAX)))
		return -ENOMEM;
	if (size)
		memcpy(input->buffer, first, size);
	return 0;
}

void zstd_input_deinit(struct zstd_input *input)
{
	ZSTD_freeDCtx(input->decoder);
	zero_pages_give_back(input->buffer, input->size);
	*input = (struct zstd_input){ 0 };
}

/* Decompresses what was read. Without any, the decoder is not asked: it counts that as a mistake.
 */
static ssize_t decompress(struct zstd_input *input, void *to, size_t size)
{
	ZSTD_inBuffer in = { input->buffer, input->end, input->start };
	ZSTD_outBuffer out = { to, size, 0 };

	if (in.pos == in.size && !input->has_more)
		return 0;
	if (ZSTD_isError(ZSTD_decompressStream(input->decoder, &out, &in)))
		return -EBADMSG;
	input->start = in.pos;
	input->has_more = out.pos == out.size;
	return out.pos;
}

ssize_t zstd_input_read(struct zstd_input *input, int fd, void *to, size_t size)
{
	for (;;) {
		ssize_t n = decompress(input, to, size);

		if (n)
			return n;
		if (input->start < input->end) /* the end of a frame, or one that is skipped */
			continue;
		n = read(fd, input->buffer, input->size);
		if (n <= 0)
			return n < 0 ? -errno : 0;
		input->start = 0;
		input->end = n;
	}
}
