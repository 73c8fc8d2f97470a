/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Embedded files of a Sysprof capture: compressed, with ".gz" added to their name, which Sysprof
 * strips.
 */
#pragma once

#include "common/wire/wire.h"
#include "formats/syscap/frames.h"

enum {
	SYSCAP_FILE_GATHERED_MAX = 64 * 1024 * 1024, /* bytes of an uncompressed file */
	SYSCAP_FILE_TOO_LARGE = 1,
};

struct syscap_files {
	struct syscap *syscap; /* borrowed */
	uint64_t time;	       /* of the last piece */
	bool in_file;	       /* a file of the host is incomplete so far */
	bool is_compressed;    /* that file is compressed */
	bool is_too_large;     /* that file is left out */
	char *gathered;	       /* its bytes so far, if it is uncompressed */
	size_t gathered_size, gathered_allocated;
};

void syscap_files_deinit(struct syscap_files *files);

/* Writes a piece of a file, at least with the last piece's time. 0 or -errno of the output. */
int syscap_files_put_piece(struct syscap_files *files, const char *path, uint64_t time,
			   const void *data, size_t size, int is_last);

/* Compresses and writes a file. 0, -ENOMEM or -errno of the output. */
int syscap_files_put_whole(struct syscap_files *files, const char *name, uint64_t time,
			   const char *data, size_t size);

/*
 * Adds a piece of a file of the host; files do not interleave. 0, SYSCAP_FILE_TOO_LARGE if the file
 * is left out, -ENOMEM or -errno of the output.
 */
int syscap_files_add(struct syscap_files *files, const struct wire_file *file);
