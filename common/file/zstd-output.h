/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compresses a stream by zstd, in its seekable format: frames, each of which can be decompressed
 * alone, and behind them a table of their sizes, within a frame that decompressors skip
 * (contrib/seekable_format/zstd_seekable_compression_format.md in the sources of zstd). What was
 * given can be decompressed from what was returned: no reader has to wait for more.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
	ZSTD_OUTPUT_LEVEL_MAX = 19,	  /* those above need more memory, of readers too */
	ZSTD_OUTPUT_FRAME = 1 << 20,	  /* bytes of the stream in a frame, at least */
	ZSTD_OUTPUT_FRAMES_MAX = 1 << 20, /* in a table; a longer stream has none */
};

struct zstd_output_frame {
	uint32_t compressed, decompressed; /* bytes */
};

struct zstd_output {
	struct ZSTD_CCtx_s *encoder;
	char *buffer;
	size_t buffer_size;
	struct zstd_output_frame *frames;
	size_t n_frames, n_frames_left_out;
	struct zstd_output_frame open; /* the frame that is being written */
	uint64_t n_bytes;	       /* returned */
};

/*
 * `level` is from 1 (fast) to ZSTD_OUTPUT_LEVEL_MAX; `piece_max` is how many bytes are added at one
 * time, at most. 0 or -ENOMEM; to be deinited in any case.
 */
int zstd_output_init(struct zstd_output *output, int level, size_t piece_max);
void zstd_output_deinit(struct zstd_output *output);

/* Compresses `parts` into `ret`, which is valid until the next call. 0 or -ENOMEM. */
int zstd_output_add(struct zstd_output *output, const struct iovec *parts, int n,
		    struct iovec *ret);

/* The end of the last frame, and the table. 0 or -ENOMEM. */
int zstd_output_end(struct zstd_output *output, struct iovec *ret);
