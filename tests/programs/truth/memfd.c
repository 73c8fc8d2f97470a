/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Libraries that were never in a directory, one after the other at the same address. The first use
 * of each is too short for a recorder to open it; later uses are not.
 *
 * truth: chain START main use_left call_left
 * truth: then (left_enter|[memfd:library]) (left_outer|[memfd:library])
 * truth: then (left_spin|[memfd:library])
 * truth: chain START main use_right call_right
 * truth: then (right_enter|[memfd:library]) (right_outer|[memfd:library])
 * truth: then (right_spin|[memfd:library])
 * truth: ends image-unavailable at (left_enter|left_outer|left_spin)
 * truth: ends image-unavailable at (right_enter|right_outer|right_spin)
 * truth: ends image-unavailable at [memfd:library]
 * truth: aside START main (use_left|use_right|make)? HELPERS*
 */
#include <sys/mman.h>

#include "use-sides.h"

enum { TURN = 64000 }; /* over a tenth of a second: longer than the recorder sleeps */

/* Makes a path for a memfd, whose descriptor stays open. */
static LINK void make(const char *name, char path[32])
{
	int fd = memfd_create("library", 0);

	check(fd >= 0, "memfd_create");
	copy_to(fd, beside(name));
	snprintf(path, 32, "/proc/self/fd/%d", fd);
}

int main(int argc, char **argv)
{
	char left[32], right[32];

	make("libleft.so", left);
	make("libright.so", right);
	use_left(left, 1);
	use_right(right, 1);
	for (long n = turns(rounds_of(argc, argv), 2 * TURN); n; n--) {
		use_left(left, TURN);
		use_right(right, TURN);
	}
	return 0;
}
