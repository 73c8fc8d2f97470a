/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/hash.h"
#include "common/file/kept-file.h"
#include "common/file/owned-file.h"

enum {
	NAME_MAX_SIZE = 48,
	UNFINISHED_MAX_S = 3600, /* by then the writer of an unfinished file has died */
};

/* A file is its kind's magic, the key, this, and what is kept. */
struct kept_sums {
	uint64_t checksum, size; /* of what is kept */
};

/*
 * Four sums side by side, as fast as memory: against damage, not against attackers, who cannot
 * write here anyway.
 */
static uint64_t checksum(const void *bytes, size_t size)
{
	uint64_t sums[4] = { 1, 2, 3, 4 }, words[4];
	const char *at = bytes, *end = at + size;

	for (; end - at >= (ptrdiff_t)sizeof(words); at += sizeof(words)) {
		memcpy(words, at, sizeof(words));
		for (size_t i = 0; i < 4; i++)
			sums[i] = hash_word(sums[i], words[i]) + (sums[i] >> 32);
	}
	for (; at < end; at++)
		sums[0] = hash_word(sums[0], (uint8_t)*at) + (sums[0] >> 32);
	for (size_t i = 1; i < 4; i++)
		sums[0] = hash_word(sums[0], sums[i]) + (sums[0] >> 29);
	return sums[0];
}

