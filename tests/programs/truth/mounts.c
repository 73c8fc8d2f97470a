/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two processes load a library of the same path at the same time, each in its own mount namespace,
 * where it is a different library.
 *
 * truth: needs root
 * truth: runs copied
 * truth: aside START main use? HELPERS*
 * truth: aside START main can_be_private HELPERS*
 * truth: comm in-left
 * truth: chain START main use use_left call_left left_enter left_outer left_spin
 * truth: aside START main use use_left? HELPERS*
 * truth: comm in-right
 * truth: chain START main use use_right call_right right_enter right_outer right_spin
 * truth: aside START main use use_right? HELPERS*
 */
#include <sched.h>
#include <sys/mount.h>

#include "use-sides.h"

/* Long enough to open the file while the process lives; afterwards its path does not lead there. */
enum { ROUNDS = 40000 };

static LINK void use(const char *library, void (*use_side)(const char *path, long rounds),
		     const char *path, const char *comm)
{
	prctl(PR_SET_NAME, comm);
	check(unshare(CLONE_NEWNS) == 0, "unshare");
	check(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "private mounts");
	check(mount(beside(library), path, NULL, MS_BIND, NULL) == 0, path);
	use_side(path, ROUNDS);
	_exit(0);
}

/* In a chroot there is no mount to make private: mounts would be visible outside. */
static LINK int can_be_private(void)
{
	struct statx status;

	return statx(AT_FDCWD, "/", 0, 0, &status) == 0 &&
	       status.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

int main(int argc, char **argv)
{
	char path[PATH_MAX];

	if (!can_be_private())
		return NOT_HERE;

	strcpy(path, beside("library.so"));
	copy_file(beside("libtiny.so"), path);
	for (long n = turns(rounds_of(argc, argv), 2 * ROUNDS); n; n--) {
		pid_t pids[2] = { fork(), -1 };

		if (pids[0] == 0)
			use("libleft.so", use_left, path, "in-left");
		pids[1] = fork();
		if (pids[1] == 0)
			use("libright.so", use_right, path, "in-right");
		wait_for(pids[0]);
		wait_for(pids[1]);
	}
	return 0;
}
