/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table cache in the test's own directory, and a table of made-up rules. */
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/elf/test-elf-made.h"
#include "common/unwind/table-cache.h"

enum {
	ROWS = 20000, /* in one page: more than TABLE_CACHE_LEAST bytes */
	RULES = 2,
	NOBODY = 65534,
	HEADER = 24 + sizeof(struct table_cache_key) + 16, /* in a file, before its table */
};

static char home[64];
static struct table_cache cache;
static struct unwind_table table;
static const struct table_cache_key key = { .file = { .device = 1, .inode = 2, .size = 3 },
					    .build_id_size = 4 };

/* Rows alternate between rules; `offset` makes tables differ. */
static struct unwind_table make_table(size_t n_rows, int32_t offset)
{
	const size_t size = sizeof(struct unwind_table_header) +
			    RULES * sizeof(struct unwind_rule) + 2 * sizeof(uint32_t) +
			    n_rows * 2 * sizeof(uint16_t);
	struct unwind_table_header *header = calloc(1, size);
	struct unwind_table made;

	assert_non_null(header);
	*header = (struct unwind_table_header){ .n_pages = 1, .n_rows = n_rows, .n_rules = RULES };
	((uint32_t *)((struct unwind_rule *)(header + 1) + RULES))[1] = n_rows;
	assert_true(unwind_table_view(header, size, &made));
	for (size_t i = 0; i < RULES; i++)
		((struct unwind_rule *)made.rules)[i] =
			(struct unwind_rule){ .cfa = UNWIND_CFA_SP, .cfa_offset = offset + i };
	for (size_t i = 0; i < n_rows; i++) {
		((uint16_t *)made.lows)[i] = 2 * i;
		((uint16_t *)made.which)[i] = i % RULES;
	}
	return made;
}

static void remove_tree(const char *path)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", path);
	assert_int_equal(system(command), 0);
}

static int set_up(void **state)
{
	strcpy(home, "/tmp/stackpipe-test-XXXXXX");
	if (!mkdtemp(home) || chdir(home) < 0)
		return -1;
	setenv("XDG_CACHE_HOME", home, 1);
	table_cache_open(&cache);
	table = make_table(ROWS, 8);
	return cache.dir_fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	table_cache_close(&cache);
	unwind_table_deinit(&table);
	assert_int_equal(chdir("/"), 0);
	remove_tree(home);
	return 0;
}

static void open_again(void)
{
	table_cache_close(&cache);
	table_cache_open(&cache);
}

/* The path of `name` in the test's directory, valid until the next call. */
static const char *below(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", home, name);
	return path;
}

static size_t n_files(void)
{
	_cleanup_dir_ DIR *dir = opendir(below("stackpipe/unwind"));
	struct dirent *entry;
	size_t n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		n += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	return n;
}

/* The name of the only cache file. */
static const char *only_file(void)
{
	static char name[NAME_MAX + 1];
	_cleanup_dir_ DIR *dir = opendir(below("stackpipe/unwind"));
	struct dirent *entry;

	assert_int_equal(n_files(), 1);
	while ((entry = readdir(dir)) && entry->d_name[0] == '.')
		;
	strcpy(name, entry->d_name);
	return name;
}

static int save(void)
{
	return table_cache_save(&cache, &key, &table);
}

/* Returns 0 if a table equal to ours was loaded. */
static int load(const struct table_cache_key *wanted)
{
	struct kept_file file;
	struct unwind_table loaded;
	int r = table_cache_load(&cache, wanted, &loaded, &file);

	if (r < 0)
		return r;
	for (uint64_t offset = 0; offset < UNWIND_PAGE_SIZE; offset++) {
		const struct unwind_rule *one = unwind_table_find(&table, offset);
		const struct unwind_rule *other = unwind_table_find(&loaded, offset);

		assert_non_null(other);
		assert_memory_equal(one, other, sizeof(*one));
	}
	kept_file_unmap(&file);
	return 0;
}

