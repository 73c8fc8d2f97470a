/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "perf-source/perf/cpus.h"

enum { CPUS_MAX = 1 << 13 }; /* of any kernel: NR_CPUS of x86-64 */

/* Calls for each range of a list like "0-3,8"; -errno of open(2). */
static int each_range(const char *path, void (*each)(int first, int last, void *arg), void *arg)
{
	_cleanup_file_ FILE *file = fopen(path, "re");
	int first, last;

	if (!file)
		return -errno;
	while (fscanf(file, "%d", &first) == 1) {
		last = first;
		if (fscanf(file, "-%d", &last) < 0)
			last = first;
		if (first < 0 || last < first || last >= CPUS_MAX)
			return -EINVAL;
		each(first, last, arg);
		if (fgetc(file) != ',')
			break;
	}
	return 0;
}

struct cpu_list {
	int *cpus;
	size_t n, n_max;
};

static void add_range(int first, int last, void *arg)
{
	struct cpu_list *list = arg;

	for (; first <= last && list->n < list->n_max; first++)
		list->cpus[list->n++] = first;
}

int cpus_find(int **ret, size_t *ret_n)
{
	struct cpu_list list = { .n_max = sysconf(_SC_NPROCESSORS_CONF) };

	list.cpus = calloc(list.n_max, sizeof(*list.cpus));
	if (!list.cpus)
		return -ENOMEM;
	if (each_range("/sys/devices/system/cpu/present", add_range, &list) < 0) {
		list.n = 0;
		add_range(0, list.n_max - 1, &list);
	}
	*ret = list.cpus;
	*ret_n = list.n;
	return list.n ? 0 : -ENODEV;
}

struct cpu_marks {
	const int *cpus;
	size_t n;
	bool *is_online;
};

static void mark_range(int first, int last, void *arg)
{
	const struct cpu_marks *marks = arg;

	for (size_t i = 0; i < marks->n; i++)
		marks->is_online[i] |= marks->cpus[i] >= first && marks->cpus[i] <= last;
}

void cpus_look(const int *cpus, size_t n, bool *ret_online)
{
	struct cpu_marks marks = { cpus, n, ret_online };

	memset(ret_online, 0, n * sizeof(*ret_online));
	if (each_range("/sys/devices/system/cpu/online", mark_range, &marks) < 0)
		memset(ret_online, 1, n * sizeof(*ret_online));
}

static void keep_last(int first, int last, void *arg)
{
	int *highest = arg;

	*highest = last;
}

int cpus_highest(void)
{
	int highest = sysconf(_SC_NPROCESSORS_CONF) - 1;

	each_range("/sys/devices/system/cpu/possible", keep_last, &highest);
	return highest;
}
