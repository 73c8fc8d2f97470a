/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "perf-source/tracepoint.h"

enum { PATH_SIZE = 256, LINE_SIZE = 512 };

/* Names come from a command line, and are not to lead elsewhere. */
static FILE *open_file(const char *group, const char *name, const char *file)
{
	static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char path[PATH_SIZE];
	FILE *found = NULL;

	errno = ENOENT;
	if (strchr(group, '/') || strchr(name, '/') || *group == '.' || *name == '.')
		return NULL;
	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots) && !found; i++) {
		int size = snprintf(path, sizeof(path), "%s/events/%s/%s/%s", roots[i], group, name,
				    file);

		if (size < (int)sizeof(path))
			found = fopen(path, "re");
		if (!found && errno == EACCES)
			break;
	}
	return found;
}

int tracepoint_find(const char *group, const char *name, uint32_t *ret_id)
{
	_cleanup_file_ FILE *file = open_file(group, name, "id");

	if (!file)
		return -errno;
	return fscanf(file, "%" SCNu32, ret_id) == 1 ? 0 : -EIO;
}

/* "field:pid_t pid;	offset:24;	size:4;	signed:1;" */
static int parse_field(const char *line, const char *field, struct tracepoint_field *ret)
{
	const char *end = strchr(line, ';'), *name = end;
	size_t size = strlen(field);

	if (!end || strncmp(line + strspn(line, "\t "), "field:", strlen("field:")))
		return -ENOENT;
	while (name > line && name[-1] != ' ' && name[-1] != '*')
		name--;
	if (strncmp(name, field, size) || (name[size] != ';' && name[size] != '['))
		return -ENOENT;
	return sscanf(end, ";\toffset:%" SCNu32 ";\tsize:%" SCNu32 ";", &ret->offset, &ret->size) ==
			       2
		       ? 0
		       : -EIO;
}

int tracepoint_find_field(const char *group, const char *name, const char *field,
			  struct tracepoint_field *ret)
{
	_cleanup_file_ FILE *file = open_file(group, name, "format");
	char line[LINE_SIZE];

	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		int r = parse_field(line, field, ret);

		if (r != -ENOENT)
			return r;
	}
	return -ENOENT;
}
