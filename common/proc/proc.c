/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/growing-list.h"
#include "common/file/read-file.h"
#include "common/proc/proc.h"
#include "common/proc/procmap-query.h"

enum { MAPS_SIZE_MAX = 64 * 1024 * 1024, NAME_FILE_MAX = 4096 };

/* The kernel escapes a newline in a path as \012, and no other byte. */
static void unescape_newlines(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		if (!strncmp(from, "\\012", 4)) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = 0;
}

static bool parse_any_mapping(char *line, struct proc_mapping *ret)
{
	char rights[5];
	int path_at = 0;

	if (sscanf(line,
		   "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64 "%n",
		   &ret->start, &ret->end, rights, &ret->offset, &ret->major, &ret->minor,
		   &ret->inode, &path_at) != 7)
		return false;
	if (strlen(rights) != 4 || ret->end <= ret->start)
		return false;
	ret->is_writable = rights[1] == 'w';
	ret->is_executable = rights[2] == 'x';
	line += path_at;
	while (*line == ' ')
		line++;
	line[strcspn(line, "\n")] = 0;
	unescape_newlines(line);
	ret->path = line;
	return strlen(line) < PROC_PATH_MAX;
}

bool proc_parse_mapping(char *line, struct proc_mapping *ret)
{
	return parse_any_mapping(line, ret) && ret->is_executable;
}

static int add_mapping(struct proc_maps *maps, const struct proc_mapping *mapping)
{
	if (maps->n == PROC_MAPPINGS_MAX) {
		maps->n_refused++;
		return 0;
	}
	return GROWING_LIST_ADD(maps->list, maps->n, *mapping);
}

typedef bool (*parser)(char *line, struct proc_mapping *ret);

static int parse_maps(struct proc_maps *maps, parser parse)
{
	struct proc_mapping mapping;
	char *line, *rest = maps->text;
	int r = 0;

	while (r == 0 && (line = strsep(&rest, "\n")))
		if (parse(line, &mapping))
			r = add_mapping(maps, &mapping);
	return r;
}

static int read_text(int fd, struct proc_maps *maps, parser parse)
{
	size_t size;
	int r = lseek(fd, 0, SEEK_SET) < 0
			? -errno
			: read_file_descriptor(fd, MAPS_SIZE_MAX, &maps->text, &size);

	if (r == 0 && !size)
		free(take_pointer(maps->text));
	return r < 0 || !maps->text ? r : parse_maps(maps, parse);
}

int proc_read_maps_text(int fd, struct proc_maps *maps)
{
	return read_text(fd, maps, proc_parse_mapping);
}

static int add_query(struct proc_maps *maps, const struct procmap *found, const char *path)
{
	struct proc_mapping mapping = {
		.start = found->start,
		.end = found->end,
		.offset = found->offset,
		.major = found->major,
		.minor = found->minor,
		.inode = found->inode,
		.path = (const char *)maps->text_size, /* an offset until `text` no longer moves */
	};
	size_t size = strlen(path) + 1;

	if (size > MAPS_SIZE_MAX - maps->text_size) {
		maps->n_refused++;
		return 0;
	}
	if (GROWING_LIST_RESIZE(maps->text, maps->text_size + size) < 0)
		return -ENOMEM;
	memcpy(maps->text + maps->text_size, path, size);
	maps->text_size += size;
	return add_mapping(maps, &mapping);
}

/* Queries one mapping after another. 0 or -errno; -ENOTTY: the kernel is older than 6.11. */
static int query_maps(int fd, struct proc_maps *maps)
{
	char path[PROC_PATH_MAX];
	struct procmap found = { 0 };
	int r;

	do {
		r = procmap_query(fd, found.end, &found, path, sizeof(path));
		if (r == 0)
			r = add_query(maps, &found, path);
	} while (r == 0);
	for (size_t i = 0; i < maps->n; i++)
		maps->list[i].path = maps->text + (size_t)maps->list[i].path;
	return r == -ENOENT || r == -ESRCH ? 0 : r;
}

/* By queries; as text if the kernel has none, or a path is too long for a query. */
static int take_maps(int fd, struct proc_maps *maps)
{
	int r = query_maps(fd, maps);

	if (r == -ENAMETOOLONG)
		proc_maps_deinit(maps);
	return r == -ENOTTY || r == -ENAMETOOLONG ? proc_read_maps_text(fd, maps) : r;
}

int proc_read_open_maps(int fd, struct proc_maps *ret)
{
	int r;

	*ret = (struct proc_maps){ 0 };
	r = take_maps(fd, ret);
	if (r < 0)
		proc_maps_deinit(ret);
	return r;
}

