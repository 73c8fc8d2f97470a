/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Symbols that were kept say of each address what the files themselves say. The arguments are
 * make-debug-files' output directory, make-inlines', and files with special functions.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>
#include <elfutils/libdwelf.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "symbolizer/symbols/image-symbols.h"
#include "symbolizer/symbols/kept-symbols.h"

enum {
	PATH_SIZE = 4096,
	BYTES_BROKEN = 64, /* of a file, one at a time */
	NOBODY = 65534,
};

static const char *debug_files, *inlines; /* directories */
static char **special;			  /* files; the last one is NULL */
static char home[] = "/tmp/stackpipe-test-XXXXXX";
static struct debug_dirs dirs = { { "/nowhere" }, 1 };
static int kept = -1;

/* As snprintf(3), of what has room. */
static void print(char *to, size_t size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	assert_in_range(vsnprintf(to, size, format, arguments), 0, size - 1);
	va_end(arguments);
}

static void run(const char *command)
{
	assert_int_equal(system(command), 0);
}

/* A path in the test's directory, valid until the next call. */
static const char *below(const char *name)
{
	static char path[PATH_SIZE];

	print(path, sizeof(path), "%s/%s", home, name);
	return path;
}

static int set_up(void **state)
{
	strcpy(home + sizeof(home) - 7, "XXXXXX");
	if (!mkdtemp(home))
		return -1;
	setenv("XDG_CACHE_HOME", home, 1);
	kept = kept_symbols_open();
	return kept < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	char command[PATH_SIZE];

	close(kept);
	print(command, sizeof(command), "rm -rf '%s'", home);
	return system(command);
}

static void skip_without_device(void)
{
	struct stat status;

	assert_int_equal(stat(home, &status), 0);
	if (!major(status.st_dev))
		skip();
}

/* Copies a file into the test's directory, by a name. */
static void put(const char *directory, const char *file, const char *name)
{
	char command[PATH_SIZE];

	print(command, sizeof(command), "mkdir -p $(dirname '%s') && cp '%s/%s' '%s'", below(name),
	      directory, file, below(name));
	run(command);
}

/* An image in the test's directory, and what is known of it. */
struct opened {
	char path[PATH_SIZE];
	struct elf_image elf;
	struct image_symbols *symbols;
};

static void open_image(struct opened *opened, const char *name,
		       const struct image_symbols_options *options)
{
	print(opened->path, sizeof(opened->path), "%s", below(name));
	assert_int_equal(elf_image_open_descriptor(open(opened->path, O_RDONLY | O_CLOEXEC), 0,
						   &opened->elf),
			 ELF_IMAGE_OK);
	assert_int_equal(
		image_symbols_new(&opened->elf, opened->path, &dirs, options, &opened->symbols), 0);
}

static void close_image(struct opened *opened)
{
	image_symbols_free(opened->symbols);
	elf_image_close(&opened->elf);
}

static const struct image_symbols_options live = { .kept = -1 };

static struct image_symbols_options with_kept(void)
{
	return (struct image_symbols_options){ .kept = kept };
}

static void assert_same_text(const char *left, const char *right)
{
	if (left && right)
		assert_string_equal(left, right);
	else
		assert_ptr_equal(left, right);
}

static void check_place(struct opened *one, struct opened *other, uint64_t address)
{
	static struct place_symbols left, right;

	assert_int_equal(image_symbols_find(one->symbols, address, &left), 0);
	assert_int_equal(image_symbols_find(other->symbols, address, &right), 0);
	assert_int_equal(left.start, right.start);
	assert_int_equal(left.size, right.size);
	assert_int_equal(!left.symbol, !right.symbol);
	if (left.symbol)
		assert_string_equal(image_symbols_name(one->symbols, left.symbol),
				    image_symbols_name(other->symbols, right.symbol));
	assert_int_equal(left.n_calls, right.n_calls);
	for (size_t i = 0; i < left.n_calls; i++) {
		assert_same_text(left.calls[i].name, right.calls[i].name);
		assert_same_text(left.calls[i].file, right.calls[i].file);
		assert_int_equal(left.calls[i].line, right.calls[i].line);
		assert_int_equal(left.calls[i].column, right.calls[i].column);
	}
}

/* Compares all addresses of code, or every n-th, and some around. */
static void check_places(struct opened *one, struct opened *other, uint64_t step)
{
	for (size_t i = 0; i < one->elf.n_segments; i++) {
		const struct elf_segment *segment = &one->elf.segments[i];

		if (!segment->is_executable)
			continue;
		for (uint64_t at = segment->address ? segment->address - 1 : 0;
		     at <= segment->address + segment->size; at += step)
			check_place(one, other, at);
	}
	assert_int_equal(image_symbols_has_debug_info(one->symbols),
			 image_symbols_has_debug_info(other->symbols));
}

