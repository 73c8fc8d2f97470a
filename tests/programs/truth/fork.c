/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Children and grandchildren without an exec, one of which loads another library where its parent
 * continues with the first.
 *
 * truth: chain START main child WORK
 * truth: chain START main child grandchild WORK
 * truth: chain START main changed call_right right_enter right_outer right_spin
 * truth: chain START main call_left left_enter left_outer left_spin
 * truth: aside START main (child|grandchild|changed)* HELPERS*
 */
#include "use-sides.h"

enum { ROUNDS = 150 };

static LINK void grandchild(void)
{
	for (int i = 0; i < ROUNDS; i++)
		spin();
	_exit(0);
}

static LINK void child(void)
{
	pid_t pid;

	for (int i = 0; i < ROUNDS; i++)
		spin();
	pid = fork();
	if (pid == 0)
		grandchild();
	wait_for(pid);
	_exit(0);
}

static LINK void changed(void *left, const char *path)
{
	void *address = find(left, "left_enter"), *right;

	dlclose(left);
	right = open_library(path);
	check(address == find(right, "right_enter"), "not the same address");
	call_right(find(right, "right_enter"), ROUNDS);
	_exit(0);
}

int main(int argc, char **argv)
{
	void *left = open_library(beside("libleft.so"));
	enter_function *enter = find(left, "left_enter");

	for (long n = turns(rounds_of(argc, argv), 4 * ROUNDS); n; n--) {
		pid_t pids[2] = { fork(), -1 };

		if (pids[0] == 0)
			child();
		pids[1] = fork();
		if (pids[1] == 0)
			changed(left, beside("libright.so"));
		call_left(enter, ROUNDS);
		wait_for(pids[0]);
		wait_for(pids[1]);
	}
	return 0;
}
