/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decompresses a stream of zstd frames from a descriptor, as a read(2) that decompresses. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
	ZSTD_INPUT_MAGIC_SIZE = 4,
	ZSTD_INPUT_WINDOW_LOG_MAX = 23, /* bytes of memory that a frame may ask for, as log2:
					   what `zstd -19` does */
};

struct zstd_input {
	struct ZSTD_DCtx_s *decoder;
	char *buffer;
	size_t size, start, end; /* of the buffer; what was read, but not decompressed */
	bool has_more;		 /* all bytes that were asked for were there: there may be others */
};

/* Whether bytes begin like a frame of zstd. */
bool zstd_input_is(const void *bytes, size_t size);

/* `first` was read from the descriptor already. 0 or -ENOMEM. */
int zstd_input_init(struct zstd_input *input, const void *first, size_t size);
void zstd_input_deinit(struct zstd_input *input);

/*
 * Reads once, or more often if that gives no bytes. Returns how many bytes there are, 0 at the end
 * of the input, or -errno: -EBADMSG, it is damaged or asks for more memory; -EAGAIN and -EINTR as
 * read(2).
 */
ssize_t zstd_input_read(struct zstd_input *input, int fd, void *to, size_t size);
