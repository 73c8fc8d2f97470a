/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The files that a Sysprof capture has in it: compressed, and under their name with ".gz", which
 * Sysprof takes away again.
 */
#pragma once

#include "formats/syscap/frames.h"
#include "common/wire/wire.h"

enum {
	SYSCAP_FILE_GATHERED_MAX = 64 * 1024 * 1024, /* bytes of one that is not compressed yet */
	SYSCAP_FILE_TOO_LARGE = 1,
};

struct syscap_files {
	struct syscap *syscap; /* borrowed */
	uint64_t time;	       /* of the last piece */
	bool in_file;	       /* pieces of a file of the host are still to come */
	bool is_compressed;    /* that file is */
	bool is_too_large;     /* it is left out */
	char *gathered;	       /* what has come of it, if it is not */
	size_t gathered_size, gathered_allocated;
};

void syscap_files_deinit(struct syscap_files *files);

/* A piece of a file, as it is; never before the last one. 0 or -errno of the output. */
int syscap_files_put_piece(struct syscap_files *files, const char *path, uint64_t time,
			   const void *data, size_t size, int is_last);

/* A file that is not compressed yet. 0, -ENOMEM or -errno of the output. */
int syscap_files_put_whole(struct syscap_files *files, const char *name, uint64_t time,
			   const char *data, size_t size);

/*
 * A piece of a file of the host, of which one is sent after the other. 0, SYSCAP_FILE_TOO_LARGE if
 * it is left out, -ENOMEM or -errno of the output.
 */
int syscap_files_add(struct syscap_files *files, const struct wire_file *file);
