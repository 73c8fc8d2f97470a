/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "perf-source/perf/tracepoint.h"

enum { PATH_SIZE = 256, LINE_SIZE = 512 };

int tracefs_open(const char *file, int flags)
{
	static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char path[PATH_SIZE];
	int fd = -1;

	errno = ENOENT;
	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots) && fd < 0; i++) {
		int size = snprintf(path, sizeof(path), "%s/%s", roots[i], file);

		if (size < (int)sizeof(path))
			fd = open(path, flags);
		if (fd < 0 && errno == EACCES)
			break;
	}
	return fd < 0 ? -errno : fd;
}

/* Names come from a command line and must not lead out of tracefs. */
static int open_file(const char *group, const char *name, const char *file, FILE **ret)
{
	char path[PATH_SIZE];
	int fd;

	if (strchr(group, '/') || strchr(name, '/') || *group == '.' || *name == '.')
		return -ENOENT;
	if (snprintf(path, sizeof(path), "events/%s/%s/%s", group, name, file) >= (int)sizeof(path))
		return -ENOENT;
	fd = tracefs_open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fd;
	*ret = fdopen(fd, "r");
	if (*ret)
		return 0;
	close(fd);
	return -ENOMEM;
}

int tracepoint_find(const char *group, const char *name, uint32_t *ret_id)
{
	_cleanup_file_ FILE *file = NULL;
	int r = open_file(group, name, "id", &file);

	if (r < 0)
		return r;
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
	_cleanup_file_ FILE *file = NULL;
	int r = open_file(group, name, "format", &file);
	char line[LINE_SIZE];

	if (r < 0)
		return r;
	r = -ENOENT;
	while (r == -ENOENT && fgets(line, sizeof(line), file))
		r = parse_field(line, field, ret);
	return r;
}
