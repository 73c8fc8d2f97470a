/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "perf-source/perf/cpus.h"

enum { CPUS_MAX = 1 << 13 }; /* the largest NR_CPUS of x86-64 */

/* Reads a list like "0-3,8". 0 or -errno; -EINVAL: `ret` has the ranges before an invalid one. */
static int read_list(const char *path, bool ret[CPUS_MAX])
{
	_cleanup_file_ FILE *file = fopen(path, "re");
	int first, last;

	memset(ret, 0, CPUS_MAX * sizeof(*ret));
	if (!file)
		return -errno;
	while (fscanf(file, "%d", &first) == 1) {
		last = first;
		if (fscanf(file, "-%d", &last) < 0)
			last = first;
		if (first < 0 || last < first || last >= CPUS_MAX)
			return -EINVAL;
		memset(ret + first, 1, (last - first + 1) * sizeof(*ret));
		if (fgetc(file) != ',')
			break;
	}
	return 0;
}

int cpus_find(int **ret, size_t *ret_n)
{
	size_t n = 0, n_max = sysconf(_SC_NPROCESSORS_CONF);
	int *cpus = calloc(n_max, sizeof(*cpus));
	bool is_present[CPUS_MAX];

	if (!cpus)
		return -ENOMEM;
	if (read_list("/sys/devices/system/cpu/present", is_present) < 0)
		memset(is_present, 1, sizeof(is_present));
	for (int i = 0; i < CPUS_MAX && n < n_max; i++)
		if (is_present[i])
			cpus[n++] = i;
	*ret = cpus;
	*ret_n = n;
	return n ? 0 : -ENODEV;
}

void cpus_look(const int *cpus, size_t n, bool *ret_online)
{
	bool is_online[CPUS_MAX];

	if (read_list("/sys/devices/system/cpu/online", is_online) < 0)
		memset(is_online, 1, sizeof(is_online));
	for (size_t i = 0; i < n; i++)
		ret_online[i] = is_online[cpus[i]];
}
