/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * posix_spawn(): until it executes a program, the child runs on a stack within its parent's.
 *
 * truth: chain START main spawner outer WORK
 * truth: aside START main spawner? HELPERS*
 * truth: aside LIBC{1,4}                          # the child, on its own stack
 * truth: comm side-left
 * truth: chain START main left_enter left_outer left_spin
 * truth: comm side-right
 * truth: chain START main right_enter right_outer right_spin
 */
#include <spawn.h>

#include "use-sides.h"

extern char **environ;

static LINK void outer(void)
{
	for (int i = 0; i < 600; i++)
		spin();
	STAY();
}

static LINK void spawner(const char *path)
{
	char *arguments[] = { (char *)path, "600", NULL };
	pid_t pid;

	check(posix_spawn(&pid, path, NULL, NULL, arguments, environ) == 0, path);
	outer();
	wait_for(pid);
}

int main(int argc, char **argv)
{
	char left[PATH_MAX], right[PATH_MAX];

	strcpy(left, beside("side-left"));
	strcpy(right, beside("side-right"));
	for (long n = turns(rounds_of(argc, argv), 2400); n; n--) {
		spawner(left);
		spawner(right);
	}
	return 0;
}
