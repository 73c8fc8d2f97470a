/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One download by elfutils' client, in a process that does nothing else: what hangs or crashes
 * there (it resolves names, speaks TLS, decompresses what strangers send) is this one file's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbolizer/debuginfod/debuginfod-message.h"

enum {
	DEBUGINFOD_TIME_MAX_S = 60,	/* unless DEBUGINFOD_MAXTIME says otherwise */
	DEBUGINFOD_SIZE_MAX_MIB = 2048, /* unless DEBUGINFOD_MAXSIZE does; libraries of debug
					   builds have more than one GiB */
};

struct debuginfod_limits {
	unsigned int time_s;
	long size; /* bytes */
};

/* The library, which is loaded where and when it is needed. */
struct debuginfod_library {
	struct debuginfod_client *(*begin)(void);
	int (*find_debuginfo)(struct debuginfod_client *client, const unsigned char *build_id,
			      int size, char **ret_path);
	void (*set_progressfn)(struct debuginfod_client *client,
			       int (*progress)(struct debuginfod_client *client, long done,
					       long total));
};

/* 0 or -ENOPKG. */
int debuginfod_library_load(struct debuginfod_library *ret);

/* What the environment allows. */
struct debuginfod_limits debuginfod_limits_read(void);

/* Makes a signal cancel the download, in which nothing is left behind. */
void debuginfod_download_cancel_by(int signal);

/* Downloads into the client's cache, asking the servers in DEBUGINFOD_URLS. */
enum debuginfod_outcome debuginfod_download(const struct debuginfod_library *library,
					    const struct debuginfod_limits *limits,
					    const uint8_t *build_id, size_t size);
