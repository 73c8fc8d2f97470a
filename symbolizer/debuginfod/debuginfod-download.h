/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One download by elfutils' client, in a process of its own: a hang or crash (the client resolves
 * names, speaks TLS and decompresses data from strangers) affects this file only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbolizer/debuginfod/debuginfod-message.h"

enum {
	DEBUGINFOD_TIME_MAX_S = 60, /* unless DEBUGINFOD_MAXTIME is set */
	/* Unless DEBUGINFOD_MAXSIZE is set; libraries of debug builds exceed one GiB. */
	DEBUGINFOD_SIZE_MAX_MIB = 2048,
};

struct debuginfod_limits {
	unsigned int time_s;
	long size; /* bytes */
};

/* The library, loaded on demand. */
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

/* Limits from the environment. */
struct debuginfod_limits debuginfod_limits_read(void);

/* Makes a signal cancel the download without leaving files behind. */
void debuginfod_download_cancel_by(int signal);

/* Downloads into the client's cache from the servers in DEBUGINFOD_URLS. */
enum debuginfod_outcome debuginfod_download(const struct debuginfod_library *library,
					    const struct debuginfod_limits *limits,
					    const uint8_t *build_id, size_t size);
