/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/file/read-file.h"
#include "common/proc/process-status.h"

enum { STATUS_SIZE_MAX = 1024 * 1024 }; /* it lists all groups of the user */

/*
 * Reads up to `n` numbers of a line and returns how many. No process name can imitate such a line,
 * as newlines in it are escaped.
 */
static size_t find_numbers(const char *status, const char *line, uint32_t *ret, size_t n)
{
	const char *at = strstr(status, line);
	size_t found = 0;
	char *end;

	if (!at)
		return 0;
	for (at += strlen(line); *at == '\t' && found < n; at = end)
		ret[found++] = strtoul(at + 1, &end, 10);
	return found;
}

int process_status_read(const char *path, struct process_status *ret)
{
	enum { REAL, EFFECTIVE, NAMESPACES_MAX = 32 + 1 }; /* pid_namespaces(7): 32 may be nested */
	uint32_t users[EFFECTIVE + 1], groups[EFFECTIVE + 1], pids[NAMESPACES_MAX];
	_cleanup_free_ char *status = NULL;
	size_t size, n;
	int r = read_file(path, STATUS_SIZE_MAX, &status, &size);

	if (r < 0)
		return r;
	n = find_numbers(status, "\nNSpid:", pids, NAMESPACES_MAX);
	if (!n) /* before Linux 4.1 */
		n = find_numbers(status, "\nPid:", pids, 1);
	if (!n || find_numbers(status, "\nUid:", users, EFFECTIVE + 1) != EFFECTIVE + 1 ||
	    find_numbers(status, "\nGid:", groups, EFFECTIVE + 1) != EFFECTIVE + 1)
		return -EBADMSG;
	*ret = (struct process_status){
		.own_pid = pids[n - 1],
		.real_user = users[REAL],
		.user = users[EFFECTIVE],
		.group = groups[EFFECTIVE],
	};
	return 0;
}
