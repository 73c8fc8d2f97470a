/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where elfutils' debuginfod client keeps what it has downloaded, for all programs of a user. To
 * look there needs no network, and nothing is made there.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The client's own rules (debuginfod-client-config(7)): $DEBUGINFOD_CACHE_PATH, else the
 * ~/.debuginfod_client_cache of older versions where there is one, else debuginfod_client in
 * $XDG_CACHE_HOME, else in ~/.cache. The caller owns the path, behind which nothing need be; NULL:
 * no memory.
 */
char *debuginfod_cache_path(void);

/* Where in such a directory the debug file of a build-id lies. The caller owns it; NULL: no memory.
 */
char *debuginfod_cache_file(const char *cache, const uint8_t *build_id, size_t size);
