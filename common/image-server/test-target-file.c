/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/image-server/target-file.h"

enum { SIZE_LIMIT = 1 << 20, OTHER_USER = 12345, THIRD_USER = 23456 };

static char dir[] = "/tmp/stackpipe-test-XXXXXX";
static int root = -1;

static int set_up(void **state)
{
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 || mkdirat(root, "tmp", 0777) < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	char command[64];

	close(root);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void make_file(const char *path, mode_t mode)
{
	int fd = openat(root, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, "1000 10 name\n", 13), 13);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int try_as(uid_t user, const char *path, int *ret_fd)
{
	const struct target_file_policy policy = {
		.user = user,
		.group = user, /* as adduser(8) creates them */
		.size_max = SIZE_LIMIT,
	};

	*ret_fd = -1;
	return target_file_open(root, path, &policy, ret_fd);
}

static void check_open_as(uid_t user, const char *path)
{
	char bytes[64];
	int fd;

	assert_int_equal(try_as(user, path, &fd), TARGET_FILE_OK);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDONLY | O_NONBLOCK);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), 13);
	assert_memory_equal(bytes, "1000 10 name\n", 13);
	close(fd);
}

static void check_refused_as(uid_t user, const char *path, enum target_file_outcome outcome)
{
	int fd;

	assert_int_equal(try_as(user, path, &fd), outcome);
	assert_int_equal(fd, -1);
}

static void check_open(const char *path)
{
	check_open_as(geteuid(), path);
}

static void check_refused(const char *path, enum target_file_outcome outcome)
{
	check_refused_as(geteuid(), path, outcome);
}

static void test_a_file_of_the_program_is_opened(void **state)
{
	make_file("tmp/file", 0600);
	check_open("/tmp/file");
	check_open("tmp/file");
	check_open("//tmp///file");
}

static void test_a_missing_file_is_reported(void **state)
{
	make_file("tmp/file", 0600);
	check_refused("/tmp/other", TARGET_FILE_E_MISSING);
	check_refused("/none/file", TARGET_FILE_E_MISSING);
	check_refused("/tmp/file/below", TARGET_FILE_E_MISSING);
	check_refused("", TARGET_FILE_E_MISSING);
}

static void test_a_symlink_is_refused(void **state)
{
	make_file("tmp/file", 0600);
	assert_int_equal(symlinkat("file", root, "tmp/link"), 0);
	assert_int_equal(symlinkat("loop", root, "tmp/loop"), 0);
	assert_int_equal(symlinkat("nowhere", root, "tmp/dangling"), 0);
	assert_int_equal(symlinkat("/proc/self/fd/0", root, "tmp/magic"), 0);
	check_refused("/tmp/link", TARGET_FILE_E_LINK);
	check_refused("/tmp/loop", TARGET_FILE_E_LINK);
	check_refused("/tmp/loop/file", TARGET_FILE_E_LINK);
	check_refused("/tmp/dangling", TARGET_FILE_E_LINK);
	check_refused("/tmp/magic", TARGET_FILE_E_LINK);
}

/* As in containers where /tmp links to /var/tmp; absolute links start at their own root. */
static void test_links_to_directories_stay_below_the_root(void **state)
{
	mkdirat(root, "var", 0777);
	make_file("var/file", 0600);
	make_file("file", 0600);
	assert_int_equal(symlinkat("/var", root, "absolute"), 0);
	assert_int_equal(symlinkat("../../../../..", root, "tmp/up"), 0);
	assert_int_equal(symlinkat("/etc", root, "etc"), 0);
	check_open("/absolute/file");
	check_open("/tmp/up/file");
	check_open("/../../file");
	check_refused("/etc/passwd", TARGET_FILE_E_LINK); /* /etc links to itself */
	check_refused("/tmp/up/etc/passwd", TARGET_FILE_E_LINK);
}

static void test_only_regular_files_are_opened(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(mkfifoat(root, "tmp/fifo", 0666), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/tmp/socket", dir);
	assert_int_equal(bind(fd, (void *)&address, sizeof(address)), 0);
	check_refused("/tmp/fifo", TARGET_FILE_E_SPECIAL); /* opening it would wait for a writer */
	check_refused("/tmp/socket", TARGET_FILE_E_SPECIAL);
	check_refused("/tmp", TARGET_FILE_E_DIRECTORY);
	check_refused("/", TARGET_FILE_E_DIRECTORY);
	close(fd);
	if (mknodat(root, "tmp/device", S_IFCHR | 0666, makedev(1, 3)) < 0)
		skip();
	check_refused("/tmp/device", TARGET_FILE_E_SPECIAL);
}

static void test_files_of_other_users_are_refused(void **state)
{
	if (geteuid() != 0)
		skip();
	make_file("tmp/file", 0644);
	assert_int_equal(fchownat(root, "tmp/file", OTHER_USER, OTHER_USER, 0), 0);
	check_open_as(OTHER_USER, "/tmp/file");
	check_refused_as(THIRD_USER, "/tmp/file", TARGET_FILE_E_FOREIGN);
	check_refused_as(0, "/tmp/file", TARGET_FILE_E_FOREIGN);
}

/* Others could write anything into them; but a program's umask may let its own group write. */
static void test_files_writable_by_others_are_refused(void **state)
{
	if (geteuid() != 0)
		skip();
	make_file("tmp/file", 0666);
	assert_int_equal(fchownat(root, "tmp/file", OTHER_USER, OTHER_USER, 0), 0);
	check_refused_as(OTHER_USER, "/tmp/file", TARGET_FILE_E_WRITABLE);
	assert_int_equal(fchmodat(root, "tmp/file", 0664, 0), 0);
	check_open_as(OTHER_USER, "/tmp/file");
	assert_int_equal(fchownat(root, "tmp/file", OTHER_USER, THIRD_USER, 0), 0);
	check_refused_as(OTHER_USER, "/tmp/file", TARGET_FILE_E_WRITABLE);
}

/* A bind mount in a user's own namespace could put any file of root there. */
static void test_root_files_need_to_be_readable_by_the_user(void **state)
{
	if (geteuid() != 0)
		skip();
	make_file("tmp/public", 0644);
	make_file("tmp/private", 0640);
	check_open_as(OTHER_USER, "/tmp/public");
	check_refused_as(OTHER_USER, "/tmp/private", TARGET_FILE_E_PRIVATE);
	check_open_as(0, "/tmp/private");
}

static void test_large_files_are_refused(void **state)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/tmp/file", dir);
	make_file("tmp/file", 0600);
	assert_int_equal(truncate(path, 2LL << 30), 0);
	check_refused("/tmp/file", TARGET_FILE_E_TOO_LARGE);
	assert_int_equal(truncate(path, SIZE_LIMIT + 1), 0);
	check_refused("/tmp/file", TARGET_FILE_E_TOO_LARGE);
	assert_int_equal(truncate(path, 13), 0);
	check_open("/tmp/file");
}

