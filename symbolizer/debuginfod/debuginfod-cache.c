/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/cleanup.h"
#include "common/stream/build-id.h"
#include "symbolizer/debuginfod/debuginfod-cache.h"

/* An empty variable counts as unset. */
static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static char *join(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

char *debuginfod_cache_path(void)
{
	const char *given = environment("DEBUGINFOD_CACHE_PATH");
	const char *xdg = environment("XDG_CACHE_HOME");
	const char *home = getenv("HOME") ?: "/"; /* the client takes an empty one as set */
	_cleanup_free_ char *old = NULL;
	struct stat status;

	if (given)
		return strdup(given);
	old = join(home, ".debuginfod_client_cache");
	if (!old || stat(old, &status) == 0)
		return take_pointer(old);
	return xdg ? join(xdg, "debuginfod_client") : join(home, ".cache/debuginfod_client");
}

char *debuginfod_cache_file(const char *cache, const uint8_t *build_id, size_t size)
{
	char name[BUILD_ID_TEXT + sizeof("/debuginfo")];

	strcat(build_id_text(build_id, size, name), "/debuginfo");
	return join(cache, name);
}
