/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Machine code in anonymous memory, or with CODE_IN_MEMFD in a memfd, as JIT compilers make it. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "truth.h"

#ifdef CODE_IN_MEMFD
static void *map_code(size_t size)
{
	int fd = memfd_create("code", MFD_CLOEXEC);

	return fd < 0 || ftruncate(fd, size) < 0
		       ? MAP_FAILED
		       : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}
#else
static void *map_code(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
#endif

static void *make_code(const unsigned char *bytes, size_t size)
{
	void *code = map_code(size);

	if (code == MAP_FAILED)
		exit(1);
	memcpy(code, bytes, size);
	mprotect(code, size, PROT_READ | PROT_EXEC);
	return code;
}

static LINK void call_loop(void (*code)(void))
{
	code();
	STAY();
}

static LINK void call_back(void (*code)(void (*function)(void)))
{
	code(spin);
	STAY();
}

static LINK void run(const unsigned char *loop, size_t size_of_loop, const unsigned char *back,
		     size_t size_of_back, long rounds)
{
	void *code_of_loop = make_code(loop, size_of_loop);
	void *code_of_back = make_code(back, size_of_back);

	for (; rounds; rounds--) {
		call_loop(code_of_loop);
		call_back(code_of_back);
	}
}
