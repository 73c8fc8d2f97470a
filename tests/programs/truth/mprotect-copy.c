/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A copy of a library's functions in memory that is made executable: its origin is unknown.
 *
 * truth: chain START main call_right ANON{3}
 * truth: ends no-unwind-info at ANON              # there is no file with any
 * truth: aside START main HELPERS*
 */
#include <sys/mman.h>

#include "use-sides.h"

enum { SIZE = 3 * 4096 }; /* a page for each function (sides.h) */

static char *least(char *a, char *b)
{
	return a < b ? a : b;
}

int main(int argc, char **argv)
{
	void *library = open_library(beside("libright.so"));
	char *enter = find(library, "right_enter");
	char *begin =
		least(enter, least(find(library, "right_outer"), find(library, "right_spin")));
	char *copy = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(copy != MAP_FAILED, "mmap");
	memcpy(copy, begin, 2 * 4096 + 256); /* the rest of the last page may be missing */
	check(mprotect(copy, SIZE, PROT_READ | PROT_EXEC) == 0, "mprotect");
	call_right((enter_function *)(copy + (enter - begin)), rounds_of(argc, argv));
	return 0;
}
