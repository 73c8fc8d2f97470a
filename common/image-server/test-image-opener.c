/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/image-server/image-opener.h"

enum { NO_PID = 5000000 }; /* above any pid_max */

static char dir[] = "/tmp/stackpipe-test-XXXXXX";
static char path[64], other[64];

static int set_up(void **state)
{
	int fd;

	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/file", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, "0123456789", 10) != 10)
		return -1;
	close(fd);
	return 0;
}

static int tear_down(void **state)
{
	unlink(path);
	unlink(other);
	return rmdir(dir);
}

/* A request as after a mapping event of the file now at `file`. */
static struct wire_image_open request_for(const char *file, uint32_t pid)
{
	struct wire_image_open request = { .image = 3,
					   .pid = pid,
					   .path = wire_string(file, 4096) };
	struct stat status;

	assert_int_equal(lstat(file, &status), 0);
	request.device_major = major(status.st_dev);
	request.device_minor = minor(status.st_dev);
	request.inode = status.st_ino;
	return request;
}

static void check_open(const struct wire_image_open *request)
{
	struct image_file file;
	char bytes[16];

	image_open(request, &file);
	assert_int_equal(file.status, WIRE_image_status_OPEN);
	assert_true(file.fd >= 0);
	assert_int_equal(file.state.size, 10);
	assert_int_equal(fcntl(file.fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(fcntl(file.fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(read(file.fd, bytes, sizeof(bytes)), 10);
	assert_memory_equal(bytes, "0123456789", 10);
	close(file.fd);
}

static void check_not_open(const struct wire_image_open *request, uint32_t status)
{
	struct image_file file;

	image_open(request, &file);
	assert_int_equal(file.fd, -1);
	assert_int_equal(file.status, status);
}

static void test_a_file_of_a_living_process_is_opened(void **state)
{
	struct wire_image_open request = request_for(path, getpid());

	check_open(&request);
}

static void test_files_of_exited_processes_open_by_path(void **state)
{
	struct wire_image_open request = request_for(path, NO_PID);
	struct image_file file;
	struct stat status;

	check_open(&request);
	stat(path, &status);
	image_open(&request, &file);
	assert_int_equal(file.state.modified,
			 status.st_mtim.tv_sec * NANOSECONDS_A_SECOND + status.st_mtim.tv_nsec);
	close(file.fd);
}

static void test_another_file_at_the_path_is_refused(void **state)
{
	struct wire_image_open request = request_for(path, getpid());

	request.inode++;
	check_not_open(&request, WIRE_image_status_GONE);
	request = request_for(path, getpid());
	request.device_minor++;
	request.device_major++;
	check_not_open(&request, WIRE_image_status_GONE);
	request = request_for(path, NO_PID);
	assert_int_equal(link(path, other), 0); /* keeps the inode number in use */
	unlink(path);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	check_not_open(&request, WIRE_image_status_GONE);
}

static void test_a_missing_file_is_gone(void **state)
{
	struct wire_image_open request = request_for(path, NO_PID);

	unlink(path);
	check_not_open(&request, WIRE_image_status_GONE);
	request.path = wire_string("", 1);
	check_not_open(&request, WIRE_image_status_GONE);
	request.path = wire_string("//anon", 10);
	check_not_open(&request, WIRE_image_status_GONE);
}

static void test_only_regular_files_are_opened(void **state)
{
	struct wire_image_open request;

	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	request = request_for(path, getpid()); /* opening it would wait for a writer */
	check_not_open(&request, WIRE_image_status_REFUSED);
	request = request_for(dir, getpid());
	check_not_open(&request, WIRE_image_status_REFUSED);
	request = request_for("/dev/null", getpid());
	check_not_open(&request, WIRE_image_status_REFUSED);
}

static void test_a_link_leads_only_to_the_file_that_was_mapped(void **state)
{
	struct wire_image_open request = request_for(path, getpid());

	assert_int_equal(symlink(path, other), 0);
	request.path = wire_string(other, 64);
	check_open(&request);
	unlink(other);
	assert_int_equal(symlink("/etc/passwd", other), 0);
	check_not_open(&request, WIRE_image_status_GONE);
}

/* /proc/PID/map_files requires CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. */
static void test_a_deleted_file_is_opened_while_it_is_mapped(void **state)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = sysconf(_SC_PAGESIZE);
	void *memory = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	struct wire_image_open request = request_for(path, getpid());
	char link[96];

	close(fd);
	request.start = (uintptr_t)memory;
	request.length = size;
	unlink(path);
	snprintf(link, sizeof(link), "/proc/self/map_files/%lx-%lx", (long)memory,
		 (long)memory + size);
	fd = open(link, O_PATH | O_CLOEXEC);
	if (fd < 0) {
		munmap(memory, size);
		skip();
	}
	close(fd);
	check_open(&request);
	munmap(memory, size);
	check_not_open(&request, WIRE_image_status_GONE);
}

static void test_no_descriptor_is_left_open(void **state)
{
	struct wire_image_open request = request_for(path, getpid());
	int before = dup(0), after;

	close(before);
	for (int i = 0; i < 10; i++) {
		check_open(&request);
		request.inode++;
		check_not_open(&request, WIRE_image_status_GONE);
		request.inode--;
	}
	after = dup(0);
	close(after);
	assert_int_equal(after, before);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_a_file_of_a_living_process_is_opened),
		TEST(test_files_of_exited_processes_open_by_path),
		TEST(test_another_file_at_the_path_is_refused),
		TEST(test_a_missing_file_is_gone),
		TEST(test_only_regular_files_are_opened),
		TEST(test_a_link_leads_only_to_the_file_that_was_mapped),
		TEST(test_a_deleted_file_is_opened_while_it_is_mapped),
		TEST(test_no_descriptor_is_left_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
