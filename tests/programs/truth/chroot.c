/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two processes execute the same path at the same time, each in its own root, where it is a
 * different program.
 *
 * truth: needs root
 * truth: runs copied
 * truth: aside START main (make_root|in_root)? HELPERS*
 * truth: comm in-left
 * truth: chain START main left_enter left_outer left_spin
 * truth: comm in-right
 * truth: chain START main right_enter right_outer right_spin
 */
#include <errno.h>

#include "use-sides.h"

/* Long enough to open the file while the process lives; afterwards its path does not lead there. */
enum { ROUNDS = 40000 };

static LINK void make_root(const char *name, const char *program, char root[PATH_MAX])
{
	char path[PATH_MAX + 16];

	strcpy(root, beside(name));
	check(mkdir(root, 0755) == 0 || errno == EEXIST, root);
	snprintf(path, sizeof(path), "%s/program", root);
	copy_file(beside(program), path);
}

static LINK void in_root(const char *root, const char *comm)
{
	char rounds[16];

	snprintf(rounds, sizeof(rounds), "%d", ROUNDS);
	check(chroot(root) == 0 && chdir("/") == 0, root);
	execl("/program", "program", rounds, comm, NULL);
	_exit(1);
}

int main(int argc, char **argv)
{
	char left[PATH_MAX], right[PATH_MAX];

	make_root("left-root", "side-left", left);
	make_root("right-root", "side-right", right);
	for (long n = turns(rounds_of(argc, argv), 2 * ROUNDS); n; n--) {
		pid_t pids[2] = { fork(), -1 };

		if (pids[0] == 0)
			in_root(left, "in-left");
		pids[1] = fork();
		if (pids[1] == 0)
			in_root(right, "in-right");
		wait_for(pids[0]);
		wait_for(pids[1]);
	}
	return 0;
}
