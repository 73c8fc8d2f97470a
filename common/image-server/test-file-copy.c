/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which files are read in place, and copies of those that are not. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/file/file-state.h"
#include "common/file/file-system.h"
#include "common/image-server/file-copy.h"
#include "common/image-server/image-descriptor.h"
#include "common/proc/task-user.h"

enum { USER = 1, OTHER = 2, THIRD = 3, NOBODY = 65534 };

static char path[] = "/tmp/stackpipe-test-XXXXXX";
static struct stat status;

static int set_up(void **state)
{
	int fd;

	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	if (fd < 0 || write(fd, "content", 7) != 7 || fstat(fd, &status) < 0)
		return -1;
	return close(fd);
}

static int tear_down(void **state)
{
	return unlink(path);
}

static int copy(int *ret_fd)
{
	int from = open(path, O_PATH | O_CLOEXEC), r;

	assert_true(from >= 0);
	r = file_copy(from, &status, ret_fd);
	close(from);
	return r;
}

/* The image server's record of the file. */
static struct wire_image_state reported(void)
{
	return (struct wire_image_state){
		.status = WIRE_image_status_OPEN,
		.size = status.st_size,
		.modified = clock_nanoseconds(status.st_mtim),
		.changed = clock_nanoseconds(status.st_ctim),
	};
}

static struct wire_image recorded(void)
{
	return (struct wire_image){
		.device_major = major(status.st_dev),
		.device_minor = minor(status.st_dev),
		.inode = status.st_ino,
		.path = wire_string(path, 4096),
	};
}

static void test_a_copy_keeps_bytes_and_time_and_is_sealed(void **state)
{
	const struct file_state before = file_state_of(&status);
	struct wire_image_state is_reported = reported();
	struct wire_image image = recorded();
	char bytes[16] = "";
	struct stat now;
	int fd = -1;

	assert_int_equal(copy(&fd), 0);
	assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), 7);
	assert_string_equal(bytes, "content");
	assert_int_equal(fstat(fd, &now), 0);
	assert_int_equal(clock_nanoseconds(now.st_mtim), file_state_written(&before));
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_true(fcntl(fd, F_GET_SEALS) & F_SEAL_WRITE);
	assert_true(image_descriptor_is_of(fd, &image, &is_reported));
	is_reported.size++;
	assert_false(image_descriptor_is_of(fd, &image, &is_reported));
	close(fd);
}

static void test_a_file_of_another_size_is_not_copied(void **state)
{
	int fd = -1;

	status.st_size--;
	assert_int_equal(copy(&fd), -ESTALE);
	status.st_size += 2;
	assert_int_equal(copy(&fd), -ESTALE);
	assert_int_equal(fd, -1);
}

static void expect_other(int fd, const struct wire_image *image,
			 const struct wire_image_state *is_reported)
{
	assert_false(image_descriptor_is_of(fd, image, is_reported));
}

/* Other inode, device, size or time; writable descriptors; memory that is not sealed. */
static void test_descriptor_is_of_the_recorded_file(void **state)
{
	const struct wire_image_state is_reported = reported();
	const struct wire_image image = recorded();
	int fd = open(path, O_RDONLY | O_CLOEXEC), writer = open(path, O_RDWR | O_CLOEXEC);
	int found = open(path, O_PATH | O_CLOEXEC), memory = memfd_create("image", MFD_CLOEXEC);
	struct wire_image_state other_state = is_reported;
	struct wire_image other = image;

	assert_true(image_descriptor_is_of(fd, &image, &is_reported));
	expect_other(writer, &image, &is_reported);
	expect_other(found, &image, &is_reported);
	expect_other(memory, &image, &is_reported);
	expect_other(-1, &image, &is_reported);
	other.inode++;
	expect_other(fd, &other, &is_reported);
	other = image;
	other.device_minor++;
	expect_other(fd, &other, &is_reported);
	other_state.size++;
	expect_other(fd, &image, &other_state);
	other_state = is_reported;
	other_state.modified++;
	expect_other(fd, &image, &other_state);
	other_state = is_reported;
	other_state.changed++;
	expect_other(fd, &image, &other_state);
	close(fd);
	close(writer);
	close(found);
	close(memory);
}

static void test_a_user_has_a_share_of_memory_and_of_time(void **state)
{
	struct copy_shares shares = COPY_SHARES_INIT;
	const uint64_t all = COPIES_OF_USER_SIZE_MAX, second = NANOSECONDS_A_SECOND;

	assert_false(copy_shares_take(&shares, USER, all + 1, second));
	assert_true(copy_shares_take(&shares, USER, all, second));
	assert_false(copy_shares_take(&shares, USER, 1, second));
	assert_true(copy_shares_take(&shares, OTHER, all, second));
	assert_false(copy_shares_take(&shares, THIRD, 1, second)); /* the total limit is reached */
	copy_shares_give_back(&shares, USER, all);
	assert_true(copy_shares_take(&shares, THIRD, 1, second));
	assert_false(copy_shares_take(&shares, USER, 1, second)); /* time share used up */
	assert_true(copy_shares_take(&shares, USER, COPIES_OF_USER_RATE / 2, 2 * second));
	assert_false(copy_shares_take(&shares, USER, COPIES_OF_USER_RATE, 2 * second));
}

static void test_local_file_systems_answer(void **state)
{
	static const char *const others[] = { "/proc/self/exe", "/proc/self/status" };
	int fd = open(path, O_PATH | O_CLOEXEC);
	struct own_overlays none = { 0 };
	struct stat found;

	assert_true(file_system_answers(fd, &status, NULL)); /* /tmp may be any file system here */
	close(fd);
	fd = memfd_create("memory", MFD_CLOEXEC);
	assert_int_equal(fstat(fd, &found), 0);
	assert_true(file_system_answers(fd, &found, &none));
	close(fd);
	fd = open(others[1], O_PATH | O_CLOEXEC); /* not on the list */
	assert_int_equal(fstat(fd, &found), 0);
	assert_false(file_system_answers(fd, &found, &none));
	close(fd);
}

/* Starts a sleeping process as another user, in its own user namespace. */
static pid_t start_elsewhere(uid_t user)
{
	int ends[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setresuid(user, user, user) == 0 && unshare(CLONE_NEWUSER) == 0 &&
		    prctl(PR_SET_DUMPABLE, 0) == 0 && write(ends[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1)
		pid = -pid;
	close(ends[0]);
	return pid;
}

/* No user is mapped in that namespace, so only its owner identifies the process. */
static void test_namespace_owner_answers_for_its_processes(void **state)
{
	pid_t pid;
	uid_t user;

	assert_int_equal(task_user(getpid()), getuid());
	assert_int_equal(task_user(1 << 30), TASK_USER_UNKNOWN);
	if (geteuid() != 0)
		return;
	pid = start_elsewhere(NOBODY - 1);
	user = pid > 0 ? task_user(pid) : NOBODY - 1; /* no user namespaces allowed */
	kill(pid > 0 ? pid : -pid, SIGKILL);
	waitpid(pid > 0 ? pid : -pid, NULL, 0);
	assert_int_equal(user, NOBODY - 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_copy_keeps_bytes_and_time_and_is_sealed),
		TEST(test_a_file_of_another_size_is_not_copied),
		TEST(test_descriptor_is_of_the_recorded_file),
		TEST(test_a_user_has_a_share_of_memory_and_of_time),
		TEST(test_local_file_systems_answer),
		TEST(test_namespace_owner_answers_for_its_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
