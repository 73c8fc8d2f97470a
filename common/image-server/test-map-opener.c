/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Perf maps of child processes, some of which have another root directory. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/image-server/map-opener.h"

enum {
	NO_PID = 5000000, /* above any pid_max */
	OTHER_USER = 12345,
	THIRD_USER = 23456,
	AGE_NS = 50 * 1000 * 1000,
};

static char dir[] = "/tmp/stackpipe-test-XXXXXX";
static char path[96]; /* of the child's map */
static pid_t child;
static struct map_process process;
static struct image_file file;

static int set_up(void **state)
{
	char tmp[64];

	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(tmp, sizeof(tmp), "%s/tmp", dir);
	path[0] = 0;
	child = 0;
	process.root_fd = file.fd = -1;
	return mkdir(tmp, 0777);
}

static void end_child(void)
{
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	child = 0;
}

static int tear_down(void **state)
{
	char command[64];

	end_child();
	if (path[0]) {
		unlink(path);
		rmdir(path);
	}
	if (process.root_fd >= 0)
		close(process.root_fd);
	if (file.fd >= 0)
		close(file.fd);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* Starts a child that runs `prepare`; false if it fails. */
static bool start(int (*prepare)(void))
{
	int ends[2];
	char byte;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (prepare && prepare() < 0)
			_exit(1);
		if (write(ends[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ends[1]);
	byte = read(ends[0], &byte, 1) == 1;
	close(ends[0]);
	process = (struct map_process){ .pid = child, .root_fd = -1 };
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", child);
	return byte;
}

static void make_map(const char *content)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
	close(fd);
}

static void make_map_of(uid_t user, mode_t mode)
{
	unlink(path);
	make_map("1000 10 name\n");
	assert_int_equal(chown(path, user, user), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void check_found(const char *content)
{
	char bytes[64] = "";

	map_open(&process, &file);
	assert_int_equal(file.status, WIRE_image_status_OPEN);
	assert_true(file.fd >= 0);
	assert_int_equal(file.state.size, strlen(content));
	assert_true(file.state.modified > 0);
	assert_int_equal(fcntl(file.fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(fcntl(file.fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(pread(file.fd, bytes, sizeof(bytes), 0), strlen(content));
	assert_string_equal(bytes, content);
	close(file.fd);
	file.fd = -1;
}

static void check_not_found(enum wire_image_status status)
{
	map_open(&process, &file);
	assert_int_equal(file.fd, -1);
	assert_int_equal(file.status, status);
}

static void test_the_map_of_a_process_is_opened(void **state)
{
	assert_true(start(NULL));
	make_map("1000 10 name\n");
	check_found("1000 10 name\n");
	assert_true(process.root_fd >= 0);
	assert_int_equal(fcntl(process.root_fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(process.own_pid, child);
	assert_int_equal(process.user, geteuid());
	check_found("1000 10 name\n");
}

static void test_a_map_created_later_is_found(void **state)
{
	assert_true(start(NULL));
	check_not_found(WIRE_image_status_GONE);
	check_not_found(WIRE_image_status_GONE);
	make_map("1000 10 later\n");
	check_found("1000 10 later\n");
}

static void test_map_of_a_since_exited_process_is_found(void **state)
{
	assert_true(start(NULL));
	check_not_found(WIRE_image_status_GONE);
	make_map("1000 10 name\n");
	end_child();
	check_found("1000 10 name\n");
}

static void test_map_of_an_exited_process_is_not_found(void **state)
{
	siginfo_t end;

	assert_true(start(NULL));
	make_map("1000 10 name\n");
	kill(child, SIGKILL);
	assert_int_equal(waitid(P_PID, child, &end, WEXITED | WNOWAIT), 0);
	check_not_found(WIRE_image_status_GONE); /* a zombie has no root */
	end_child();
	check_not_found(WIRE_image_status_GONE);
	process.pid = NO_PID;
	check_not_found(WIRE_image_status_GONE);
	process.pid = 0;
	check_not_found(WIRE_image_status_GONE);
	assert_int_equal(process.root_fd, -1);
}

/* The opener must neither wait for them nor follow them. */
static void test_special_files_are_refused(void **state)
{
	assert_true(start(NULL));
	assert_int_equal(mkfifo(path, 0666), 0);
	check_not_found(WIRE_image_status_REFUSED);
	unlink(path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	check_not_found(WIRE_image_status_REFUSED);
	unlink(path);
	assert_int_equal(mkdir(path, 0777), 0);
	check_not_found(WIRE_image_status_REFUSED);
	rmdir(path);
	make_map("1000 10 name\n");
	assert_int_equal(truncate(path, 2LL << 30), 0);
	check_not_found(WIRE_image_status_REFUSED);
	assert_int_equal(truncate(path, 13), 0);
	check_found("1000 10 name\n");
}

static int become_other_user(void)
{
	/* The effective user owns the files that the process creates. */
	return setresuid(THIRD_USER, OTHER_USER, THIRD_USER);
}

static void test_maps_of_other_users_are_refused(void **state)
{
	if (geteuid() != 0)
		skip();
	assert_true(start(become_other_user));
	make_map_of(THIRD_USER, 0666);
	check_not_found(WIRE_image_status_REFUSED);
	assert_int_equal(process.user, OTHER_USER);
	make_map_of(0, 0600); /* the process could not read it */
	check_not_found(WIRE_image_status_REFUSED);
	make_map_of(OTHER_USER, 0600);
	check_found("1000 10 name\n");
}

static void test_an_inaccessible_process_is_denied(void **state)
{
	int status;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	assert_true(start(NULL));
	make_map_of(OTHER_USER, 0666);
	pid = fork();
	if (pid == 0) {
		if (setresuid(OTHER_USER, OTHER_USER, OTHER_USER) < 0)
			_exit(1);
		map_open(&process, &file);
		_exit(file.status != WIRE_image_status_DENIED || process.root_fd >= 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int leave_root(void)
{
	return chroot(dir) < 0 || chdir("/") < 0 ? -1 : 0;
}

static void test_a_map_is_found_below_the_process_root(void **state)
{
	if (geteuid() != 0)
		skip();
	assert_true(start(leave_root));
	make_map("1000 10 outside\n");
	check_not_found(WIRE_image_status_GONE);
	unlink(path);
	snprintf(path, sizeof(path), "%s/tmp/perf-%d.map", dir, child);
	make_map("1000 10 inside\n");
	check_found("1000 10 inside\n");
	end_child();
	check_found("1000 10 inside\n");
}

/* Continues as a child that is the first process of a PID namespace. */
static int leave_namespace(void)
{
	int status;
	pid_t pid;

	if (leave_root() < 0 || unshare(CLONE_NEWPID) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		return prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pid < 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	_exit(1);
}

static pid_t child_of(pid_t pid)
{
	char name[64];
	int found = 0;
	FILE *children;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/children", pid, pid);
	children = fopen(name, "re");
	if (children && fscanf(children, "%d", &found) != 1)
		found = 0;
	if (children)
		fclose(children);
	return found;
}

static void test_other_pid_namespaces_use_their_own_pid(void **state)
{
	if (geteuid() != 0 || !start(leave_namespace))
		skip();
	process.pid = child_of(child);
	if (!process.pid) /* kernel without CONFIG_PROC_CHILDREN */
		skip();
	snprintf(path, sizeof(path), "%s/tmp/perf-%u.map", dir, process.pid);
	make_map("1000 10 ours\n");
	check_not_found(WIRE_image_status_GONE);
	assert_int_equal(process.own_pid, 1);
	unlink(path);
	snprintf(path, sizeof(path), "%s/tmp/perf-1.map", dir);
	make_map("1000 10 theirs\n");
	check_found("1000 10 theirs\n");
}

/* Waits until an existing file is older than any process that starts now. */
static void wait_until_older(void)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	while (clock_now(CLOCK_REALTIME) < clock_nanoseconds(status.st_ctim) + AGE_NS)
		;
}

/* Every container that shares a /tmp has a process 1. */
static void test_a_map_from_before_its_process_is_stale(void **state)
{
	if (geteuid() != 0)
		skip();
	snprintf(path, sizeof(path), "%s/tmp/perf-1.map", dir);
	make_map("1000 10 earlier\n");
	wait_until_older();
	if (!start(leave_namespace) || !(process.pid = child_of(child)))
		skip();
	snprintf(path, sizeof(path), "%s/tmp/perf-1.map", dir);
	check_not_found(WIRE_image_status_STALE);
	assert_int_equal(truncate(path, 0), 0);
	check_found("");
}

static void test_a_map_from_before_an_exec_is_stale(void **state)
{
	assert_true(start(NULL));
	make_map("1000 10 name\n");
	wait_until_older();
	process.began = clock_now(CLOCK_MONOTONIC);
	check_not_found(WIRE_image_status_STALE);
}

static int write_map(void)
{
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	return open(path, O_WRONLY | O_CREAT, 0600) < 0 ? -1 : 0;
}

static void test_a_map_belongs_to_its_writer(void **state)
{
	struct map_process other;

	assert_true(start(write_map));
	check_found("");
	assert_true(process.is_writer);
	other = process;
	other.pid = getpid();
	assert_true(map_is_of_other(&process, &other)); /* both are writers */
	other.is_writer = false;
	assert_false(map_is_of_other(&process, &other));
	assert_true(map_is_of_other(&other, &process));
	process.is_writer = false;
	assert_true(map_is_of_other(&process, &other)); /* undecidable */
	other.inode++;
	assert_false(map_is_of_other(&process, &other));
	other.inode--;
	process.is_writer = true;
	end_child();
	assert_false(map_is_of_other(&other, &process));
}

static int take_lying_name(void)
{
	return prctl(PR_SET_NAME, "\nUid:\t0\t0");
}

static int lie_as_other_user(void)
{
	return take_lying_name() < 0 ? -1 : become_other_user();
}

static void test_a_forged_name_does_not_change_the_user(void **state)
{
	assert_true(start(geteuid() == 0 ? lie_as_other_user : take_lying_name));
	check_not_found(WIRE_image_status_GONE);
	assert_int_equal(process.own_pid, child);
	assert_int_equal(process.user, geteuid() == 0 ? OTHER_USER : geteuid());
}

static void test_no_descriptor_is_left_open(void **state)
{
	int before, after;

	assert_true(start(NULL));
	before = dup(0);
	close(before);
	for (int i = 0; i < 3; i++) {
		check_not_found(WIRE_image_status_GONE);
		make_map("1000 10 name\n");
		check_found("1000 10 name\n");
		unlink(path);
		mkfifo(path, 0600);
		check_not_found(WIRE_image_status_REFUSED);
		unlink(path);
		close(process.root_fd);
		process = (struct map_process){ .pid = NO_PID, .root_fd = -1 };
		check_not_found(WIRE_image_status_GONE);
		process.pid = child;
	}
	after = dup(0);
	close(after);
	assert_int_equal(after, before);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_the_map_of_a_process_is_opened),
		TEST(test_a_map_created_later_is_found),
		TEST(test_map_of_a_since_exited_process_is_found),
		TEST(test_map_of_an_exited_process_is_not_found),
		TEST(test_special_files_are_refused),
		TEST(test_maps_of_other_users_are_refused),
		TEST(test_an_inaccessible_process_is_denied),
		TEST(test_a_map_is_found_below_the_process_root),
		TEST(test_other_pid_namespaces_use_their_own_pid),
		TEST(test_a_map_from_before_its_process_is_stale),
		TEST(test_a_map_from_before_an_exec_is_stale),
		TEST(test_a_map_belongs_to_its_writer),
		TEST(test_a_forged_name_does_not_change_the_user),
		TEST(test_no_descriptor_is_left_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
