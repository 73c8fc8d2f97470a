/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Machine code in anonymous memory, as compilers make it that run together with the program. */
#include <string.h>
#include <sys/mman.h>

#include "truth.h"

static void *make_code(const unsigned char *bytes, size_t size)
{
	void *code = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

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
