/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/source/text-hole.h"

enum { BIAS = 0x10000000 };

#define HEAD(path) "10000000-10001000 r--p 00000000 08:01 42 " path
#define TAIL(path) "10003000-10004000 r--p 00003000 08:01 42 " path
#define COPY "10001000-10003000 r-xp 00000000 00:00 0"

/* Three segments of a file: headers, text (two pages), constants. */
static const Elf64_Phdr separate[] = {
	{ PT_LOAD, PF_R, 0, 0, 0, 0x400, 0x400, 0x1000 },
	{ PT_LOAD, PF_R | PF_X, 0x1000, 0x1000, 0, 0x1800, 0x1800, 0x1000 },
	{ PT_LOAD, PF_R, 0x3000, 0x3000, 0, 0x400, 0x400, 0x1000 },
};
/* Text including the headers; its last file page is the first page of the data. */
static const Elf64_Phdr joined[] = {
	{ PT_LOAD, PF_R | PF_X, 0, 0, 0, 0x2800, 0x2800, 0x1000 },
	{ PT_LOAD, PF_R | PF_W, 0x2900, 0x3900, 0, 0x300, 0x300, 0x1000 },
};

static char text[8][256];
static struct proc_mapping list[8];

/* Lines as in /proc; those that are not executable are parsed all the same. */
static struct proc_maps read_lines(const char *const *lines, size_t n)
{
	struct proc_maps maps = { .list = list, .n = n };

	for (size_t i = 0; i < n; i++) {
		char *at = strchr(strcpy(text[i], lines[i]), ' ') + 1;
		char was[4];

		memcpy(was, at, 4);
		memcpy(at, "r-xp", 4); /* only these are parsed */
		assert_true(proc_parse_mapping(text[i], &list[i]));
		list[i].is_executable = was[2] == 'x';
		list[i].is_writable = was[1] == 'w';
	}
	return maps;
}

