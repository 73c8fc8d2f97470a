/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A library in use is upgraded by renaming another one over it: the process that loaded it before
 * continues with the old one, a process started afterwards gets the new one. Both work at the same
 * time.
 *
 * truth: runs copied
 * truth: comm old
 * truth: chain START main use_left call_left left_enter left_outer left_spin
 * truth: aside START main use_left? HELPERS*
 * truth: comm new
 * truth: chain START main use_right call_right right_enter right_outer right_spin
 * truth: aside START main use_right? HELPERS*
 * truth: comm replaced-library
 * truth: aside START main upgrade? HELPERS*
 */
#include "use-sides.h"

/* Puts the second library under the first one's name, atomically. */
static LINK void upgrade(const char *path)
{
	char fresh[PATH_MAX];

	strcpy(fresh, beside("fresh.so"));
	copy_file(beside("libright.so"), fresh);
	check(rename(fresh, path) == 0, "rename");
}

/* Reports by the pipe that the library is loaded, and uses it. */
static void use_old(const char *path, long rounds, int reported)
{
	void *library = open_library(path);

	prctl(PR_SET_NAME, "old");
	check(write(reported, "", 1) == 1, "write");
	use_left(path, rounds);
	dlclose(library);
	_exit(0);
}

int main(int argc, char **argv)
{
	long rounds = rounds_of(argc, argv);
	char path[PATH_MAX], byte;
	pid_t old, new;
	int reported[2];

	strcpy(path, beside("library.so"));
	if (argc > 2) {
		prctl(PR_SET_NAME, "new");
		use_right(path, rounds);
		return 0;
	}
	copy_file(beside("libleft.so"), path);
	check(pipe2(reported, O_CLOEXEC) == 0, "pipe");
	old = fork();
	if (old == 0)
		use_old(path, rounds / 2, reported[1]);
	check(read(reported[0], &byte, 1) == 1, "read");
	upgrade(path);
	snprintf(path, sizeof(path), "%ld", rounds / 2);
	new = fork();
	if (new == 0)
		execl(argv[0], argv[0], path, "new", NULL);
	wait_for(old);
	wait_for(new);
	return 0;
}
