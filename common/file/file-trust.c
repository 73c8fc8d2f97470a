/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "common/file/file-trust.h"

struct file_writers file_writers_of(const struct stat *status)
{
	return (struct file_writers){
		.user = status->st_uid,
		.group = status->st_gid,
		.any_of_group = status->st_mode & S_IWGRP,
		.anybody = status->st_mode & S_IWOTH,
	};
}

/* Our ids come from the auxiliary vector, as in owned-file.h. */
static bool is_of_us(const struct file_writers *writers)
{
	return writers->user == getauxval(AT_EUID) && writers->group == getauxval(AT_EGID);
}

bool file_is_trusted(const struct stat *status, const struct file_writers *asker)
{
	const struct file_writers writers = file_writers_of(status);
	bool is_of_asker = asker && writers.user == asker->user;
	bool is_group_of_asker = asker && asker->any_of_group && writers.group == asker->group;

	if (asker && asker->anybody)
		return true;
	if (writers.user != 0 && writers.user != getauxval(AT_EUID) && !is_of_asker)
		return false;
	if (writers.any_of_group && !is_of_us(&writers) && !is_group_of_asker)
		return false;
	return !writers.anybody;
}

static bool lies_below(const char *path, const char *dir)
{
	size_t size = strlen(dir);

	while (size && dir[size - 1] == '/')
		size--;
	return size && !strncmp(path, dir, size) && path[size] == '/';
}

static bool is_vouched_for(const struct file_trust *trust, const char *path)
{
	if (strstr(path, "/../"))
		return false;
	for (size_t i = 0; i < trust->n_vouched; i++)
		if (lies_below(path, trust->vouched[i]))
			return true;
	return false;
}

bool file_trust_accepts(struct file_trust *trust, const char *path, const struct stat *status,
			const struct file_writers *asker)
{
	if (file_is_trusted(status, asker) || (trust && is_vouched_for(trust, path)))
		return true;
	if (!trust)
		return false;
	trust->n_refused++;
	if (!trust->first_refused)
		trust->first_refused = strdup(path);
	return false;
}

void file_trust_deinit(struct file_trust *trust)
{
	free(trust->first_refused);
	trust->first_refused = NULL;
}
