/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two libraries take turns at the same address.
 *
 * truth: chain START main use_left call_left left_enter left_outer left_spin
 * truth: chain START main use_right call_right right_enter right_outer right_spin
 * truth: aside START main (use_left|use_right)? HELPERS*
 */
#include "use-sides.h"

int main(int argc, char **argv)
{
	char left[PATH_MAX], right[PATH_MAX];
	void *address, *library;

	strcpy(left, beside("libleft.so"));
	strcpy(right, beside("libright.so"));
	library = open_library(left);
	address = find(library, "left_enter");
	dlclose(library);
	library = open_library(right);
	check(address == find(library, "right_enter"), "not the same address");
	dlclose(library);
	for (long n = turns(rounds_of(argc, argv), 1000); n; n--) {
		use_left(left, 500);
		use_right(right, 500);
	}
	return 0;
}