/* Whether any table is loaded for the key. */
static bool is_there(void)
{
	struct kept_file file;
	struct unwind_table loaded;

	if (table_cache_load(&cache, &key, &loaded, &file) < 0)
		return false;
	kept_file_unmap(&file);
	return true;
}

static void test_a_saved_table_is_loaded(void **state)
{
	assert_int_equal(save(), 0);
	assert_int_equal(load(&key), 0);
	open_again(); /* like another program */
	assert_int_equal(load(&key), 0);
	assert_int_equal(n_files(), 1);
}

static void test_an_unsaved_table_is_not_found(void **state)
{
	assert_int_equal(load(&key), -ENOENT);
}

static void test_a_small_table_is_not_kept(void **state)
{
	_cleanup_(unwind_table_deinit) struct unwind_table small = make_table(100, 8);

	assert_int_equal(table_cache_save(&cache, &key, &small), 0);
	assert_int_equal(n_files(), 0);
}

static void test_files_are_for_their_owner_alone(void **state)
{
	struct stat status;

	umask(0);
	open_again();
	assert_int_equal(save(), 0);
	umask(022);
	assert_int_equal(fstat(cache.dir_fd, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0700);
	assert_int_equal(fstatat(cache.dir_fd, only_file(), &status, 0), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
}

static void test_any_other_key_finds_nothing(void **state)
{
	assert_int_equal(save(), 0);
	for (size_t i = 0; i < sizeof(key); i++) {
		struct table_cache_key other = key;

		((uint8_t *)&other)[i] ^= 1;
		assert_int_equal(load(&other), -ENOENT);
	}
}

/* Only the file that it was made from, and its machine, count for those who do not read it. */
static void test_a_table_is_found_without_a_build_id(void **state)
{
	struct table_cache_key of_file = { .machine = 62, .build_id_size = 3, .build_id = "abc" };
	struct unwind_table loaded;
	struct kept_file file;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	if (!file_key_of(fd, &of_file.file)) { /* its file system is not one that caches know */
		close(fd);
		skip();
	}
	assert_int_equal(table_cache_load_of(&cache, fd, 62, &loaded, &file), -ENOENT);
	assert_int_equal(table_cache_save(&cache, &of_file, &table), 0);
	assert_int_equal(table_cache_load_of(&cache, fd, 3, &loaded, &file), -ENOENT);
	assert_int_equal(table_cache_load_of(&cache, fd, 62, &loaded, &file), 0);
	assert_int_equal(loaded.size, table.size);
	assert_memory_equal(loaded.header, table.header, table.size);
	kept_file_unmap(&file);
	close(fd);
}

/* Simulates two keys with the same file name: the key in the file decides. */
static void test_a_file_of_another_key_is_ignored(void **state)
{
	struct table_cache_key other = { .file.inode = 99 };
	char name[64];

	assert_int_equal(save(), 0);
	strcpy(name, only_file());
	assert_int_equal(unlinkat(cache.dir_fd, name, 0), 0);
	assert_int_equal(table_cache_save(&cache, &other, &table), 0);
	assert_int_equal(renameat(cache.dir_fd, only_file(), cache.dir_fd, name), 0);
	assert_int_equal(load(&key), -ENOENT);
}

static int open_only_file(void)
{
	int fd = openat(cache.dir_fd, only_file(), O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void flip(int fd, size_t at)
{
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
}

static void test_a_file_with_one_damaged_byte_is_ignored(void **state)
{
	_cleanup_fd_ int fd = -1;

	assert_int_equal(save(), 0);
	fd = open_only_file();
	for (size_t at = 0; at < HEADER + table.size; at += at < HEADER + 400 ? 1 : 61) {
		flip(fd, at);
		assert_false(is_there());
		flip(fd, at);
	}
	flip(fd, HEADER + table.size - 1);
	assert_false(is_there());
	flip(fd, HEADER + table.size - 1);
	assert_int_equal(load(&key), 0); /* the file is otherwise valid */
}

static void test_a_file_that_was_cut_is_ignored(void **state)
{
	size_t size = HEADER + table.size;
	_cleanup_fd_ int fd = -1;

	assert_int_equal(save(), 0);
	fd = open_only_file();
	assert_int_equal(lseek(fd, 0, SEEK_END), size);
	while (size) {
		size -= size > HEADER + 64 ? (size < 4096 ? 64 : size / 4) : 1;
		assert_int_equal(ftruncate(fd, size), 0);
		assert_false(is_there());
	}
}

static void test_a_file_that_has_grown_is_ignored(void **state)
{
	_cleanup_fd_ int fd = -1;

	assert_int_equal(save(), 0);
	fd = open_only_file();
	assert_int_equal(ftruncate(fd, HEADER + table.size + 1), 0);
	assert_false(is_there());
}

static void test_a_damaged_file_is_replaced(void **state)
{
	_cleanup_fd_ int fd = -1;

	assert_int_equal(save(), 0);
	fd = open_only_file();
	assert_int_equal(ftruncate(fd, 5), 0);
	assert_int_equal(save(), 0);
	assert_int_equal(load(&key), 0);
	assert_int_equal(n_files(), 1);
}

static void test_a_file_of_another_version_is_ignored(void **state)
{
	static const char magic[24] = "stackpipe unwind table 0";
	_cleanup_fd_ int fd = -1;

	assert_int_equal(save(), 0);
	fd = open_only_file();
	assert_int_equal(pwrite(fd, magic, sizeof(magic), 0), sizeof(magic));
	assert_false(is_there());
}

static void test_a_file_that_others_can_write_to_is_ignored(void **state)
{
	assert_int_equal(save(), 0);
	assert_int_equal(fchmodat(cache.dir_fd, only_file(), 0620, 0), 0);
	assert_false(is_there());
	assert_int_equal(fchmodat(cache.dir_fd, only_file(), 0602, 0), 0);
	assert_false(is_there());
	assert_int_equal(fchmodat(cache.dir_fd, only_file(), 0644, 0), 0);
	assert_int_equal(load(&key), 0); /* being readable is harmless */
}

static void test_a_writable_directory_is_no_cache(void **state)
{
	assert_int_equal(chmod(below("stackpipe/unwind"), 0770), 0);
	open_again();
	assert_int_equal(cache.dir_fd, -1);
	assert_int_equal(chmod(below("stackpipe/unwind"), 0702), 0);
	open_again();
	assert_int_equal(cache.dir_fd, -1);
}

static void test_files_of_other_users_are_ignored(void **state)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(save(), 0);
	assert_int_equal(fchownat(cache.dir_fd, only_file(), NOBODY, NOBODY, 0), 0);
	assert_false(is_there());
	assert_int_equal(chown(below("stackpipe/unwind"), NOBODY, NOBODY), 0);
	open_again();
	assert_int_equal(cache.dir_fd, -1);
}

static void test_a_symlink_is_ignored_and_replaced(void **state)
{
	char name[64];
	struct stat status;

	assert_int_equal(save(), 0);
	strcpy(name, only_file());
	assert_int_equal(renameat(cache.dir_fd, name, AT_FDCWD, below("elsewhere")), 0);
	assert_int_equal(symlinkat(below("elsewhere"), cache.dir_fd, name), 0);
	assert_false(is_there());
	assert_int_equal(save(), 0);
	assert_int_equal(fstatat(cache.dir_fd, name, &status, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISREG(status.st_mode));
	assert_int_equal(load(&key), 0);
}

/* Opening it for reading would wait for a writer. */
static void test_a_fifo_is_ignored_and_replaced(void **state)
{
	char name[64];

	assert_int_equal(save(), 0);
	strcpy(name, only_file());
	assert_int_equal(unlinkat(cache.dir_fd, name, 0), 0);
	assert_int_equal(mkfifoat(cache.dir_fd, name, 0600), 0);
	assert_false(is_there());
	assert_int_equal(save(), 0);
	assert_int_equal(load(&key), 0);
}

static void test_a_symlinked_directory_is_no_cache(void **state)
{
	char elsewhere[128];

	strcpy(elsewhere, below("elsewhere"));
	assert_int_equal(mkdir(elsewhere, 0700), 0);
	assert_int_equal(rmdir(below("stackpipe/unwind")), 0);
	assert_int_equal(symlink(elsewhere, below("stackpipe/unwind")), 0);
	open_again();
	assert_int_equal(cache.dir_fd, -1);
}

static void test_without_xdg_cache_home_it_is_below_home(void **state)
{
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", home, 1);
	open_again();
	assert_true(cache.dir_fd >= 0);
	assert_int_equal(access(below(".cache/stackpipe/unwind"), F_OK), 0);
}

static void test_a_relative_xdg_cache_home_is_ignored(void **state)
{
	setenv("XDG_CACHE_HOME", "relative", 1);
	setenv("HOME", home, 1);
	open_again();
	assert_true(cache.dir_fd >= 0);
	assert_int_equal(access(below(".cache/stackpipe/unwind"), F_OK), 0);
	assert_int_equal(access("relative", F_OK), -1);
}

/* Without a cache saving succeeds and loading finds nothing. */
static void assert_no_cache(void)
{
	open_again();
	assert_int_equal(cache.dir_fd, -1);
	assert_int_equal(save(), 0);
	assert_false(is_there());
}

static void test_without_a_home_there_is_no_cache(void **state)
{
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	assert_no_cache();
	setenv("HOME", "relative", 1);
	assert_no_cache();
}

static void test_an_unwritable_place_gives_no_cache(void **state)
{
	setenv("XDG_CACHE_HOME", "/proc/self", 1);
	assert_no_cache();
	setenv("XDG_CACHE_HOME", "/dev/null", 1);
	assert_no_cache();
	setenv("XDG_CACHE_HOME", "/no-such-directory/no-such-directory", 1);
	assert_no_cache();
}

/* An overlong HOME must not be cut to another directory's path. */
static void test_an_overlong_home_is_ignored(void **state)
{
	static char path[8192];

	memset(path, '/', sizeof(path) - 1);
	memcpy(path + 4095 - strlen(home), home, strlen(home)); /* at a likely buffer size */
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", path, 1);
	open_again();
	assert_int_equal(cache.dir_fd, -1);
}

/* Makes a file of some size, last used at this time in seconds. */
static void make_file_of(const char *name, time_t used, off_t size)
{
	const struct timespec times[2] = { { .tv_sec = used }, { .tv_sec = used } };
	_cleanup_fd_ int fd = openat(cache.dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	assert_int_equal(futimens(fd, times), 0);
}

static void make_file(const char *name, time_t used)
{
	make_file_of(name, used, 0);
}

static bool has_file(const char *name)
{
	return faccessat(cache.dir_fd, name, F_OK, 0) == 0;
}

static void make_files(size_t n)
{
	char name[32];

	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%04zu.table", i);
		make_file(name, 1000000 + i * 7919 % n); /* in another order than their names */
	}
}

static void test_files_up_to_the_limit_are_kept(void **state)
{
	make_files(KEPT_FILES_MAX);
	open_again();
	assert_int_equal(n_files(), KEPT_FILES_MAX);
}

static void test_over_the_limit_the_oldest_are_removed(void **state)
{
	const size_t n = KEPT_FILES_MAX + 1, n_left = KEPT_FILES_MAX * 3 / 4;
	char name[32];

	make_files(n);
	open_again();
	assert_int_equal(n_files(), n_left);
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%04zu.table", i);
		assert_int_equal(has_file(name), i * 7919 % n >= n - n_left);
	}
}

/* Files have holes: only their sizes count. */
static void test_over_the_limit_of_bytes_the_oldest_are_removed(void **state)
{
	static const char *const names[] = { "1.table", "2.table", "3.table", "4.table",
					     "5.table" };

	for (size_t i = 0; i < 5; i++) {
		make_file_of(names[i], 1000000 + i, KEPT_SIZE_MAX / 4);
	}
	open_again();
	assert_int_equal(n_files(), 3);
	assert_false(has_file("1.table"));
	assert_false(has_file("2.table"));
}

static void test_loading_counts_as_use(void **state)
{
	char name[64];
	struct stat status;

	assert_int_equal(save(), 0);
	strcpy(name, only_file());
	assert_int_equal(fstatat(cache.dir_fd, name, &status, 0), 0);
	make_file_of(name, 1, status.st_size);
	assert_int_equal(load(&key), 0);
	make_files(KEPT_FILES_MAX);
	open_again();
	assert_true(has_file(name));
	assert_int_equal(load(&key), 0);
}

/* Left by a program that died, perhaps with our PID: in a container PIDs repeat. */
static void test_a_leftover_of_our_pid_does_not_stop_a_save(void **state)
{
	char name[32];

	snprintf(name, sizeof(name), ".%d", getpid());
	make_file(name, 1);
	assert_int_equal(save(), 0);
	assert_int_equal(load(&key), 0);
}

static void test_unfinished_files_are_removed(void **state)
{
	make_file(".1234", 1);
	make_file(".5678", time(NULL));
	open_again();
	assert_false(has_file(".1234"));
	assert_true(has_file(".5678")); /* its writer may still be running */
}

/* Saves the same table again and again. */
static void save_often(const struct unwind_table *one)
{
	for (size_t i = 0; i < 100; i++)
		if (table_cache_save(&cache, &key, one) < 0)
			_exit(1);
	_exit(0);
}

/* The later save replaces the file, which is always one of the two tables and complete. */
static void test_concurrent_saves_keep_the_file_complete(void **state)
{
	_cleanup_(unwind_table_deinit) struct unwind_table other = make_table(ROWS, 1000);
	struct unwind_table loaded;
	struct kept_file file;
	int n_running = 2, status;

	assert_int_equal(save(), 0);
	if (fork() == 0)
		save_often(&table);
	if (fork() == 0)
		save_often(&other);
	while (n_running) {
		assert_int_equal(table_cache_load(&cache, &key, &loaded, &file), 0);
		assert_true(loaded.rules[0].cfa_offset == 8 || loaded.rules[0].cfa_offset == 1000);
		kept_file_unmap(&file);
		if (waitpid(-1, &status, WNOHANG) > 0) {
			assert_int_equal(status, 0);
			n_running--;
		}
	}
	assert_int_equal(n_files(), 1);
}

/* The key of the image in a file. */
static struct table_cache_key key_of(int fd)
{
	struct table_cache_key of_file;
	struct elf_image file;

	assert_int_equal(elf_image_open_descriptor(dup(fd), 0, &file), ELF_IMAGE_OK);
	assert_true(table_cache_key(&file, &of_file));
	elf_image_close(&file);
	return of_file;
}

static int make_image(const char *path)
{
	const struct made_function function = { 0 };
	struct made elf = made_elf(arch_host(), &function, 1, 0);
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)
		      : memfd_create("image", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, elf.bytes, elf.n), elf.n);
	made_deinit(&elf);
	return fd;
}

/* The temporary directory may be a tmpfs or a container's. */
static void skip_without_device(void)
{
	struct stat status;

	assert_int_equal(stat(home, &status), 0);
	if (!major(status.st_dev))
		skip();
}

static void assert_other_key(const struct table_cache_key *before, int fd)
{
	struct table_cache_key now = key_of(fd);

	assert_memory_not_equal(before, &now, sizeof(now));
}

static void test_an_image_that_stays_has_the_same_key(void **state)
{
	skip_without_device();

	_cleanup_fd_ int fd = make_image(below("image"));
	struct table_cache_key first = key_of(fd), second = key_of(fd);

	assert_memory_equal(&first, &second, sizeof(first));
}

static void test_another_time_or_size_makes_another_key(void **state)
{
	skip_without_device();

	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	_cleanup_fd_ int fd = make_image(below("image"));
	struct table_cache_key before = key_of(fd), after;
	struct stat status;
	long last;

	assert_int_equal(futimens(fd, times), 0);
	after = key_of(fd);
	assert_int_not_equal(after.file.modified_ns, before.file.modified_ns);
	/* With the mtime restored only ctime differs, once its clock has ticked. */
	before = after;
	assert_int_equal(fstat(fd, &status), 0);
	do {
		last = status.st_ctim.tv_nsec;
		assert_int_equal(futimens(fd, times), 0);
		assert_int_equal(fstat(fd, &status), 0);
	} while (status.st_ctim.tv_nsec == last);
	assert_other_key(&before, fd);
	before = key_of(fd);
	assert_int_equal(pwrite(fd, "x", 1, lseek(fd, 0, SEEK_END)), 1);
	assert_int_equal(key_of(fd).file.size, before.file.size + 1);
}

static void test_a_copy_is_another_image(void **state)
{
	skip_without_device();

	_cleanup_fd_ int fd = make_image(below("image")), other = make_image(below("copy"));
	struct table_cache_key before = key_of(fd);

	assert_int_not_equal(key_of(other).file.inode, before.file.inode);
}

/* Any user can mount a tmpfs, and its device number is reused after it is unmounted. */
static void test_an_image_on_tmpfs_has_no_key(void **state)
{
	_cleanup_fd_ int fd = make_image(NULL);
	struct elf_image file;
	struct table_cache_key none;

	assert_int_equal(elf_image_open_descriptor(dup(fd), 0, &file), ELF_IMAGE_OK);
	assert_false(table_cache_key(&file, &none));
	elf_image_close(&file);
}

static void test_an_image_without_a_file_has_no_key(void **state)
{
	const struct elf_image image = { .fd = -1 };
	struct table_cache_key none;

	assert_false(table_cache_key(&image, &none));
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_a_saved_table_is_loaded),
		TEST(test_an_unsaved_table_is_not_found),
		TEST(test_a_small_table_is_not_kept),
		TEST(test_files_are_for_their_owner_alone),
		TEST(test_any_other_key_finds_nothing),
		TEST(test_a_table_is_found_without_a_build_id),
		TEST(test_a_file_of_another_key_is_ignored),
		TEST(test_a_file_with_one_damaged_byte_is_ignored),
		TEST(test_a_file_that_was_cut_is_ignored),
		TEST(test_a_file_that_has_grown_is_ignored),
		TEST(test_a_damaged_file_is_replaced),
		TEST(test_a_file_of_another_version_is_ignored),
		TEST(test_a_file_that_others_can_write_to_is_ignored),
		TEST(test_a_writable_directory_is_no_cache),
		TEST(test_files_of_other_users_are_ignored),
		TEST(test_a_symlink_is_ignored_and_replaced),
		TEST(test_a_fifo_is_ignored_and_replaced),
		TEST(test_a_symlinked_directory_is_no_cache),
		TEST(test_without_xdg_cache_home_it_is_below_home),
		TEST(test_a_relative_xdg_cache_home_is_ignored),
		TEST(test_without_a_home_there_is_no_cache),
		TEST(test_an_unwritable_place_gives_no_cache),
		TEST(test_an_overlong_home_is_ignored),
		TEST(test_files_up_to_the_limit_are_kept),
		TEST(test_over_the_limit_the_oldest_are_removed),
		TEST(test_over_the_limit_of_bytes_the_oldest_are_removed),
		TEST(test_loading_counts_as_use),
		TEST(test_a_leftover_of_our_pid_does_not_stop_a_save),
		TEST(test_unfinished_files_are_removed),
		TEST(test_concurrent_saves_keep_the_file_complete),
		TEST(test_an_image_that_stays_has_the_same_key),
		TEST(test_another_time_or_size_makes_another_key),
		TEST(test_a_copy_is_another_image),
		TEST(test_an_image_on_tmpfs_has_no_key),
		TEST(test_an_image_without_a_file_has_no_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