static int make_file(const Elf64_Phdr *headers, size_t n)
{
	Elf64_Ehdr elf = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64 },
		.e_phoff = sizeof(elf),
		.e_phentsize = sizeof(*headers),
		.e_phnum = n,
	};
	int fd = memfd_create("file", 0);

	assert_int_equal(write(fd, &elf, sizeof(elf)), sizeof(elf));
	assert_int_equal(write(fd, headers, n * sizeof(*headers)), n * sizeof(*headers));
	return fd;
}
#define FILE_OF(headers) make_file(headers, sizeof(headers) / sizeof(*(headers)))
#define MAPS(...)                                                                                  \
	read_lines((const char *const[]){ __VA_ARGS__ },                                           \
		   sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

/* The offset of the only hole's text; -1: there is no such hole. */
static int64_t offset_of(struct proc_maps maps, int file, struct text_hole *hole)
{
	_cleanup_fd_ int fd = file;
	size_t at = 0;
	uint64_t offset;
	int64_t ret = -1;

	assert_true(text_hole_next(&maps, &at, hole));
	if (text_hole_offset(hole, fd, &offset))
		ret = offset;
	assert_false(text_hole_next(&maps, &at, &(struct text_hole){ 0 }));
	return ret;
}

static void test_text_between_other_segments(void **state)
{
	struct text_hole hole;

	assert_int_equal(offset_of(MAPS(HEAD("/x"), COPY, TAIL("/x")), FILE_OF(separate), &hole),
			 0x1000);
	assert_int_equal(hole.start, BIAS + 0x1000);
	assert_int_equal(hole.end, BIAS + 0x3000);
	assert_false(hole.is_writable);
	assert_int_equal(hole.n_beside, 2);
	assert_int_equal(hole.file, 2);
}

static void test_text_beside_one_other_segment(void **state)
{
	struct text_hole hole;

	assert_int_equal(offset_of(MAPS(HEAD("/x"), COPY), FILE_OF(separate), &hole), 0x1000);
	assert_int_equal(offset_of(MAPS(COPY, TAIL("/x")), FILE_OF(separate), &hole), 0x1000);
}

static void test_a_part_of_the_text(void **state)
{
	struct text_hole hole;

	assert_int_equal(offset_of(MAPS("10001000-10002000 r-xp 00001000 08:01 42 /x",
					"10002000-10003000 r-xp 00000000 00:00 0", TAIL("/x")),
				   FILE_OF(separate), &hole),
			 0x2000);
}

static void test_pieces_without_a_gap_are_one(void **state)
{
	struct text_hole hole;

	assert_int_equal(
		offset_of(MAPS(HEAD("/x"), "10001000-10002000 rwxp 00000000 00:00 0",
			       "10002000-10003000 r-xp 00000000 00:00 0 [anon:text]", TAIL("/x")),
			  FILE_OF(separate), &hole),
		0x1000);
	assert_int_equal(hole.end, BIAS + 0x3000);
	assert_true(hole.is_writable);
}

static void test_text_whose_last_page_is_the_datas_first(void **state)
{
	struct text_hole hole;

	assert_int_equal(offset_of(MAPS("10000000-10003000 r-xp 00000000 00:00 0",
					"10003000-10004000 rw-p 00002000 08:01 42 /x"),
				   FILE_OF(joined), &hole),
			 0);
	assert_int_equal(offset_of(MAPS("10000000-10002000 r-xp 00000000 08:01 42 /x",
					"10002000-10003000 r-xp 00000000 00:00 0",
					"10003000-10004000 rw-p 00002000 08:01 42 /x"),
				   FILE_OF(joined), &hole),
			 0x2000);
}

static void test_a_mapping_larger_than_the_text_is_refused(void **state)
{
	struct text_hole hole;

	assert_int_equal(offset_of(MAPS(HEAD("/x"), "10001000-10004000 r-xp 00000000 00:00 0"),
				   FILE_OF(separate), &hole),
			 -1);
	assert_int_equal(offset_of(MAPS("10000000-10003000 r-xp 00000000 00:00 0", TAIL("/x")),
				   FILE_OF(separate), &hole),
			 -1);
}

static void test_segments_that_were_not_loaded_together(void **state)
{
	struct text_hole hole;

	assert_int_equal(
		offset_of(MAPS(HEAD("/x"), COPY, "10003000-10004000 r--p 00000000 08:01 42 /x"),
			  FILE_OF(separate), &hole),
		-1);
}

static void test_memory_that_fills_no_hole(void **state)
{
	struct text_hole hole;
	struct proc_maps maps;
	size_t at = 0;

	maps = MAPS(HEAD("/x"), COPY, TAIL("/y")); /* between two different files */
	assert_false(text_hole_next(&maps, &at, &hole));
	maps = MAPS("0fff0000-0fff1000 r--p 00000000 08:01 42 /x", COPY); /* not adjacent */
	at = 0;
	assert_false(text_hole_next(&maps, &at, &hole));
	maps = MAPS(HEAD("/x"), "10001000-10003000 rw-p 00000000 00:00 0", TAIL("/x"));
	at = 0;
	assert_false(text_hole_next(&maps, &at, &hole));
	maps = MAPS(HEAD("/x"), "10001000-10003000 r-xp 00001000 08:01 42 /x", TAIL("/x"));
	at = 0;
	assert_false(text_hole_next(&maps, &at, &hole));
}

static void test_non_elf_files_are_refused(void **state)
{
	static Elf64_Phdr many[TEXT_HOLE_HEADERS_MAX + 1];
	struct proc_maps maps = MAPS(HEAD("/x"), COPY, TAIL("/x"));
	struct text_hole hole;
	int fd = FILE_OF(separate);

	assert_int_equal(offset_of(maps, memfd_create("empty", 0), &hole), -1);
	assert_int_equal(ftruncate(fd, sizeof(Elf64_Ehdr) + sizeof(separate) - 1), 0);
	assert_int_equal(offset_of(maps, fd, &hole), -1);
	memcpy(many, separate, sizeof(separate));
	assert_int_equal(offset_of(maps, make_file(many, TEXT_HOLE_HEADERS_MAX), &hole), 0x1000);
	assert_int_equal(offset_of(maps, FILE_OF(many), &hole), -1);
}

static void test_headers_that_are_out_of_bounds(void **state)
{
	Elf64_Phdr wild[] = {
		separate[0],
		{ PT_LOAD, PF_X, UINT64_MAX - 0xfff, 0x1000, 0, 0x3000, 0x3000, 0 },
		{ PT_LOAD, PF_X, 0x1000, 0x1000, 0, UINT64_MAX, UINT64_MAX, 0 },
		separate[2],
	};
	struct text_hole hole;

	assert_int_equal(offset_of(MAPS(HEAD("/x"), COPY, TAIL("/x")), FILE_OF(wild), &hole), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_between_other_segments),
		cmocka_unit_test(test_text_beside_one_other_segment),
		cmocka_unit_test(test_a_part_of_the_text),
		cmocka_unit_test(test_pieces_without_a_gap_are_one),
		cmocka_unit_test(test_text_whose_last_page_is_the_datas_first),
		cmocka_unit_test(test_a_mapping_larger_than_the_text_is_refused),
		cmocka_unit_test(test_segments_that_were_not_loaded_together),
		cmocka_unit_test(test_memory_that_fills_no_hole),
		cmocka_unit_test(test_non_elf_files_are_refused),
		cmocka_unit_test(test_headers_that_are_out_of_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
