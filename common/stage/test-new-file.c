/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that replace others, in a directory of their own. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/stage/new-file.h"

#define PROGRAM "test-new-file"

static char directory[PATH_MAX], path[PATH_MAX];
static struct new_file file;

static int set_up(void **state)
{
	snprintf(directory, sizeof(directory), "%s/stackpipe-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	assert_non_null(mkdtemp(directory));
	assert_true(snprintf(path, sizeof(path), "%s/out", directory) < (int)sizeof(path));
	return 0;
}

static size_t each_name(void (*visit)(const char *path))
{
	DIR *list = opendir(directory);
	struct dirent *entry;
	size_t n = 0;

	assert_non_null(list);
	while ((entry = readdir(list))) {
		char name[2 * PATH_MAX];

		if (*entry->d_name == '.')
			continue;
		n++;
		snprintf(name, sizeof(name), "%s/%s", directory, entry->d_name);
		if (visit)
			visit(name);
	}
	closedir(list);
	return n;
}

static void remove_it(const char *name)
{
	assert_int_equal(unlink(name), 0);
}

static int tear_down(void **state)
{
	each_name(remove_it);
	return rmdir(directory);
}

static void put_old(const char *content)
{
	FILE *old = fopen(path, "we");

	assert_non_null(old);
	fputs(content, old);
	fclose(old);
}

static void expect(const char *ending, const char *content)
{
	char name[PATH_MAX], found[64] = "";
	FILE *there;

	assert_true(snprintf(name, sizeof(name), "%s%s", path, ending) < (int)sizeof(name));
	there = fopen(name, "re");
	assert_non_null(there);
	assert_int_equal(fread(found, 1, sizeof(found) - 1, there), strlen(content));
	assert_string_equal(found, content);
	fclose(there);
}

static void begin(enum output_file_mode mode)
{
	assert_int_equal(new_file_open(&file, path, mode, PROGRAM), 0);
}

static void write_new(void)
{
	assert_int_equal(write(file.fd, "new", 3), 3);
	new_file_note_content(&file);
}

/* Waits until the process that keeps the name has exited. */
static void end(void)
{
	new_file_close(&file);
	assert_true(wait(NULL) > 0);
}

static void test_a_free_name_is_taken_at_once(void **state)
{
	begin(OUTPUT_FILE_NEW);
	write_new();
	expect("", "new");
	assert_int_equal(new_file_finish(&file), 0);
	end();
	expect("", "new");
	assert_int_equal(each_name(NULL), 1);
}

static void test_a_whole_empty_file_is_kept_if_new(void **state)
{
	begin(OUTPUT_FILE_KEEP_OLD);
	assert_int_equal(new_file_finish(&file), 0);
	end();
	expect("", "");
	assert_int_equal(each_name(NULL), 1);
}

static void test_an_incomplete_empty_file_is_removed(void **state)
{
	begin(OUTPUT_FILE_NEW);
	end();
	assert_int_equal(each_name(NULL), 0);
}

static void test_an_incomplete_new_file_is_kept(void **state)
{
	begin(OUTPUT_FILE_NEW);
	write_new();
	end();
	expect("", "new");
	assert_int_equal(each_name(NULL), 1);
}

static void test_a_whole_file_replaces_the_old_one(void **state)
{
	put_old("old");
	begin(OUTPUT_FILE_REPLACE);
	write_new();
	expect("", "old");
	assert_int_equal(new_file_finish(&file), 0);
	expect("", "new");
	end();
	assert_int_equal(each_name(NULL), 1);
}

static void test_the_old_file_is_kept(void **state)
{
	put_old("old");
	begin(OUTPUT_FILE_KEEP_OLD);
	write_new();
	assert_int_equal(new_file_finish(&file), 0);
	end();
	expect("", "new");
	expect(".old", "old");
	assert_int_equal(each_name(NULL), 2);
}

static void test_an_incomplete_file_replaces_nothing(void **state)
{
	static const enum output_file_mode modes[] = { OUTPUT_FILE_REPLACE, OUTPUT_FILE_KEEP_OLD };

	put_old("old");
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		begin(modes[i]);
		write_new();
		end();
		expect("", "old");
		expect(".part", "new");
		assert_int_equal(each_name(NULL), 2);
	}
}