static int open_maps(uint32_t tid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Reads /proc/TID/maps. 1: it has mappings; 0: none, or an earlier thread had some; or -errno. */
static int read_task(uint32_t tid, void *arg)
{
	struct proc_maps *maps = arg;
	_cleanup_fd_ int fd = -1;
	int r;

	if (maps->text)
		return 0;
	fd = open_maps(tid);
	if (fd < 0)
		return fd;
	r = take_maps(fd, maps);
	maps->task = tid;
	return r < 0 ? r : maps->text != NULL;
}

int proc_read_maps(uint32_t pid, struct proc_maps *ret)
{
	struct proc_maps maps = { 0 };
	int r = read_task(pid, &maps);

	if (r == 0)
		proc_each_thread(pid, read_task, &maps);
	if (r < 0) {
		proc_maps_deinit(&maps);
		return r;
	}
	*ret = maps;
	return 0;
}

int proc_read_all_maps(uint32_t tid, struct proc_maps *ret)
{
	_cleanup_fd_ int fd = open_maps(tid);
	int r;

	*ret = (struct proc_maps){ .task = tid };
	if (fd < 0)
		return fd;
	r = read_text(fd, ret, parse_any_mapping);
	if (r < 0)
		proc_maps_deinit(ret);
	return r;
}

void proc_maps_deinit(struct proc_maps *maps)
{
	free(maps->list);
	free(maps->text);
	*maps = (struct proc_maps){ 0 };
}

static void read_name(const char *path, char ret[PROC_NAME_MAX])
{
	_cleanup_free_ char *text = NULL;
	size_t size;

	ret[0] = 0;
	if (read_file(path, NAME_FILE_MAX, &text, &size) < 0 || !size)
		return;
	if (text[size - 1] == '\n')
		text[size - 1] = 0;
	snprintf(ret, PROC_NAME_MAX, "%s", text);
}

void proc_read_name(uint32_t pid, char ret[PROC_NAME_MAX])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", pid);
	read_name(path, ret);
}

void proc_read_thread_name(uint32_t pid, uint32_t tid, char ret[PROC_NAME_MAX])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/comm", pid, tid);
	read_name(path, ret);
}

/*
 * Returns the last number on the line `name` of a task's status; 0: none. No task name can imitate
 * such a line, as newlines in it are escaped.
 */
static uint32_t find_in_status(uint32_t tid, const char *name)
{
	_cleanup_file_ FILE *file = NULL;
	char path[64], line[512];
	size_t size = strlen(name);

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, size))
			return strtoul(strrchr(line, '\t') + 1, NULL, 10);
	return 0;
}

uint32_t proc_find_process(uint32_t tid)
{
	return find_in_status(tid, "Tgid:\t");
}

uint32_t proc_find_parent(uint32_t pid)
{
	return find_in_status(pid, "PPid:\t");
}

uint32_t proc_find_own_pid(uint32_t pid)
{
	return find_in_status(pid, "NSpid:\t");
}

bool proc_parse_start(const char *stat, uint64_t *ret)
{
	enum { STATE = 3, STARTTIME = 22 };  /* fields of proc(5); STARTTIME is in ticks */
	const char *at = strrchr(stat, ')'); /* the name before it may contain anything */
	long a_second = sysconf(_SC_CLK_TCK);

	for (int i = STATE; at && i <= STARTTIME; i++)
		at = strchr(at + 1, ' ');
	if (!at || a_second <= 0)
		return false;
	*ret = strtoull(at, NULL, 10) * (NANOSECONDS_A_SECOND / a_second);
	return true;
}

uint64_t proc_find_start(uint32_t pid)
{
	_cleanup_free_ char *stat = NULL;
	uint64_t start, now, asleep;
	char path[64];
	size_t size;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
	if (read_file(path, PROC_STAT_SIZE_MAX, &stat, &size) < 0 ||
	    !proc_parse_start(stat, &start))
		return 0;
	now = clock_now(CLOCK_MONOTONIC);
	asleep = clock_now(CLOCK_BOOTTIME) - now;
	return start > asleep ? start - asleep : 0;
}

/* Calls `each` for every entry of a directory whose name is a number. */
static int each_number(const char *path, int (*each)(uint32_t number, void *arg), void *arg)
{
	_cleanup_dir_ DIR *dir = opendir(path);
	struct dirent *entry;
	int n = 0, r;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		char *end;
		unsigned long number;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		number = strtoul(entry->d_name, &end, 10);
		if (*end || number > INT32_MAX)
			continue;
		r = each(number, arg);
		if (r < 0)
			return r;
		n++;
	}
	return n;
}

int proc_each_thread(uint32_t pid, int (*each)(uint32_t tid, void *arg), void *arg)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
	return each_number(path, each, arg);
}

int proc_each_process(int (*each)(uint32_t pid, void *arg), void *arg)
{
	return each_number("/proc", each, arg);
}

int proc_share_memory(uint32_t pid, uint32_t other)
{
	long r = syscall(SYS_kcmp, pid, other, KCMP_VM, 0, 0); /* 0: one memory; else 1 to 3 */

	return r < 0 ? -errno : r == 0;
}

bool proc_is_gone(uint32_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

bool proc_is_ours(void)
{
	char target[32];
	ssize_t size = readlink("/proc/self", target, sizeof(target) - 1);

	if (size < 0)
		return false;
	target[size] = 0;
	return strtol(target, NULL, 10) == getpid();
}

bool proc_thread_runs(uint32_t pid, uint32_t tid)
{
	char path[64], stat[PROC_STAT_SIZE_MAX];
	_cleanup_fd_ int fd = -1;
	const char *state;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/stat", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, stat, sizeof(stat) - 1);
	if (n <= 0)
		return false;
	stat[n] = 0;
	state = strrchr(stat, ')'); /* the name before it may contain anything */
	return state && !strncmp(state, ") R", 3);
}
