/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds what elfutils' debuginfod client has downloaded: needs no network, and creates nothing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The cache by the client's own rules (debuginfod-client-config(7)): $DEBUGINFOD_CACHE_PATH, else
 * older versions' ~/.debuginfod_client_cache if it exists, else debuginfod_client in
 * $XDG_CACHE_HOME, else in ~/.cache. The path need not exist; the caller frees it. NULL: no memory.
 */
char *debuginfod_cache_path(void);

/* The path of a build-id's debug file in a cache; the caller frees it. NULL: no memory. */
char *debuginfod_cache_file(const char *cache, const uint8_t *build_id, size_t size);