static void test_an_empty_file_replaces_nothing(void **state)
{
	put_old("old");
	begin(OUTPUT_FILE_KEEP_OLD);
	end();
	expect("", "old");
	begin(OUTPUT_FILE_REPLACE);
	assert_int_equal(new_file_finish(&file), NEW_FILE_LEFT_OLD);
	end();
	expect("", "old");
	assert_int_equal(each_name(NULL), 1);
}

/* Whether the file is complete is unknown, so it is kept. */
static void test_a_killed_writers_file_is_kept(void **state)
{
	pid_t writer;
	int ends[2];
	char end_of_keeper;

	put_old("old");
	assert_int_equal(pipe(ends), 0);
	writer = fork();
	if (writer == 0) {
		/* The keeper inherits our standard error until it exits. */
		dup2(ends[1], STDERR_FILENO);
		close(ends[1]);
		begin(OUTPUT_FILE_KEEP_OLD);
		if (write(file.fd, "new", 3) == 3)
			raise(SIGKILL);
		_exit(1);
	}
	close(ends[1]);
	assert_int_equal(waitpid(writer, NULL, 0), writer);
	while (read(ends[0], &end_of_keeper, 1) > 0)
		;
	close(ends[0]);
	expect("", "old");
	expect(".part", "new");
	assert_int_equal(each_name(NULL), 2);
}

static void test_an_existing_name_is_refused(void **state)
{
	put_old("old");
	assert_int_equal(new_file_open(&file, path, OUTPUT_FILE_NEW, PROGRAM), -EEXIST);
	assert_int_equal(new_file_open(&file, directory, OUTPUT_FILE_REPLACE, PROGRAM), -EISDIR);
	assert_int_equal(file.fd, -1);
	expect("", "old");
}

/* Links are not written through; access(2) would report a dangling one as missing. */
static void test_links_are_kept_as_links(void **state)
{
	static const char *const targets[] = { "/etc/hostname", "/nonexistent" };
	char old[PATH_MAX];
	struct stat status;

	assert_true(snprintf(old, sizeof(old), "%s.old", path) < (int)sizeof(old));
	for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
		assert_int_equal(symlink(targets[i], path), 0);
		begin(OUTPUT_FILE_KEEP_OLD);
		write_new();
		assert_int_equal(new_file_finish(&file), 0);
		end();
		expect("", "new");
		assert_int_equal(lstat(old, &status), 0);
		assert_true(S_ISLNK(status.st_mode));
		assert_int_equal(unlink(path), 0);
	}
}

static void test_a_device_is_written_to_as_it_is(void **state)
{
	assert_int_equal(new_file_open(&file, "/dev/null", OUTPUT_FILE_REPLACE, PROGRAM), 0);
	assert_int_equal(file.keeper_fd, -1);
	write_new();
	assert_int_equal(new_file_finish(&file), 0);
	new_file_close(&file);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_free_name_is_taken_at_once),
		TEST(test_a_whole_empty_file_is_kept_if_new),
		TEST(test_an_incomplete_empty_file_is_removed),
		TEST(test_an_incomplete_new_file_is_kept),
		TEST(test_a_whole_file_replaces_the_old_one),
		TEST(test_the_old_file_is_kept),
		TEST(test_an_incomplete_file_replaces_nothing),
		TEST(test_an_empty_file_replaces_nothing),
		TEST(test_a_killed_writers_file_is_kept),
		TEST(test_an_existing_name_is_refused),
		TEST(test_links_are_kept_as_links),
		TEST(test_a_device_is_written_to_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
