/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "common/base/growing-list.h"
#include "common/file/zstd-output.h"

enum { FRAME_END_MAX = 64 }; /* bytes: the last block, and the checksum */

#define SKIPPED_MAGIC (ZSTD_MAGIC_SKIPPABLE_START + 0xe)
#define TABLE_MAGIC 0x8f92eab1U

/* The table: its head, the frames, its end. */
struct table_head {
	uint32_t magic, size;
};

struct table_end {
	uint32_t n_frames;
	uint8_t flags; /* 0: the frames have no checksums here, but their own */
	uint32_t magic;
} __attribute__((packed));

int zstd_output_init(struct zstd_output *output, int level, size_t piece_max)
{
	*output = (struct zstd_output){
		.encoder = ZSTD_createCCtx(),
		.buffer_size = ZSTD_compressBound(piece_max) + FRAME_END_MAX,
	};
	output->buffer = malloc(output->buffer_size);
	if (!output->buffer || !output->encoder ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(output->encoder, ZSTD_c_compressionLevel, level)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(output->encoder, ZSTD_c_checksumFlag, 1)))
		return -ENOMEM;
	return 0;
}

void zstd_output_deinit(struct zstd_output *output)
{
	ZSTD_freeCCtx(output->encoder);
	free(output->buffer);
	free(output->frames);
	*output = (struct zstd_output){ 0 };
}

/* Compresses what is added, and all that waits as the directive says. The buffer has room. */
static int compress(struct zstd_output *output, ZSTD_outBuffer *to, const struct iovec *part,
		    ZSTD_EndDirective directive)
{
	ZSTD_inBuffer from = { part->iov_base, part->iov_len, 0 };
	size_t left;

	do {
		left = ZSTD_compressStream2(output->encoder, to, &from, directive);
		if (ZSTD_isError(left) || to->pos == to->size)
			return -ENOMEM;
	} while (from.pos < from.size || (directive != ZSTD_e_continue && left));
	output->open.decompressed += part->iov_len;
	return 0;
}

static int note_frame(struct zstd_output *output)
{
	int r = 0;

	if (output->n_frames == ZSTD_OUTPUT_FRAMES_MAX)
		output->n_frames_left_out++;
	else
		r = GROWING_LIST_ADD(output->frames, output->n_frames, output->open);
	output->open = (struct zstd_output_frame){ 0 };
	return r;
}

/* Flushes, and ends the frame if it is large enough. */
static int end_piece(struct zstd_output *output, ZSTD_outBuffer *to, size_t frame_size)
{
	static const struct iovec nothing = { 0 };
	size_t begun = to->pos;
	bool is_end = output->open.decompressed >= frame_size;
	int r = compress(output, to, &nothing, is_end ? ZSTD_e_end : ZSTD_e_flush);

	output->open.compressed += to->pos - begun;
	return r == 0 && is_end ? note_frame(output) : r;
}

int zstd_output_add(struct zstd_output *output, const struct iovec *parts, int n, struct iovec *ret)
{
	ZSTD_outBuffer to = { output->buffer, output->buffer_size, 0 };
	int r = 0;

	for (int i = 0; i < n && r == 0; i++)
		r = compress(output, &to, &parts[i], ZSTD_e_continue);
	output->open.compressed += to.pos;
	if (r == 0)
		r = end_piece(output, &to, ZSTD_OUTPUT_FRAME);
	output->n_bytes += to.pos;
	*ret = (struct iovec){ to.dst, to.pos };
	return r;
}

/* Appends the table. */
static int put_table(struct zstd_output *output, ZSTD_outBuffer *to)
{
	size_t size = output->n_frames * sizeof(*output->frames);
	const struct table_head head = { SKIPPED_MAGIC, size + sizeof(struct table_end) };
	const struct table_end end = { .n_frames = output->n_frames, .magic = TABLE_MAGIC };
	size_t wanted = to->pos + sizeof(head) + size + sizeof(end);
	char *at;

	if (wanted > output->buffer_size) {
		char *larger = realloc(output->buffer, wanted);

		if (!larger)
			return -ENOMEM;
		output->buffer = to->dst = larger;
		output->buffer_size = wanted;
	}
	at = mempcpy(output->buffer + to->pos, &head, sizeof(head));
	if (size)
		at = mempcpy(at, output->frames, size);
	memcpy(at, &end, sizeof(end));
	to->pos = wanted;
	return 0;
}

int zstd_output_end(struct zstd_output *output, struct iovec *ret)
{
	ZSTD_outBuffer to = { output->buffer, output->buffer_size, 0 };
	int r = output->open.decompressed ? end_piece(output, &to, 0) : 0;

	if (r == 0 && !output->n_frames_left_out)
		r = put_table(output, &to);
	output->n_bytes += to.pos;
	*ret = (struct iovec){ to.dst, to.pos };
	return r;
}
