/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dlsym(3) as it was until glibc 2.33: it allocates, by whichever allocator comes first. */
#include <dlfcn.h>
#include <stdlib.h>

void *dlsym(void *handle, const char *name)
{
	static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.2.5" };
	void *(*next)(void *handle, const char *name) = NULL;
	void *volatile block = calloc(1, 32);

	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions) && !next; i++)
		next = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	free(block);
	return next(handle, name);
}