/* Keeps what is known of an image. */
static void keep(const char *name)
{
	const struct image_symbols_options options = with_kept();
	static struct place_symbols found;
	struct opened opened;

	open_image(&opened, name, &options);
	assert_int_equal(image_symbols_find(opened.symbols, opened.elf.entry, &found), 0);
	while (image_symbols_keep(opened.symbols))
		;
	close_image(&opened);
}

static bool is_kept(const char *name)
{
	const struct image_symbols_options options = with_kept();
	struct opened opened;
	bool were_kept;

	open_image(&opened, name, &options);
	were_kept = image_symbols_were_kept(opened.symbols);
	close_image(&opened);
	return were_kept;
}

/* Compares what was kept with the file, if anything was. */
static void compare(const char *name, uint64_t step)
{
	const struct image_symbols_options options = with_kept();
	struct opened one, other;

	open_image(&one, name, &live);
	open_image(&other, name, &options);
	check_places(&one, &other, step);
	close_image(&one);
	close_image(&other);
}

static void check_file(const char *directory, const char *name)
{
	char path[PATH_SIZE];

	print(path, sizeof(path), "%s/%s", directory, name);
	if (access(path, R_OK) < 0) /* not all compilers are here */
		return;
	put(directory, name, name);
	keep(name);
	assert_true(is_kept(name));
	compare(name, 1);
}

static void test_all_is_as_in_the_file(void **state)
{
	static const char *const names[] = { "gcc-2",	  "gcc-4",   "gcc-5",	"gcc-lto",
					     "gcc-types", "clang-4", "clang-5", "gcc-5-zlib" };

	skip_without_device();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check_file(inlines, names[i]);
	check_file(debug_files, "full");
	check_file(debug_files, "stripped");
	check_file(debug_files, "mini");
	for (char **file = special; *file; file++)
		check_file("", *file);
}

static void test_a_library_is_as_in_the_file(void **state)
{
	char command[PATH_SIZE];

	skip_without_device();
	print(command, sizeof(command), "cp $(ldd /bin/sh | grep -o '/.*libc.so[^ ]*') '%s'",
	      below("libc"));
	run(command);
	keep("libc");
	assert_true(is_kept("libc"));
	compare("libc", 13);
}

/* Not all of what is found is in files whose state is part of the key. */
static void test_shared_and_split_information_is_not_kept(void **state)
{
	static const char *const names[] = { "gcc-5-shared", "gcc-5-split", "clang-5-split" };

	skip_without_device();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[PATH_SIZE];

		print(path, sizeof(path), "%s/%s", inlines, names[i]);
		if (access(path, R_OK) < 0)
			continue;
		put(inlines, names[i], names[i]);
		keep(names[i]);
		assert_false(is_kept(names[i]));
	}
}

static void test_functions_alone_are_kept_apart(void **state)
{
	struct image_symbols_options functions = with_kept();
	struct opened one;

	skip_without_device();
	put(debug_files, "full", "full");
	keep("full");
	functions.depth = IMAGE_SYMBOLS_FUNCTIONS_ONLY;
	open_image(&one, "full", &functions);
	assert_false(image_symbols_were_kept(one.symbols));
	close_image(&one);
}

/* Writes where the debug file of an image is, by its build-id, below "debug". */
static void name_debug_file(const char *name, char ret[PATH_SIZE])
{
	char whole[PATH_SIZE];
	struct opened opened;
	const void *id;
	ssize_t size;

	open_image(&opened, name, &live);
	size = dwelf_elf_gnu_build_id(opened.elf.elf, &id);
	assert_true(debug_file_build_id_path("debug", id, size, whole, sizeof(whole)));
	strcpy(ret, whole);
	close_image(&opened);
}

static void test_a_debug_file_that_came_later_is_used(void **state)
{
	static struct place_symbols found;
	char path[PATH_SIZE], debug[PATH_SIZE];
	struct image_symbols_options options = with_kept();
	struct opened opened;

	skip_without_device();
	put(debug_files, "stripped", "stripped");
	keep("stripped");
	name_debug_file("stripped", path);
	put(debug_files, "full.debug", path);
	print(debug, sizeof(debug), "%s", below("debug"));
	dirs.list[0] = debug;
	assert_false(is_kept("stripped"));
	keep("stripped");
	assert_true(is_kept("stripped"));
	compare("stripped", 1);
	open_image(&opened, "stripped", &options);
	assert_int_equal(image_symbols_find(opened.symbols, opened.elf.entry, &found), 0);
	assert_string_equal(image_symbols_name(opened.symbols, found.symbol), "_start");
	close_image(&opened);
	unlink(below(path));
	assert_true(is_kept("stripped")); /* what was kept without it */
	compare("stripped", 1);
	dirs.list[0] = "/nowhere";
}

