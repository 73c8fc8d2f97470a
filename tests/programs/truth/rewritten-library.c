/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A library is rewritten in place between two uses: the same inode, size and address, but other
 * content.
 *
 * truth: runs copied
 * truth: chain START main use_left call_left
 * truth: then (left_enter|[library.so]) (left_outer|[library.so]) (left_spin|[library.so])
 * truth: chain START main use_right call_right
 * truth: then (right_enter|[library.so]) (right_outer|[library.so]) (right_spin|[library.so])
 * truth: ends image-unavailable at [library.so]  # sampled before it was opened, or
 * truth: ends image-unavailable at [unknown]     # less than a tick after a change
 * truth: ends image-unavailable at (left_outer|left_spin|right_outer|right_spin)
 * truth: ends image-unavailable at (_init|_fini|__do_global_dtors_aux)
 * truth: aside START main (use_left|use_right)? HELPERS*
 */
#include "use-sides.h"

enum { TURN = 20000 }; /* tens of milliseconds: most of that after the file was opened */

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
