/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/stream/cgroup.h"

enum {
	TEXT_SIZE = 16384, /* bytes of /proc/PID/cgroup: a dozen lines */
	ID_SIZE = 64,	   /* SHA-256, of Docker and later runtimes */
	SHORT_ID_SIZE = 32,
};

struct cgroup *cgroup_new(const char *path)
{
	size_t size = strnlen(path, CGROUP_PATH_MAX - 1);
	struct cgroup *cgroup = calloc(1, sizeof(*cgroup) + size + 1);

	if (!cgroup)
		return NULL;
	cgroup->n_users = 1;
	memcpy(cgroup->path, path, size);
	return cgroup;
}

struct cgroup *cgroup_share(struct cgroup *cgroup)
{
	if (cgroup)
		cgroup->n_users++;
	return cgroup;
}

void cgroup_drop(struct cgroup *cgroup)
{
	if (cgroup && --cgroup->n_users == 0)
		free(cgroup);
}

/* The number of lower-case hexadecimal digits that a text begins with. */
static size_t count_digits(const char *text)
{
	size_t n = 0;

	while (isxdigit((unsigned char)text[n]) && !isupper((unsigned char)text[n]))
		n++;
	return n;
}

/* Finds an id within one component of a path: "docker-12….scope", "12…". */
static bool find_id(const char *part, size_t size, char ret[CGROUP_LABEL_MAX])
{
	for (size_t i = 0; i < size;) {
		size_t n = count_digits(part + i);
		bool is_alone = i == 0 || part[i - 1] == '-' || part[i - 1] == ':';

		if (n && is_alone && (n == ID_SIZE || (n == SHORT_ID_SIZE && i + n == size))) {
			snprintf(ret, CGROUP_LABEL_MAX, "%.*s", (int)n, part + i);
			return true;
		}
		i += n + 1;
	}
	return false;
}

/* Finds the name after a prefix, without the unit's suffix. */
static bool find_name(const char *part, size_t size, char ret[CGROUP_LABEL_MAX])
{
	static const char *const prefixes[] = { "lxc.payload.", "machine-", "systemd-nspawn@" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		size_t prefix = strlen(prefixes[i]), end = size;

		if (size <= prefix || strncmp(part, prefixes[i], prefix))
			continue;
		for (size_t k = prefix; i > 0 && k < size; k++)
			if (part[k] == '.')
				end = k;
		snprintf(ret, CGROUP_LABEL_MAX, "%.*s", (int)(end - prefix), part + prefix);
		return true;
	}
	return false;
}

/* Takes the innermost component that matches: groups in a container lie below its own. */
void cgroup_container(const char *path, char ret[CGROUP_LABEL_MAX])
{
	char found[CGROUP_LABEL_MAX];

	*ret = 0;
	for (const char *part = path; *part; part += *part == '/') {
		size_t size = strcspn(part, "/");

		if (find_id(part, size, found) || find_name(part, size, found))
			strcpy(ret, found);
		part += size;
	}
}

static bool ends_with(const char *part, size_t size, const char *ending)
{
	size_t n = strlen(ending);

	return size > n && !strncmp(part + size - n, ending, n);
}

void cgroup_unit(const char *path, char ret[CGROUP_LABEL_MAX])
{
	bool is_slice = true;

	*ret = 0;
	for (const char *part = path; *part; part += *part == '/') {
		size_t size = strcspn(part, "/");
		bool is_unit = ends_with(part, size, ".service") || ends_with(part, size, ".scope");

		if (is_unit || (is_slice && ends_with(part, size, ".slice"))) {
			snprintf(ret, CGROUP_LABEL_MAX, "%.*s", (int)size, part);
			is_slice = !is_unit;
		}
		part += size;
	}
}

/* Ranks a path: by container, then unit, then length. */
static size_t worth(const char *path)
{
	char label[CGROUP_LABEL_MAX];
	size_t n = strlen(path);

	cgroup_unit(path, label);
	n += *label ? CGROUP_PATH_MAX : 0;
	cgroup_container(path, label);
	return n + (*label ? 2 * CGROUP_PATH_MAX : 0);
}

/* "4:memory:/docker/12…", "0::/system.slice/cron.service" */
void cgroup_parse(char *text, char ret[CGROUP_PATH_MAX])
{
	char *line, found[CGROUP_PATH_MAX];

	*ret = 0;
	while ((line = strsep(&text, "\n"))) {
		char *path = strchr(line, ':');

		path = path ? strchr(path + 1, ':') : NULL;
		if (!path || path[1] != '/' || !path[2])
			continue;
		snprintf(found, CGROUP_PATH_MAX, "%s", path + 1);
		if (worth(found) > worth(ret))
			strcpy(ret, found);
	}
}

int cgroup_read(uint32_t pid, char ret[CGROUP_PATH_MAX])
{
	char path[64], text[TEXT_SIZE];
	_cleanup_fd_ int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cgroup", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = 0;
	cgroup_parse(text, ret);
	return 0;
}
