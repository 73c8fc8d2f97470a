/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "preload-source/reader/shared-memory.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1 */
#endif

int shared_memory_make(struct shared_memory *ret, const char *name, uint64_t size,
		       enum shared_memory_writers writers)
{
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	_cleanup_fd_ int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *bytes;
	int r;

	if (fd < 0 || ftruncate(fd, size) < 0)
		return -errno;
	bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	if (writers == SHARED_WITH_READERS)
		seals |= F_SEAL_FUTURE_WRITE; /* our own mapping stays writable */
	if (fcntl(fd, F_ADD_SEALS, seals) < 0) {
		r = -errno;
		munmap(bytes, size);
		return r;
	}
	*ret = (struct shared_memory){ take_fd(&fd), bytes, size };
	return 0;
}

void shared_memory_deinit(struct shared_memory *memory)
{
	if (memory->bytes)
		munmap(memory->bytes, memory->size);
	if (memory->fd >= 0)
		close(memory->fd);
	*memory = (struct shared_memory){ .fd = -1 };
}
