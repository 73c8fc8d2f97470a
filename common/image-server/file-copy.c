/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/file/file-state.h"
#include "common/image-server/file-copy.h"

enum { CHUNK = 1 << 20 };

static uint64_t still_recent(const struct copy_share *share, uint64_t now)
{
	uint64_t since = now > share->as_of ? now - share->as_of : 0;
	uint64_t passed = since / NANOSECONDS_A_MILLISECOND * (COPIES_OF_USER_RATE / 1000);

	return passed < share->recent ? share->recent - passed : 0;
}

/* A user's share as of now: the user's own, or an unused one. NULL: none left. */
static struct copy_share *find_share(struct copy_shares *shares, uid_t user, uint64_t now)
{
	struct copy_share *unused = NULL;

	for (size_t i = 0; i < shares->n; i++) {
		struct copy_share *share = &shares->list[i];

		share->recent = still_recent(share, now);
		share->as_of = now;
		if (share->user == user)
			return share;
		if (!share->size && !share->recent)
			unused = share;
	}
	if (!unused && shares->n < COPY_USERS_MAX)
		unused = &shares->list[shares->n++];
	if (unused)
		*unused = (struct copy_share){ .user = user, .as_of = now };
	return unused;
}

static bool fits(const struct copy_shares *shares, const struct copy_share *share, uint64_t size)
{
	return share->size + size <= COPIES_OF_USER_SIZE_MAX &&
	       share->recent + size <= COPIES_OF_USER_SIZE_MAX &&
	       shares->size + size <= COPIES_SIZE_MAX;
}

bool copy_shares_take(struct copy_shares *shares, uid_t user, uint64_t size, uint64_t now)
{
	struct copy_share *share;
	bool may_have;

	if (size > COPIES_OF_USER_SIZE_MAX)
		return false;
	pthread_mutex_lock(&shares->mutex);
	share = find_share(shares, user, now);
	may_have = share && fits(shares, share, size);
	if (may_have) {
		share->size += size;
		share->recent += size;
		shares->size += size;
	}
	pthread_mutex_unlock(&shares->mutex);
	return may_have;
}

void copy_shares_give_back(struct copy_shares *shares, uid_t user, uint64_t size)
{
	pthread_mutex_lock(&shares->mutex);
	for (size_t i = 0; i < shares->n; i++) {
		if (shares->list[i].user != user)
			continue;
		shares->list[i].size -= size;
		shares->size -= size;
		break;
	}
	pthread_mutex_unlock(&shares->mutex);
}

static int open_path(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			data += n;
			size -= n;
		}
	}
	return 0;
}

/* -ESTALE unless the file has exactly `size` bytes. */
static int copy_bytes(int from, int to, uint64_t size)
{
	_cleanup_free_ char *chunk = malloc(CHUNK);
	ssize_t n;
	int r = 0;

	if (!chunk)
		return -ENOMEM;
	do {
		n = read(from, chunk, CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if ((uint64_t)n > size)
			return -ESTALE;
		r = write_all(to, chunk, n);
		size -= n;
	} while (n != 0 && r == 0);
	return r < 0 ? r : size ? -ESTALE : 0;
}

/* The mtime passes on to stages when the original was written. */
static int seal(int fd, const struct stat *status)
{
	const struct file_state state = file_state_of(status);
	uint64_t written = file_state_written(&state);
	const struct timespec time = {
		.tv_sec = written / NANOSECONDS_A_SECOND,
		.tv_nsec = written % NANOSECONDS_A_SECOND,
	};
	const struct timespec times[] = { time, time };

	if (futimens(fd, times) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
		return -errno;
	return 0;
}

int file_copy(int path_fd, const struct stat *status, int *ret_fd)
{
	_cleanup_fd_ int from = open_path(path_fd), to = -1;
	int r;

	if (from < 0)
		return from;
	to = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (to < 0)
		return -errno;
	r = copy_bytes(from, to, status->st_size);
	if (r == 0)
		r = seal(to, status);
	if (r == 0)
		r = open_path(to);
	if (r < 0)
		return r;
	*ret_fd = r;
	return 0;
}
