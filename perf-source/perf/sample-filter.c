/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "perf-source/perf/sample-filter.h"

enum {
	PATH_SIZE = 4096,
	VALUE_SIZE = 2048,
	INITIAL_CGROUP_NAMESPACE = 0xEFFFFFFB, /* PROC_CGROUP_INIT_INO of linux/proc_ns.h */
};

static const char *const names[] = {
	[SAMPLE_PID] = "pid", [SAMPLE_TID] = "tid",   [SAMPLE_UID] = "uid",
	[SAMPLE_GID] = "gid", [SAMPLE_COMM] = "comm", [SAMPLE_CGROUP] = "cgroup",
};

static bool find_field(const char *text, size_t size, uint32_t *ret)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strlen(names[i]) != size || strncmp(names[i], text, size))
			continue;
		*ret = i;
		return true;
	}
	return false;
}

static int count_components(const char *path)
{
	int n = 0;

	for (; *path; path++)
		n += *path != '/' && (!path[1] || path[1] == '/');
	return n;
}

/* Whether a component is "." or "..". */
static bool has_dots(const char *path)
{
	while (*path) {
		size_t size = strcspn(path, "/");

		if ((size == 1 && *path == '.') || (size == 2 && !strncmp(path, "..", 2)))
			return true;
		path += size;
		path += strspn(path, "/");
	}
	return false;
}

/* A group's id is its directory's inode (bpf-helpers(7), bpf_get_current_cgroup_id). */
static int find_cgroup(const char *path, struct sample_term *term)
{
	static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	char full[PATH_SIZE];
	struct statfs system;
	struct stat status;

	if (has_dots(path))
		return -EINVAL;
	/* The kernel counts levels from the initial root, which a cgroup namespace hides. */
	if (stat("/proc/self/ns/cgroup", &status) == 0 && status.st_ino != INITIAL_CGROUP_NAMESPACE)
		return -ENOENT;
	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++) {
		if (statfs(roots[i], &system) < 0 || system.f_type != CGROUP2_SUPER_MAGIC)
			continue;
		snprintf(full, sizeof(full), "%s/%s", roots[i], path);
		if (stat(full, &status) < 0 || !S_ISDIR(status.st_mode))
			return -ENOENT;
		term->number = status.st_ino;
		term->level = count_components(path);
		return 0;
	}
	return -ENOENT;
}

static int parse_value(const char *value, struct sample_term *term)
{
	char *end;

	if (term->field == SAMPLE_CGROUP)
		return find_cgroup(value, term);
	if (term->field == SAMPLE_COMM) {
		if (strlen(value) >= sizeof(term->comm))
			return -EINVAL;
		strncpy(term->comm, value, sizeof(term->comm));
		return 0;
	}
	if (!isdigit((unsigned char)*value))
		return -EINVAL;
	errno = 0;
	term->number = strtoul(value, &end, 10);
	return errno || *end || term->number > UINT32_MAX ? -EINVAL : 0;
}

static const char *skip_spaces(const char *text)
{
	return text + strspn(text, " \t");
}

/* Parses one term; `*text` is then at what follows it: ",", "||" or the end. */
static int parse_term(const char **text, struct sample_term *term)
{
	const char *at = skip_spaces(*text);
	size_t size = strcspn(at, " \t!="), behind;
	char value[VALUE_SIZE];

	if (!find_field(at, size, &term->field))
		return -EINVAL;
	at = skip_spaces(at + size);
	if (strncmp(at, "==", 2) && strncmp(at, "!=", 2))
		return -EINVAL;
	term->is_equal = *at == '=';
	at = skip_spaces(at + 2);
	size = strcspn(at, ",|");
	for (behind = size; behind && strchr(" \t", at[behind - 1]); behind--)
		;
	if (!behind || behind >= sizeof(value))
		return -EINVAL;
	memcpy(value, at, behind);
	value[behind] = 0;
	*text = at + size;
	return parse_value(value, term);
}

int sample_filter_parse(const char *text, struct sample_filter *ret, const char **ret_at)
{
	*ret = (struct sample_filter){ 0 };
	for (;;) {
		struct sample_term *term = &ret->terms[ret->n];
		int r;

		if (ret_at)
			*ret_at = text;
		if (ret->n == SAMPLE_TERMS_MAX)
			return -E2BIG;
		r = parse_term(&text, term);
		if (r < 0)
			return r;
		ret->n++;
		term->ends_group = *text != '|';
		if (!*text)
			return 0;
		if (*text == '|' && text[1] != '|')
			return -EINVAL;
		text += *text == '|' ? 2 : 1;
	}
}