/* How many debug files are refused while an image is opened and looked at. */
static uint64_t count_refused(const struct image_symbols_options *options)
{
	static struct place_symbols found;
	struct file_trust trust = { 0 };
	struct opened opened;

	dirs.trust = &trust;
	open_image(&opened, "stripped", options);
	assert_int_equal(image_symbols_find(opened.symbols, opened.elf.entry, &found), 0);
	while (image_symbols_keep(opened.symbols))
		;
	close_image(&opened);
	dirs.trust = NULL;
	free(trust.first_refused);
	return trust.n_refused;
}

static void test_untrusted_files_count_as_without(void **state)
{
	const struct image_symbols_options options = with_kept();
	char path[PATH_SIZE], debug[PATH_SIZE];
	uint64_t expected;

	skip_without_device();
	put(debug_files, "stripped", "stripped");
	name_debug_file("stripped", path);
	put(debug_files, "full.debug", path);
	assert_int_equal(chmod(below(path), 0666), 0);
	print(debug, sizeof(debug), "%s", below("debug"));
	dirs.list[0] = debug;
	expected = count_refused(&live);
	assert_true(expected > 0);
	assert_int_equal(count_refused(&options), expected);
	assert_true(is_kept("stripped"));
	assert_int_equal(count_refused(&options), expected);
	dirs.list[0] = "/nowhere";
}

static void test_a_changed_file_is_read_again(void **state)
{
	char command[PATH_SIZE];

	skip_without_device();
	put(debug_files, "full", "image");
	keep("image");
	assert_true(is_kept("image"));
	print(command, sizeof(command), "cat '%s/other' >'%s'", debug_files, below("image"));
	run(command);
	assert_false(is_kept("image"));
	compare("image", 1);
}

/* The path of the only kept file. */
static const char *only_file(void)
{
	static char path[PATH_SIZE];
	FILE *names = popen("ls $XDG_CACHE_HOME/stackpipe/symbols/*", "r");

	assert_non_null(fgets(path, sizeof(path), names));
	path[strcspn(path, "\n")] = 0;
	pclose(names);
	return path;
}

/* A damaged file is never believed: its checksum tells. */
static void test_damaged_files_are_ignored(void **state)
{
	struct stat status;
	char byte;
	int fd;

	skip_without_device();
	put(inlines, "gcc-5", "image");
	keep("image");
	fd = open(only_file(), O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &status), 0);
	for (int i = 0; i < BYTES_BROKEN; i++) {
		off_t at = status.st_size * i / BYTES_BROKEN;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 0x10;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		assert_false(is_kept("image"));
		byte ^= 0x10;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_true(is_kept("image"));
	assert_int_equal(ftruncate(fd, status.st_size - 1), 0);
	assert_false(is_kept("image"));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_false(is_kept("image"));
	close(fd);
	keep("image"); /* and replaced */
	assert_true(is_kept("image"));
}

static void test_files_of_others_are_ignored(void **state)
{
	skip_without_device();
	put(inlines, "gcc-5", "image");
	keep("image");
	assert_int_equal(chmod(only_file(), 0666), 0);
	assert_false(is_kept("image"));
	assert_int_equal(chmod(only_file(), 0600), 0);
	assert_true(is_kept("image"));
	if (geteuid())
		return;
	assert_int_equal(chown(only_file(), NOBODY, NOBODY), 0);
	assert_false(is_kept("image"));
}

/* Nobody, not even root, can write to a directory that was removed. */
static void test_nothing_is_kept_where_nothing_can_be_written(void **state)
{
	put(inlines, "gcc-5", "image");
	assert_int_equal(rmdir(below("stackpipe/symbols")), 0);
	keep("image");
	assert_false(is_kept("image"));
	compare("image", 1);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_all_is_as_in_the_file),
		TEST(test_a_library_is_as_in_the_file),
		TEST(test_shared_and_split_information_is_not_kept),
		TEST(test_functions_alone_are_kept_apart),
		TEST(test_a_debug_file_that_came_later_is_used),
		TEST(test_untrusted_files_count_as_without),
		TEST(test_a_changed_file_is_read_again),
		TEST(test_damaged_files_are_ignored),
		TEST(test_files_of_others_are_ignored),
		TEST(test_nothing_is_kept_where_nothing_can_be_written),
	};

	if (argc < 3)
		return EXIT_FAILURE;
	debug_files = argv[1];
	inlines = argv[2];
	special = argv + 3;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
