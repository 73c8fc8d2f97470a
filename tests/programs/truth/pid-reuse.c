/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One process after the other with the same PID and addresses: two programs, and the same program
 * with either library.
 *
 * truth: needs root
 * truth: aside START main (again|use_a_side)* HELPERS*
 * truth: comm side-left
 * truth: chain START main left_enter left_outer left_spin
 * truth: comm side-right
 * truth: chain START main right_enter right_outer right_spin
 * truth: comm left
 * truth: chain START main again use_a_side use_left call_left left_enter left_outer left_spin
 * truth: aside START main again use_a_side use_left? HELPERS*
 * truth: comm right
 * truth: chain START main again use_a_side use_right call_right right_enter right_outer right_spin
 * truth: aside START main again use_a_side use_right? HELPERS*
 */
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "use-sides.h"

enum { ROUNDS = 600, KINDS = 4 };

static LINK void use_a_side(int kind)
{
	const char *const names[KINDS] = { "side-left", "side-right", "left", "right" };
	char rounds[16];

	if (kind < 2) {
		snprintf(rounds, sizeof(rounds), "%d", ROUNDS);
		execl(beside(names[kind]), names[kind], rounds, NULL);
		_exit(1);
	}
	prctl(PR_SET_NAME, names[kind]);
	if (kind == 2)
		use_left(beside("libleft.so"), ROUNDS);
	else
		use_right(beside("libright.so"), ROUNDS);
	_exit(0);
}

/* Starts another child with a PID that is free again. */
static LINK void again(pid_t pid, int kind)
{
	struct clone_args how = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&pid,
		.set_tid_size = 1,
	};
	long child = syscall(SYS_clone3, &how, sizeof(how));

	if (child == 0)
		use_a_side(kind);
	check(child == pid, "clone3");
	wait_for(pid);
}

int main(int argc, char **argv)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	wait_for(pid);
	for (long n = turns(rounds_of(argc, argv), KINDS * ROUNDS); n; n--)
		for (int kind = 0; kind < KINDS; kind++)
			again(pid, kind);
	return 0;
}
