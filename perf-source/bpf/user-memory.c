/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "perf-source/bpf/user-memory.h"

#define VERSION(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))

/* Kernels with that check (Linux commit d319f344561d), and without the lock in it. */
static const struct {
	unsigned int first, end;
} unsafe[] = {
	{ VERSION(5, 19, 0), VERSION(6, 1, 36) },
	{ VERSION(6, 2, 0), VERSION(6, 3, 10) },
};

/* Debian's release is that of its interface; the kernel's own is in the version. */
bool user_memory_is_safe_in(const char *release, const char *version)
{
	const char *debian = strstr(version, "Debian ");
	unsigned int major = 0, minor = 0, patch = 0, number;

	sscanf(debian ? debian + strlen("Debian ") : release, "%u.%u.%u", &major, &minor, &patch);
	number = VERSION(major, minor, patch);
	for (size_t i = 0; i < sizeof(unsafe) / sizeof(*unsafe); i++)
		if (number >= unsafe[i].first && number < unsafe[i].end)
			return false;
	return major;
}

bool user_memory_is_safe(void)
{
	struct utsname name;

	return uname(&name) == 0 && user_memory_is_safe_in(name.release, name.version);
}
