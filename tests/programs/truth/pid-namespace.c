/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes with PIDs of their own namespaces: 1 and 2, in one namespace after the other.
 *
 * truth: needs root
 * truth: aside START main first? HELPERS*
 * truth: comm first
 * truth: chain START main first call_left left_enter left_outer left_spin
 * truth: aside START main first second? HELPERS*
 * truth: comm second
 * truth: chain START main first second call_right right_enter right_outer right_spin
 * truth: aside START main first second HELPERS*
 */
#include <sched.h>

#include "use-sides.h"

enum { ROUNDS = 600 };

static LINK void second(void)
{
	prctl(PR_SET_NAME, "second");
	check(getpid() == 2, "PID 2");
	call_right(find(open_library(beside("libright.so")), "right_enter"), ROUNDS);
	_exit(0);
}

static LINK void first(void)
{
	pid_t pid;

	prctl(PR_SET_NAME, "first");
	check(getpid() == 1, "PID 1");
	pid = fork();
	if (pid == 0)
		second();
	call_left(find(open_library(beside("libleft.so")), "left_enter"), ROUNDS);
	wait_for(pid);
	_exit(0);
}

int main(int argc, char **argv)
{
	for (long n = turns(rounds_of(argc, argv), 2 * ROUNDS); n; n--) {
		pid_t pid;

		check(unshare(CLONE_NEWPID) == 0, "unshare");
		pid = fork();
		if (pid == 0)
			first();
		wait_for(pid);
		check(setns(open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC), CLONE_NEWPID) == 0,
		      "setns");
	}
	return 0;
}
