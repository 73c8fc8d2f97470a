/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ids emitted when an image's file is first read; the file is the test's own executable. */
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/elf/elf-cache.h"
#include "common/elf/test-recorded-file.h"
#include "common/stage/test-stream.h"
#include "common/stream/file-id.h"

enum { IMAGE = 3, PAGE = 4096 };

static struct test_stream stream;
static struct image_table table;
static struct elf_cache files;
static char own[4096];

static int set_up(void **state)
{
	static const struct wire_hello hello; /* without image server */
	ssize_t size = readlink("/proc/self/exe", own, sizeof(own) - 1);

	own[size < 0 ? 0 : size] = 0;
	test_stream_init(&stream);
	memset(&table, 0, sizeof(table));
	return elf_cache_init(&files, &stream.stage, &table, &hello);
}

static int tear_down(void **state)
{
	image_table_deinit(&table);
	elf_cache_deinit(&files);
	test_stream_deinit(&stream);
	return 0;
}

static struct image *add(enum wire_image_kind kind, const char *path)
{
	struct wire_image record = { .image = IMAGE,
				     .kind = kind,
				     .path = wire_string(path, 4096) };

	assert_int_equal(image_table_add(&table, &record), 0);
	return image_table_find(&table, IMAGE);
}

/* An image as a recorded stream reports it. */
static struct image *add_file(const char *path)
{
	struct image *image = add(WIRE_image_kind_FILE, path);

	record_file(image);
	return image;
}

static void assert_file_id(const char *text, const char *path)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char expected[FILE_ID_TEXT_SIZE];
	struct file_id id;

	assert_int_equal(file_id_of_file(fd, &id), FILE_ID_OK);
	file_id_text(&id, expected);
	assert_string_equal(text, expected);
}

static void test_an_elf_files_ids_are_emitted_once(void **state)
{
	struct image *image = add_file(own);
	union wire_view view;

	assert_non_null(elf_cache_get(&files, image));
	assert_non_null(elf_cache_get(&files, image));
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_image_id);
	assert_int_equal(view.image_id.image, IMAGE);
	assert_file_id(view.image_id.file_id, own);
	assert_int_equal(test_stream_next(&stream, &view), 0);
	assert_ptr_equal(image_table_find_short_id(&table, image->short_id), image);
}

static void test_ids_from_upstream_are_not_emitted_again(void **state)
{
	static const uint64_t code[WIRE_SEGMENT_WORDS] = { 0x1000, 0x401000, 0x10 };
	struct image *image = add_file(own);
	struct wire_image_id known = { .image = IMAGE, .segments = { code, WIRE_SEGMENT_WORDS } };
	union wire_view view;

	strcpy(known.file_id, "026a2d6a60ee6b4eb8ec85adf2e76f4d");
	image_table_set_id(&table, &known);
	assert_non_null(elf_cache_get(&files, image));
	assert_int_equal(test_stream_next(&stream, &view), 0);
}

/* Streams before 1.15 do not tell where the code is. */
static void test_segments_are_added_to_ids(void **state)
{
	struct image *image = add_file(own);
	struct wire_image_id known = { .image = IMAGE };
	union wire_view view;

	strcpy(known.file_id, "026a2d6a60ee6b4eb8ec85adf2e76f4d");
	image_table_set_id(&table, &known);
	assert_non_null(elf_cache_get(&files, image));
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_image_id);
	assert_true(view.image_id.segments.n >= WIRE_SEGMENT_WORDS);
	assert_true(image->n_segments > 0);
	assert_int_equal(test_stream_next(&stream, &view), 0);
}

/* Sources of perf.data files and stages of version 1.0 send the build-id alone. */
static void test_a_file_id_is_added_to_a_build_id(void **state)
{
	struct image *image = add_file(own);
	struct wire_image_id known = { .image = IMAGE };
	union wire_view view;

	image_table_set_id(&table, &known);
	assert_non_null(elf_cache_get(&files, image));
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_image_id);
	assert_file_id(view.image_id.file_id, own);
	assert_int_equal(test_stream_next(&stream, &view), 0);
}

static void test_a_file_that_is_not_elf_has_a_file_id(void **state)
{
	static const char path[] = "/etc/passwd";
	struct image *image = add_file(path);
	union wire_view view;

	assert_null(elf_cache_get(&files, image));
	assert_null(elf_cache_get(&files, image));
	assert_true(elf_cache_has_other_data(image));
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_image_id);
	assert_int_equal(view.image_id.build_id.size, 0);
	assert_file_id(view.image_id.file_id, path);
	assert_int_equal(test_stream_next(&stream, &view), 0);
}

