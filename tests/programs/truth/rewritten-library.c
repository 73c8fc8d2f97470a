/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A library is written anew, in place, between one use and the next: the same inode, size and
 * address, but another content.
 *
 * truth: runs copied
 * truth: chain START main use_left call_left left_enter left_outer left_spin
 * truth: chain START main use_right call_right right_enter right_outer right_spin
 * truth: aside START main (use_left|use_right)? (find|open_library|copy_file)? copy_to? (LIBC|LD|PLT)*
 */
#include "use-sides.h"

enum { TURN = 2000 };

int main(int argc, char **argv)
{
	char left[PATH_MAX], right[PATH_MAX], path[PATH_MAX];

	strcpy(left, beside("libleft.so"));
	strcpy(right, beside("libright.so"));
	strcpy(path, beside("library.so"));
	for (long n = turns(rounds_of(argc, argv), 2 * TURN); n; n--) {
		copy_file(left, path);
		use_left(path, TURN);
		copy_file(right, path);
		use_right(path, TURN);
	}
	return 0;
}
