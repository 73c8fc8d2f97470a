/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/file/owned-file.h"
#include "common/stream/file-identity.h"
#include "common/unwind/table-cache.h"

/* The number changes with the layout or the meaning of tables or rules. */
#define MAGIC "stackpipe unwind table 5"

enum {
	NAME_MAX_SIZE = 48,
	UNFINISHED_MAX_S = 3600, /* by then the writer of an unfinished file has died */
};

struct table_file_header {
	char magic[24];
	struct table_cache_key key;
	uint64_t checksum; /* of the table */
	uint64_t size;	   /* of the table, which follows */
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

struct named_time {
	char name[NAME_MAX_SIZE];
	struct timespec used;
};

static int compare_used(const void *a, const void *b)
{
	const struct named_time *left = a, *right = b;

	if (left->used.tv_sec != right->used.tv_sec)
		return left->used.tv_sec < right->used.tv_sec ? -1 : 1;
	return left->used.tv_nsec < right->used.tv_nsec ? -1
							: left->used.tv_nsec > right->used.tv_nsec;
}

/* Removes a file whose writer has died. */
static void remove_unfinished(const struct table_cache *cache, const char *name,
			      const struct stat *status)
{
	if (S_ISREG(status->st_mode) && time(NULL) - status->st_mtim.tv_sec > UNFINISHED_MAX_S)
		unlinkat(cache->dir_fd, name, 0);
}

/* Above TABLE_CACHE_FILES_MAX removes the least recently used files, down to 3/4 of that. */
static void prune(const struct table_cache *cache)
{
	int fd = openat(cache->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_dir_ DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	_cleanup_free_ struct named_time *files = calloc(TABLE_CACHE_FILES_MAX * 2, sizeof(*files));
	struct dirent *entry;
	struct stat status;
	size_t n = 0;

	while (dir && files && n < TABLE_CACHE_FILES_MAX * 2 && (entry = readdir(dir))) {
		if (strlen(entry->d_name) >= NAME_MAX_SIZE ||
		    fstatat(cache->dir_fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (entry->d_name[0] == '.') {
			remove_unfinished(cache, entry->d_name, &status);
			continue;
		}
		strcpy(files[n].name, entry->d_name);
		files[n++].used = status.st_mtim;
	}
	if (n <= TABLE_CACHE_FILES_MAX)
		return;
	qsort(files, n, sizeof(*files), compare_used);
	for (size_t i = 0; i < n - TABLE_CACHE_FILES_MAX * 3 / 4; i++)
		unlinkat(cache->dir_fd, files[i].name, 0);
}

void table_cache_open(struct table_cache *cache)
{
	_cleanup_fd_ int home = open_cache_home();
	_cleanup_fd_ int ours = home >= 0 ? open_below(home, "stackpipe") : -1;

	cache->dir_fd = ours >= 0 ? open_below(ours, "unwind") : -1;
	if (cache->dir_fd < 0) {
		cache->dir_fd = -1;
	} else if (!is_our_own(cache->dir_fd)) {
		close(cache->dir_fd);
		cache->dir_fd = -1;
	} else {
		prune(cache);
	}
}

void table_cache_close(struct table_cache *cache)
{
	if (cache->dir_fd >= 0)
		close(cache->dir_fd);
	cache->dir_fd = -1;
}

bool table_cache_key(const struct elf_image *file, struct table_cache_key *ret)
{
	struct wire_image_id id;
	struct stat status;
	uint64_t device;

	if (file->fd < 0 || fstat(file->fd, &status) < 0 ||
	    !file_device_lasts(file->fd, &status, &device))
		return false;
	elf_image_id(file, 0, &id);
	memset(ret, 0, sizeof(*ret));
	ret->device = device;
	ret->inode = status.st_ino;
	ret->size = status.st_size;
	ret->modified_ns = clock_nanoseconds(status.st_mtim);
	ret->changed_ns = clock_nanoseconds(status.st_ctim);
	ret->machine = file->machine;
	ret->build_id_size = id.build_id.size;
	if (id.build_id.size)
		memcpy(ret->build_id, id.build_id.data, id.build_id.size);
	return true;
}

static void name_file(const struct table_cache_key *key, char ret[NAME_MAX_SIZE])
{
	snprintf(ret, NAME_MAX_SIZE, "%016" PRIx64 ".table", checksum(key, sizeof(*key)));
}

static bool is_good(const struct table_cache_key *key, const void *bytes, size_t size,
		    struct unwind_table *ret)
{
	const struct table_file_header *header = bytes;

	return size >= sizeof(*header) && !memcmp(header->magic, MAGIC, sizeof(header->magic)) &&
	       !memcmp(&header->key, key, sizeof(*key)) && header->size == size - sizeof(*header) &&
	       header->checksum == checksum(header + 1, header->size) &&
	       unwind_table_view(header + 1, header->size, ret);
}

int table_cache_load(const struct table_cache *cache, const struct table_cache_key *key,
		     struct unwind_table *ret, struct cached_table_file *ret_file)
{
	_cleanup_fd_ int fd = -1;
	char name[NAME_MAX_SIZE];
	struct stat status;
	void *bytes;

	if (cache->dir_fd < 0)
		return -ENOENT;
	name_file(key, name);
	fd = openat(cache->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || !is_our_own(fd) || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    status.st_size < (off_t)sizeof(struct table_file_header))
		return -ENOENT;
	bytes = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -ENOENT;
	if (!is_good(key, bytes, status.st_size, ret)) {
		munmap(bytes, status.st_size);
		return -ENOENT;
	}
	futimens(fd, NULL); /* marks it as used now */
	*ret_file = (struct cached_table_file){ bytes, status.st_size };
	return 0;
}

void table_cache_unmap(struct cached_table_file *file)
{
	if (file->bytes)
		munmap(file->bytes, file->size);
	*file = (struct cached_table_file){ 0 };
}

static int write_all(int fd, const struct table_file_header *header,
		     const struct unwind_table *table)
{
	const struct iovec parts[] = {
		{ (void *)header, sizeof(*header) },
		{ (void *)table->header, table->size },
	};
	ssize_t n = writev(fd, parts, 2);

	if (n < 0)
		return -errno;
	return (size_t)n == sizeof(*header) + table->size ? 0 : -ENOSPC;
}

/*
 * Creates a file under a unique name: two of our threads may save at once, and PIDs repeat in other
 * namespaces. Returns a descriptor or -errno.
 */
static int create_unfinished(const struct table_cache *cache, char ret_name[NAME_MAX_SIZE])
{
	uint64_t number;
	int fd;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	snprintf(ret_name, NAME_MAX_SIZE, ".%016" PRIx64, number);
	fd = openat(cache->dir_fd, ret_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	return fd < 0 ? -errno : fd;
}

int table_cache_save(const struct table_cache *cache, const struct table_cache_key *key,
		     const struct unwind_table *table)
{
	struct table_file_header header = {
		.key = *key,
		.checksum = checksum(table->header, table->size),
		.size = table->size,
	};
	char name[NAME_MAX_SIZE], unfinished[NAME_MAX_SIZE];
	_cleanup_fd_ int fd = -1;
	int r;

	if (cache->dir_fd < 0 || table->size < TABLE_CACHE_LEAST)
		return 0;
	memcpy(header.magic, MAGIC, sizeof(header.magic));
	name_file(key, name);
	fd = create_unfinished(cache, unfinished);
	if (fd < 0)
		return fd;
	r = write_all(fd, &header, table);
	if (r == 0 && renameat(cache->dir_fd, unfinished, cache->dir_fd, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(cache->dir_fd, unfinished, 0);
	return r;
}