/* Opens a directory below another one, created if need be. Returns a descriptor or -errno. */
static int open_below(int parent, const char *name)
{
	int fd;

	if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* XDG Base Directory Specification: a path that is not absolute is ignored. */
static int open_cache_home(void)
{
	const char *home = getenv("HOME"), *path = getenv("XDG_CACHE_HOME");
	char buffer[4096];

	if (!path || path[0] != '/') {
		if (!home || home[0] != '/')
			return -ENOENT;
		if (snprintf(buffer, sizeof(buffer), "%s/.cache", home) >= (int)sizeof(buffer))
			return -ENAMETOOLONG;
		path = buffer;
	}
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Files that others can write to are refused: they may hold wrong tables. */
static bool is_our_own(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && owned_file_is_ours(&status);
}

struct found_file {
	char name[NAME_MAX_SIZE];
	struct timespec used;
	uint64_t size;
};

static int compare_used(const void *a, const void *b)
{
	const struct found_file *left = a, *right = b;

	if (left->used.tv_sec != right->used.tv_sec)
		return left->used.tv_sec < right->used.tv_sec ? -1 : 1;
	return left->used.tv_nsec < right->used.tv_nsec ? -1
							: left->used.tv_nsec > right->used.tv_nsec;
}

/* Removes a file whose writer has died. */
static void remove_unfinished(int directory, const char *name, const struct stat *status)
{
	if (S_ISREG(status->st_mode) && time(NULL) - status->st_mtim.tv_sec > UNFINISHED_MAX_S)
		unlinkat(directory, name, 0);
}

/* Lists up to `n` files, and removes unfinished ones. Returns their number. */
static size_t list_files(int directory, struct found_file *ret, size_t n_max)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_dir_ DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	struct stat status;
	size_t n = 0;

	while (dir && n < n_max && (entry = readdir(dir))) {
		if (strlen(entry->d_name) >= NAME_MAX_SIZE ||
		    fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (entry->d_name[0] == '.') {
			remove_unfinished(directory, entry->d_name, &status);
			continue;
		}
		strcpy(ret[n].name, entry->d_name);
		ret[n].used = status.st_mtim;
		ret[n++].size = status.st_size;
	}
	return n;
}

/* Above a limit removes the least recently used files, down to 3/4 of both limits. */
static void prune(int directory)
{
	_cleanup_free_ struct found_file *files = calloc(KEPT_FILES_MAX * 2, sizeof(*files));
	size_t n = files ? list_files(directory, files, KEPT_FILES_MAX * 2) : 0;
	uint64_t size = 0;

	for (size_t i = 0; i < n; i++)
		size += files[i].size;
	if (n <= KEPT_FILES_MAX && size <= KEPT_SIZE_MAX)
		return;
	qsort(files, n, sizeof(*files), compare_used);
	for (size_t i = 0;
	     i < n && (n - i > KEPT_FILES_MAX * 3 / 4 || size > KEPT_SIZE_MAX / 4 * 3); i++) {
		unlinkat(directory, files[i].name, 0);
		size -= files[i].size;
	}
}

int kept_files_open(const struct kept_kind *kind)
{
	_cleanup_fd_ int home = open_cache_home();
	_cleanup_fd_ int ours = home >= 0 ? open_below(home, "stackpipe") : -1;
	_cleanup_fd_ int directory = ours >= 0 ? open_below(ours, kind->directory) : -1;

	if (directory < 0 || !is_our_own(directory))
		return -1;
	prune(directory);
	return take_fd(&directory);
}

static void name_file(const struct kept_kind *kind, const void *key, size_t key_size,
		      char ret[NAME_MAX_SIZE])
{
	size_t named = kind->named ? kind->named : key_size;

	snprintf(ret, NAME_MAX_SIZE, "%016" PRIx64 ".%s", checksum(key, named), kind->suffix);
}

/* Whether a mapped file is what was saved under a key that begins so; then finds what is kept. */
static bool is_good(const struct kept_kind *kind, const void *key, size_t key_size, size_t same,
		    struct kept_file *file)
{
	const char *own_key = (const char *)file->map + sizeof(kind->magic);
	struct kept_sums sums;
	size_t head = sizeof(kind->magic) + key_size + sizeof(sums);

	if (file->map_size < head || memcmp(file->map, kind->magic, sizeof(kind->magic)) ||
	    memcmp(own_key, key, same))
		return false;
	memcpy(&sums, own_key + key_size, sizeof(sums));
	file->bytes = (const char *)file->map + head;
	file->size = file->map_size - head;
	return sums.size == file->size && sums.checksum == checksum(file->bytes, file->size);
}

static int load(int directory, const struct kept_kind *kind, const void *key, size_t key_size,
		size_t same, struct kept_file *ret)
{
	struct kept_file file = { 0 };
	_cleanup_fd_ int fd = -1;
	char name[NAME_MAX_SIZE];
	struct stat status;

	if (directory < 0)
		return -ENOENT;
	name_file(kind, key, key_size, name);
	fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || !is_our_own(fd) || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    status.st_size < (off_t)sizeof(struct kept_sums))
		return -ENOENT;
	file.map_size = status.st_size;
	file.map = mmap(NULL, file.map_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (file.map == MAP_FAILED)
		return -ENOENT;
	if (!is_good(kind, key, key_size, same, &file)) {
		munmap(file.map, file.map_size);
		return -ENOENT;
	}
	futimens(fd, NULL); /* marks it as used now */
	*ret = file;
	return 0;
}

int kept_file_load(int directory, const struct kept_kind *kind, const void *key, size_t key_size,
		   struct kept_file *ret)
{
	return load(directory, kind, key, key_size, key_size, ret);
}

int kept_file_load_named(int directory, const struct kept_kind *kind, const void *key,
			 size_t key_size, struct kept_file *ret)
{
	return load(directory, kind, key, key_size, kind->named, ret);
}

void kept_file_unmap(struct kept_file *file)
{
	if (file->map)
		munmap(file->map, file->map_size);
	*file = (struct kept_file){ 0 };
}

/*
 * Creates a file under a unique name: two of our threads may save at once, and PIDs repeat in other
 * namespaces. Returns a descriptor or -errno.
 */
static int create_unfinished(int directory, char ret_name[NAME_MAX_SIZE])
{
	uint64_t number;
	int fd;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	snprintf(ret_name, NAME_MAX_SIZE, ".%016" PRIx64, number);
	fd = openat(directory, ret_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	return fd < 0 ? -errno : fd;
}

int kept_file_save(int directory, const struct kept_kind *kind, const void *key, size_t key_size,
		   const void *bytes, size_t size)
{
	struct kept_sums sums = { checksum(bytes, size), size };
	const struct iovec parts[] = {
		{ (void *)kind->magic, sizeof(kind->magic) },
		{ (void *)key, key_size },
		{ &sums, sizeof(sums) },
		{ (void *)bytes, size },
	};
	size_t whole = sizeof(kind->magic) + key_size + sizeof(sums) + size;
	char name[NAME_MAX_SIZE], unfinished[NAME_MAX_SIZE];
	_cleanup_fd_ int fd = -1;
	ssize_t n;
	int r = 0;

	if (directory < 0)
		return 0;
	name_file(kind, key, key_size, name);
	fd = create_unfinished(directory, unfinished);
	if (fd < 0)
		return fd;
	n = writev(fd, parts, sizeof(parts) / sizeof(parts[0]));
	if (n < 0)
		r = -errno;
	else if ((size_t)n != whole)
		r = -ENOSPC;
	if (r == 0 && renameat(directory, unfinished, directory, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(directory, unfinished, 0);
	return r;
}
