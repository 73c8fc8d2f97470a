/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/sum.h"
#include "profile/program.h"

enum { COMM_MAX = 15 }; /* the kernel keeps 15 bytes of a process's name: TASK_COMM_LEN - 1 */

int64_t profile_hottest_process(const struct profile *profile)
{
	_cleanup_free_ uint64_t *n = calloc(profile->n_processes + 1, sizeof(*n));
	size_t hottest = 0;

	if (!n || !profile->n_processes)
		return -1;
	for (size_t i = 0; i < profile->n_samples; i++)
		sum_add(&n[profile->threads[profile->samples[i].thread].process],
			profile->samples[i].weight);
	for (size_t i = 1; i < profile->n_processes; i++)
		if (n[i] > n[hottest])
			hottest = i;
	return hottest;
}

static const char *base_name(const struct profile *profile, const struct profile_module *module)
{
	const char *path = profile_text(profile, module->path), *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A script's interpreter may be python3.11 while the process is called python3. */
static bool is_called(const struct profile *profile, const struct profile_module *module,
		      const char *name)
{
	size_t size = strlen(name);
	const char *base = base_name(profile, module);

	if (!size || strncmp(base, name, size))
		return false;
	return size == COMM_MAX || !base[size] || base[size] == '.' || base[size] == '-' ||
	       (base[size] >= '0' && base[size] <= '9');
}

bool profile_module_is_of_all(const struct profile *profile, uint32_t module)
{
	static const char *const names[] = { "ld-", "ld.so", "libc.", "libc-", "libpthread", "[" };
	const char *base = base_name(profile, &profile->modules[module]);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(base, names[i], strlen(names[i])))
			return true;
	return !*base;
}

static uint32_t outermost_module(const struct profile *profile, const bool *is_candidate,
				 uint32_t node)
{
	uint32_t found = 0;

	for (; node; node = profile->nodes[node].parent) {
		const struct profile_location *location =
			&profile->locations[profile->nodes[node].location];

		if (location->kind == PROFILE_USER && is_candidate[location->module])
			found = location->module;
	}
	return found;
}

static int find_by_stacks(const struct profile *profile, uint32_t process, uint32_t *ret_module)
{
	_cleanup_free_ bool *is_candidate = calloc(profile->n_modules + 1, sizeof(*is_candidate));
	_cleanup_free_ uint64_t *n_node = calloc(profile->n_nodes + 1, sizeof(*n_node));
	_cleanup_free_ uint64_t *n = calloc(profile->n_modules + 1, sizeof(*n));

	if (!is_candidate || !n_node || !n)
		return -ENOMEM;
	for (size_t i = 1; i < profile->n_modules; i++)
		is_candidate[i] = !profile_module_is_of_all(profile, i);
	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];

		if (profile->threads[sample->thread].process == process)
			n_node[sample->node] += sample->n;
	}
	for (size_t i = 1; i < profile->n_nodes; i++)
		if (n_node[i])
			n[outermost_module(profile, is_candidate, i)] += n_node[i];
	for (size_t i = 1; i < profile->n_modules; i++)
		if (n[i] > (*ret_module ? n[*ret_module] : 0))
			*ret_module = i;
	return 0;
}

int profile_find_program(const struct profile *profile, uint32_t *ret_module)
{
	int64_t process = profile_hottest_process(profile);

	*ret_module = 0;
	if (process < 0)
		return 0;
	for (size_t i = 1; i < profile->n_modules; i++)
		if (is_called(profile, &profile->modules[i],
			      profile_text(profile, profile->processes[process].name))) {
			*ret_module = i;
			return 0;
		}
	return find_by_stacks(profile, process, ret_module);
}

uint32_t profile_program_name(const struct profile *profile)
{
	int64_t hottest = profile_hottest_process(profile);
	uint64_t n = 0, n_all = 0;
	uint32_t name;

	if (hottest < 0)
		return 0;
	name = profile->processes[hottest].name;
	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		uint32_t process = profile->threads[sample->thread].process;

		sum_add(&n_all, sample->weight);
		if (profile->processes[process].name == name)
			sum_add(&n, sample->weight);
	}
	return n >= n_all / 2 ? name : 0;
}
