/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * To be preloaded: no read or write of a program does all that it is asked to, and some are
 * interrupted. SHORT_IO is the most bytes at a time.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static size_t most;
static unsigned int random_state = 1;

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("SHORT_IO");

	most = text ? strtoul(text, NULL, 10) : 0;
}

/* How much of `size` is done; 0 for one in eight: a signal came first. */
static size_t part(size_t size)
{
	if (!most || !size)
		return size;
	random_state = random_state * 1103515245 + 12345;
	if (random_state >> 16 & 7) {
		size_t n = 1 + (random_state >> 19) % most;

		return n < size ? n : size;
	}
	errno = EINTR;
	return 0;
}

ssize_t read(int fd, void *buffer, size_t size)
{
	size_t n = part(size);

	return size && !n ? -1 : syscall(SYS_read, fd, buffer, n);
}

ssize_t write(int fd, const void *buffer, size_t size)
{
	size_t n = part(size);

	return size && !n ? -1 : syscall(SYS_write, fd, buffer, n);
}

static ssize_t first_part(long call, int fd, const struct iovec *list, int n)
{
	int i = 0;

	while (i < n && !list[i].iov_len)
		i++;
	if (i == n)
		return 0;
	return call == SYS_readv ? read(fd, list[i].iov_base, list[i].iov_len)
				 : write(fd, list[i].iov_base, list[i].iov_len);
}

ssize_t readv(int fd, const struct iovec *list, int n)
{
	return first_part(SYS_readv, fd, list, n);
}

ssize_t writev(int fd, const struct iovec *list, int n)
{
	return first_part(SYS_writev, fd, list, n);
}

/* As pread64(), which is what it is called with files of any size. */
ssize_t pread(int fd, void *buffer, size_t size, off_t at)
{
	size_t n = part(size);

	return size && !n ? -1 : syscall(SYS_pread64, fd, buffer, n, at);
}
