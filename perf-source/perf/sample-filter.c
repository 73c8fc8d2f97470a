/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "common/base/cleanup.h"
#include "perf-source/bpf/bpf.h"
#include "perf-source/perf/sample-filter.h"

enum {
	PATH_SIZE = 4096,
	VALUE_SIZE = 2048,
	PID_SHIFT = 32,
	INITIAL_CGROUP_NAMESPACE = 0xEFFFFFFB, /* PROC_CGROUP_INIT_INO of linux/proc_ns.h */
};

static const char *const names[] = {
	[FILTER_PID] = "pid", [FILTER_TID] = "tid",   [FILTER_UID] = "uid",
	[FILTER_GID] = "gid", [FILTER_COMM] = "comm", [FILTER_CGROUP] = "cgroup",
};

static bool find_field(const char *text, size_t size, enum sample_filter_field *ret)
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
static int find_cgroup(const char *path, struct sample_filter_term *term)
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

static int parse_value(const char *value, struct sample_filter_term *term)
{
	char *end;

	if (term->field == FILTER_CGROUP)
		return find_cgroup(value, term);
	if (term->field == FILTER_COMM) {
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
static int parse_term(const char **text, struct sample_filter_term *term)
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
	*ret = (struct sample_filter){ .program_fd = -1, .skipped_fd = -1 };
	for (;;) {
		struct sample_filter_term *term = &ret->terms[ret->n];
		int r;

		if (ret_at)
			*ret_at = text;
		if (ret->n == SAMPLE_FILTER_TERMS_MAX)
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

/* Gets the current task's number that the term is about into register 0. */
static void put_number(struct bpf_code *code, const struct sample_filter_term *term)
{
	bool is_upper = term->field == FILTER_PID || term->field == FILTER_GID;

	if (term->field == FILTER_CGROUP) {
		bpf_set(code, 1, term->level);
		bpf_call(code, BPF_FUNC_get_current_ancestor_cgroup_id);
		return;
	}
	bpf_call(code, term->field == FILTER_PID || term->field == FILTER_TID
			       ? BPF_FUNC_get_current_pid_tgid
			       : BPF_FUNC_get_current_uid_gid);
	if (!is_upper)
		bpf_do_value(code, BPF_LSH, 0, PID_SHIFT);
	bpf_do_value(code, BPF_RSH, 0, PID_SHIFT);
}

/* Emits jumps, taken where task and term differ, into `ret`. Returns how many: two at most. */
static size_t put_compare(struct bpf_code *code, const struct sample_filter_term *term, size_t *ret)
{
	enum { COMM = -SAMPLE_FILTER_COMM_SIZE, WORD = 8 };
	uint64_t words[SAMPLE_FILTER_COMM_SIZE / WORD];

	if (term->field != FILTER_COMM) {
		put_number(code, term);
		bpf_set_64(code, 1, term->number);
		ret[0] = bpf_jump_if(code, BPF_JNE, 0, 1);
		return 1;
	}
	memcpy(words, term->comm, sizeof(words));
	bpf_copy(code, 1, BPF_STACK_REGISTER);
	bpf_do_value(code, BPF_ADD, 1, COMM);
	bpf_set(code, 2, SAMPLE_FILTER_COMM_SIZE);
	bpf_call(code, BPF_FUNC_get_current_comm);
	for (int i = 0; i < 2; i++) {
		bpf_load(code, BPF_WIDTH_8, 0, BPF_STACK_REGISTER, COMM + i * WORD);
		bpf_set_64(code, 1, words[i]);
		ret[i] = bpf_jump_if(code, BPF_JNE, 0, 1);
	}
	return 2;
}

/* Falls through to the group's next term if the term fails; returns the jump taken if it holds. */
static size_t put_term(struct bpf_code *code, const struct sample_filter_term *term)
{
	size_t differ[2], n = put_compare(code, term, differ), holds, fails;

	if (term->is_equal) {
		holds = bpf_jump(code);
		for (size_t i = 0; i < n; i++)
			bpf_land(code, differ[i]);
		return holds;
	}
	fails = bpf_jump(code);
	for (size_t i = 0; i < n; i++)
		bpf_land(code, differ[i]);
	holds = bpf_jump(code);
	bpf_land(code, fails);
	return holds;
}

/* Counts an unwanted sample and returns 0, for which the kernel drops it. */
static void put_skip(struct bpf_code *code, int skipped_fd)
{
	enum { KEY = -8 };

	bpf_count_in_map(code, skipped_fd, KEY);
	bpf_set(code, 0, 0);
	bpf_exit(code);
}

/* Drops samples of processes that are not followed, without counting them. */
static void put_followed(struct bpf_code *code, int followed_fd)
{
	enum { KEY = -8 };
	size_t is_followed;

	bpf_call(code, BPF_FUNC_get_current_pid_tgid);
	bpf_do_value(code, BPF_RSH, 0, PID_SHIFT);
	bpf_store(code, BPF_WIDTH_4, BPF_STACK_REGISTER, KEY, 0);
	bpf_ask_map(code, BPF_FUNC_map_lookup_elem, followed_fd, KEY);
	is_followed = bpf_jump_if_value(code, BPF_JNE, 0, 0);
	bpf_set(code, 0, 0);
	bpf_exit(code);
	bpf_land(code, is_followed);
}

static void put_filter(struct bpf_code *code, const struct sample_filter *filter, int followed_fd)
{
	size_t holds[SAMPLE_FILTER_TERMS_MAX], n = 0;

	if (followed_fd >= 0)
		put_followed(code, followed_fd);
	for (size_t i = 0; i < filter->n; i++) {
		holds[n++] = put_term(code, &filter->terms[i]);
		if (!filter->terms[i].ends_group)
			continue;
		put_skip(code, filter->skipped_fd);
		while (n)
			bpf_land(code, holds[--n]);
	}
	bpf_set(code, 0, 1);
	bpf_exit(code);
}

int sample_filter_load(struct sample_filter *filter, int followed_fd)
{
	struct bpf_code code = { .n = 0 };

	filter->skipped_fd = bpf_make_counter();
	if (filter->skipped_fd < 0)
		return filter->skipped_fd;
	put_filter(&code, filter, followed_fd);
	filter->program_fd = bpf_load_program(&code, BPF_PROG_TYPE_PERF_EVENT);
	return filter->program_fd < 0 ? filter->program_fd : 0;
}

void sample_filter_unload(struct sample_filter *filter)
{
	cleanup_fd(&filter->program_fd);
	cleanup_fd(&filter->skipped_fd);
	filter->program_fd = filter->skipped_fd = -1;
}

uint64_t sample_filter_skipped(const struct sample_filter *filter)
{
	return bpf_read_counter(filter->skipped_fd);
}