static void test_unavailable_files_emit_nothing(void **state)
{
	struct image *image = add_file(own);
	union wire_view view;

	image->state.size++; /* the file has changed */
	assert_null(elf_cache_get(&files, image));
	assert_int_equal(test_stream_next(&stream, &view), 0);
	assert_false(image->has_id);
}

/* OpenTelemetry reads the vDSO from a process, up to the end of its last page. */
static void test_a_vdso_has_the_id_of_its_pages(void **state)
{
	const Elf64_Ehdr *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct image *image = add(WIRE_image_kind_VDSO, "[vdso]");
	struct wire_image_data data = { .image = IMAGE };
	char expected[FILE_ID_TEXT_SIZE];
	union wire_view view;
	struct file_id id;
	size_t size;

	if (!vdso)
		skip();
	size = vdso->e_shoff + (size_t)vdso->e_shnum * vdso->e_shentsize;
	data.data = (struct wire_blob){ vdso, size };
	assert_int_equal(image_table_set_data(&table, &data), 0);
	assert_non_null(elf_cache_get(&files, image));
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_image_id);
	file_id_of_bytes(vdso, (size + PAGE - 1) / PAGE * PAGE, &id); /* as mapped here */
	file_id_text(&id, expected);
	assert_string_equal(view.image_id.file_id, expected);
	assert_true(view.image_id.build_id.size > 0);
}

static struct image *add_numbered(uint64_t number)
{
	struct wire_image record = { .image = number,
				     .kind = WIRE_image_kind_FILE,
				     .path = wire_string(own, 4096) };
	struct image *image;

	assert_int_equal(image_table_add(&table, &record), 0);
	image = image_table_find(&table, number);
	record_file(image);
	return image;
}

static void note(struct image *image, void *arg)
{
	*(uint64_t *)arg = image->number;
}

static void test_least_recently_used_file_is_closed(void **state)
{
	struct image *first, *second, *third;
	struct elf_image *elf;
	uint64_t closed = 0;

	add_file(own);
	files.n_open_max = 2;
	files.before_close = note;
	files.arg = &closed;
	first = add_numbered(11);
	second = add_numbered(12);
	third = add_numbered(13);
	elf = elf_cache_get(&files, first);
	assert_non_null(elf);
	assert_non_null(elf_cache_get(&files, second));
	assert_ptr_equal(elf_cache_get(&files, first), elf);
	assert_int_equal(closed, 0);
	assert_non_null(elf_cache_get(&files, third));
	assert_int_equal(closed, 12);
	assert_int_equal(files.open.n, 2);
	assert_ptr_equal(elf_cache_get(&files, first), elf);
	assert_non_null(elf_cache_get(&files, second));
	assert_int_equal(closed, 13);
	assert_non_null(elf_cache_get(&files, third));
	assert_null(elf->elf); /* closed, but its entry is kept */
	assert_int_equal(elf->fd, -1);
	assert_true(elf->n_segments > 0);
	assert_true(elf_cache_reopen(elf));
	assert_non_null(elf->elf);
	image_table_exit(&table, &(struct wire_image_exit){ 11, 0 });
	assert_int_equal(closed, 11);
	assert_int_equal(files.open.n, 1);
	files.before_close = NULL;
}

static void test_failed_opens_are_retried_less_and_less(void **state)
{
	struct image *image = add_file(own);
	int n = 0;

	image->state.size++;
	assert_null(elf_cache_get(&files, image));
	image->state.size--;
	while (!elf_cache_get(&files, image))
		n++;
	assert_int_equal(n, ELF_CACHE_PATIENCE - 1);
	image_table_exit(&table, &(struct wire_image_exit){ IMAGE, 0 });
	image = add_file(own);
	image->state.size++;
	for (n = 0; n <= ELF_CACHE_PATIENCE; n++)
		assert_null(elf_cache_get(&files, image));
	image->state.size--;
	for (n = 1; !elf_cache_get(&files, image);)
		n++;
	assert_int_equal(n, 2 * ELF_CACHE_PATIENCE);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_an_elf_files_ids_are_emitted_once),
		TEST(test_ids_from_upstream_are_not_emitted_again),
		TEST(test_a_file_id_is_added_to_a_build_id),
		TEST(test_segments_are_added_to_ids),
		TEST(test_a_file_that_is_not_elf_has_a_file_id),
		TEST(test_unavailable_files_emit_nothing),
		TEST(test_a_vdso_has_the_id_of_its_pages),
		TEST(test_least_recently_used_file_is_closed),
		TEST(test_failed_opens_are_retried_less_and_less),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