/* As another user, because root may read everything. */
static int try_without_permission(void)
{
	int fd;

	if (setresuid(OTHER_USER, OTHER_USER, OTHER_USER) < 0)
		return -1;
	return try_as(OTHER_USER, "/tmp/file", &fd) == TARGET_FILE_E_DENIED &&
	       try_as(OTHER_USER, "/closed/file", &fd) == TARGET_FILE_E_DENIED;
}

static void check_in_child(int (*function)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(function() == 1 ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_a_file_without_permission_is_denied(void **state)
{
	if (geteuid() != 0)
		skip();
	make_file("tmp/file", 0200);
	assert_int_equal(fchownat(root, "tmp/file", OTHER_USER, OTHER_USER, 0), 0);
	assert_int_equal(mkdirat(root, "closed", 0700), 0);
	assert_int_equal(chmod(dir, 0755), 0);
	check_in_child(try_without_permission);
}

/* Makes the kernel refuse openat2(2), as old kernels and containers do. */
static int forbid_openat2(int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int is(const char *path, enum target_file_outcome expected)
{
	int fd, outcome = try_as(geteuid(), path, &fd);

	return outcome == (int)expected && (fd >= 0) == (outcome == TARGET_FILE_OK);
}

static int try_without_openat2(int error)
{
	return forbid_openat2(error) == 0 && is("/tmp/file", TARGET_FILE_OK) &&
	       is("tmp//file", TARGET_FILE_OK) && is("/tmp/link", TARGET_FILE_E_LINK) &&
	       is("/tmp/none", TARGET_FILE_E_MISSING) && is("/tmp/fifo", TARGET_FILE_E_SPECIAL) &&
	       is("/tmp", TARGET_FILE_E_DIRECTORY) && is("/tmp/../tmp/file", TARGET_FILE_E_LINK) &&
	       is("/up/etc/passwd", TARGET_FILE_E_MISSING) && is("/./tmp", TARGET_FILE_E_LINK);
}

static int try_on_old_kernel(void)
{
	return try_without_openat2(ENOSYS);
}

static int try_in_container(void)
{
	return try_without_openat2(EPERM);
}

static void test_without_openat2_no_link_is_followed_at_all(void **state)
{
	make_file("tmp/file", 0600);
	assert_int_equal(symlinkat("file", root, "tmp/link"), 0);
	assert_int_equal(symlinkat("../../..", root, "up"), 0);
	assert_int_equal(mkfifoat(root, "tmp/fifo", 0666), 0);
	check_in_child(try_on_old_kernel);
	check_in_child(try_in_container);
}

static void test_no_descriptor_is_left_open(void **state)
{
	int before = dup(0), after;

	close(before);
	make_file("tmp/file", 0600);
	assert_int_equal(mkfifoat(root, "tmp/fifo", 0666), 0);
	for (int i = 0; i < 3; i++) {
		check_open("/tmp/file");
		check_refused("/tmp/fifo", TARGET_FILE_E_SPECIAL);
		check_refused("/tmp/none", TARGET_FILE_E_MISSING);
	}
	after = dup(0);
	close(after);
	assert_int_equal(after, before);
}

static void test_internal_failures_are_errors(void **state)
{
	const struct target_file_policy policy = { .user = geteuid(), .size_max = SIZE_LIMIT };
	int fd = -1;

	assert_int_equal(target_file_open(-1, "/tmp/file", &policy, &fd), -EBADF);
	assert_int_equal(fd, -1);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_a_file_of_the_program_is_opened),
		TEST(test_a_missing_file_is_reported),
		TEST(test_a_symlink_is_refused),
		TEST(test_links_to_directories_stay_below_the_root),
		TEST(test_only_regular_files_are_opened),
		TEST(test_files_of_other_users_are_refused),
		TEST(test_files_writable_by_others_are_refused),
		TEST(test_root_files_need_to_be_readable_by_the_user),
		TEST(test_large_files_are_refused),
		TEST(test_a_file_without_permission_is_denied),
		TEST(test_without_openat2_no_link_is_followed_at_all),
		TEST(test_no_descriptor_is_left_open),
		TEST(test_internal_failures_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
