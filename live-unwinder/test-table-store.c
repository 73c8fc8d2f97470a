/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tables of small and large hand-made files. Compilation is wrapped (see meson.build), so that a
 * test decides how long the thread takes and whether it succeeds.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/elf/test-recorded-file.h"
#include "live-unwinder/engine.h"
#include "live-unwinder/test-world.h"

enum {
	SMALL = 1,
	LARGE,
	LARGE_TOO,
	OTHER,
	FUNCTIONS = 20000, /* in the large image: 1 MiB of .eh_frame, 80 KB of table */
};

int __real_unwind_table_compile(const struct unwind_source *source, struct unwind_table *ret);
int __wrap_unwind_table_compile(const struct unwind_source *source, struct unwind_table *ret);

static struct world world;
static char home[64];
static bool is_held; /* each large table waits for one post of `released` */
static sem_t begun, released;
static int failure; /* error of compilation; 0: none */

int __wrap_unwind_table_compile(const struct unwind_source *source, struct unwind_table *ret)
{
	if (is_held && source->n_sections && source->sections[0].size >= TABLE_STORE_LARGE) {
		sem_post(&begun);
		sem_wait(&released);
	}
	return failure ? failure : __real_unwind_table_compile(source, ret);
}

static void begin(enum table_patience patience)
{
	world_init(&world, &(struct wire_hello){ 0 }, patience);
	table_cache_open(&world.cache);
}

static int set_up(void **state)
{
	strcpy(home, "/tmp/stackpipe-test-XXXXXX");
	if (!mkdtemp(home))
		return -1;
	setenv("XDG_CACHE_HOME", home, 1);
	is_held = false;
	failure = 0;
	sem_init(&begun, 0, 0);
	sem_init(&released, 0, 0);
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	world_deinit(&world);
	snprintf(command, sizeof(command), "rm -rf '%s'", home);
	return system(command);
}

/* Every second function has another rule, so no rows can be merged. */
static struct made make_large(void)
{
	const struct made_function other = { PROGRAM(DW_CFA_def_cfa_offset, 16) };
	struct made_function *functions = calloc(FUNCTIONS, sizeof(*functions));
	struct made elf;

	for (size_t i = 0; i < FUNCTIONS; i += 2)
		functions[i] = other;
	elf = made_elf(arch_host(), functions, FUNCTIONS, 0);
	free(functions);
	return elf;
}

static void add_small(uint64_t number)
{
	const struct made_function functions[] = { { 0 }, { PROGRAM(DW_CFA_def_cfa_offset, 16) } };
	struct made elf = made_elf(arch_host(), functions, 2, 0);

	add_bytes(&world, number, elf.bytes, elf.n);
	made_deinit(&elf);
}

static void add_large(uint64_t number)
{
	struct made elf = make_large();

	add_bytes(&world, number, elf.bytes, elf.n);
	made_deinit(&elf);
}

static int32_t cfa_offset(const struct stored_table *entry, size_t function)
{
	const struct unwind_rule *rule = unwind_table_find(&entry->table, made_offset(function));

	assert_int_equal(entry->state, TABLE_READY);
	assert_non_null(rule);
	return rule->cfa_offset;
}

static const struct stored_table *get(uint64_t number)
{
	const struct stored_table *entry = table_store_get(&world.tables, number);

	assert_non_null(entry);
	return entry;
}

/* Polls until the table is ready or unusable. */
static const struct stored_table *get_later(uint64_t number)
{
	const struct stored_table *entry;

	while ((entry = get(number))->state == TABLE_PENDING)
		sched_yield();
	return entry;
}

static void test_a_small_table_is_ready_at_once(void **state)
{
	const struct stored_table *entry;

	begin(TABLE_STORE_DO_WITHOUT);
	add_small(SMALL);
	entry = get(SMALL);
	assert_int_equal(cfa_offset(entry, 0), 8);
	assert_int_equal(cfa_offset(entry, 1), 16);
	assert_false(world.tables.has_thread);
	assert_int_equal(*world.tables.n_compiled, 1);
}

static void test_a_table_is_made_once(void **state)
{
	const struct stored_table *entry;

	begin(TABLE_STORE_WAIT);
	add_small(SMALL);
	entry = get(SMALL);
	assert_ptr_equal(get(SMALL), entry);
	assert_int_equal(*world.tables.n_compiled, 1);
}

static void test_each_table_has_an_id_of_its_own(void **state)
{
	begin(TABLE_STORE_WAIT);
	add_small(SMALL);
	add_small(OTHER);
	assert_int_not_equal(get(SMALL)->id, 0);
	assert_int_not_equal(get(OTHER)->id, 0);
	assert_int_not_equal(get(SMALL)->id, get(OTHER)->id);
}

static void test_waiting_stages_get_a_large_table_at_once(void **state)
{
	const struct stored_table *entry;

	begin(TABLE_STORE_WAIT);
	add_large(LARGE);
	entry = get(LARGE);
	assert_int_equal(cfa_offset(entry, 0), 16);
	assert_int_equal(cfa_offset(entry, FUNCTIONS - 1), 8);
	assert_true(world.tables.has_thread);
}

static void test_other_stages_get_a_large_table_later(void **state)
{
	const struct stored_table *entry;

	begin(TABLE_STORE_DO_WITHOUT);
	add_large(LARGE);
	is_held = true;
	entry = get(LARGE);
	assert_int_equal(entry->state, TABLE_PENDING);
	assert_int_equal(get(LARGE)->state, TABLE_PENDING);
	sem_post(&released);
	assert_ptr_equal(get_later(LARGE), entry);
	assert_int_equal(cfa_offset(entry, 0), 16);
	assert_int_equal(*world.tables.n_compiled, 1);
}

static void *release(void *arg)
{
	sem_wait(&begun);
	sem_post(&released);
	return NULL;
}

static void test_a_large_table_can_be_awaited(void **state)
{
	pthread_t thread;

	begin(TABLE_STORE_DO_WITHOUT);
	add_large(LARGE);
	is_held = true;
	assert_int_equal(get(LARGE)->state, TABLE_PENDING);
	assert_int_equal(pthread_create(&thread, NULL, release, NULL), 0);
	assert_int_equal(table_store_await(&world.tables, LARGE)->state, TABLE_READY);
	pthread_join(thread, NULL);
	assert_int_equal(world.tables.patience, TABLE_STORE_DO_WITHOUT);
}

static void test_a_small_table_does_not_wait_for_a_large_one(void **state)
{
	begin(TABLE_STORE_DO_WITHOUT);
	add_large(LARGE);
	add_small(SMALL);
	is_held = true;
	assert_int_equal(get(LARGE)->state, TABLE_PENDING);
	assert_int_equal(cfa_offset(get(SMALL), 0), 8);
	sem_post(&released);
	assert_int_equal(get_later(LARGE)->state, TABLE_READY);
}

static void test_several_large_tables_come_one_after_the_other(void **state)
{
	begin(TABLE_STORE_DO_WITHOUT);
	add_large(LARGE);
	add_large(LARGE_TOO);
	is_held = true;
	assert_int_equal(get(LARGE)->state, TABLE_PENDING);
	assert_int_equal(get(LARGE_TOO)->state, TABLE_PENDING);
	sem_post(&released);
	assert_int_equal(get_later(LARGE)->state, TABLE_READY);
	assert_int_equal(get(LARGE_TOO)->state, TABLE_PENDING);
	sem_post(&released);
	assert_int_equal(get_later(LARGE_TOO)->state, TABLE_READY);
}

static void test_the_thread_compiles_later_tables(void **state)
{
	begin(TABLE_STORE_WAIT);
	add_large(LARGE);
	add_large(LARGE_TOO);
	assert_int_equal(get(LARGE)->state, TABLE_READY);
	assert_int_equal(get(LARGE_TOO)->state, TABLE_READY);
}

/* The thread compiles one table while another is queued; tear_down() waits for the first. */
static void test_deinit_while_the_thread_compiles(void **state)
{
	begin(TABLE_STORE_DO_WITHOUT);
	add_large(LARGE);
	add_large(LARGE_TOO);
	is_held = true;
	get(LARGE);
	get(LARGE_TOO);
	sem_wait(&begun);
	sem_post(&released);
	sem_post(&released);
}

static void test_deinit_with_an_unfetched_table(void **state)
{
	int n_unused = 1;

	begin(TABLE_STORE_DO_WITHOUT);
	add_large(LARGE);
	is_held = true;
	get(LARGE);
	sem_post(&released);
	while (n_unused) {
		sched_yield();
		sem_getvalue(&released, &n_unused);
	}
}

static void test_a_failed_compilation_is_unusable(void **state)
{
	begin(TABLE_STORE_WAIT);
	add_small(SMALL);
	add_large(LARGE);
	failure = -ENOMEM;
	assert_int_equal(get(SMALL)->state, TABLE_UNUSABLE);
	assert_int_equal(get(LARGE)->state, TABLE_UNUSABLE);
}

/* A section outside of the file. */
static void test_unreadable_unwind_info_is_unusable(void **state)
{
	const struct made_function function = { 0 };
	struct made elf = made_elf(arch_host(), &function, 1, 0);
	Elf64_Shdr *sections = (void *)(elf.bytes + ((Elf64_Ehdr *)elf.bytes)->e_shoff);

	begin(TABLE_STORE_WAIT);
	sections[1].sh_offset = UINT64_MAX / 2;
	add_bytes(&world, SMALL, elf.bytes, elf.n);
	made_deinit(&elf);
	assert_int_equal(get(SMALL)->state, TABLE_UNUSABLE);
}

static void test_an_image_without_a_file_has_no_table(void **state)
{
	begin(TABLE_STORE_WAIT);
	add_image(&world, OTHER, WIRE_image_kind_ANONYMOUS, "//anon");
	assert_int_equal(get(OTHER)->state, TABLE_NO_FILE);
	assert_int_equal(get(OTHER)->end, WIRE_stack_end_NO_UNWIND_INFO);
}

static void test_an_unknown_image_has_no_table(void **state)
{
	begin(TABLE_STORE_WAIT);
	assert_int_equal(get(OTHER)->state, TABLE_NO_FILE);
	assert_int_equal(get(OTHER)->end, WIRE_stack_end_NO_MAPPING);
	assert_null(get(OTHER)->image);
}

/* The path of the large image's file. */
static const char *file_path(void)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/image", home);
	return path;
}

static void write_file(const struct made *elf)
{
	_cleanup_fd_ int fd = open(file_path(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, elf->bytes, elf->n), elf->n);
}

static void add_file(void)
{
	record_file(add_image(&world, LARGE, WIRE_image_kind_FILE, file_path()));
}

static void test_a_table_comes_from_disk_the_second_time(void **state)
{
	struct made elf = make_large();
	struct stat status;

	write_file(&elf);
	made_deinit(&elf);
	begin(TABLE_STORE_WAIT);
	add_file();
	assert_int_equal(cfa_offset(get(LARGE), 0), 16);
	assert_int_equal(*world.tables.n_from_disk, 0);
	assert_int_equal(stat(home, &status), 0);
	if (!major(status.st_dev)) /* no caching on tmpfs or container file systems */
		skip();
	assert_int_equal(*world.tables.n_compiled, 1);
	world_deinit(&world);
	begin(TABLE_STORE_DO_WITHOUT);
	add_file();
	assert_int_equal(cfa_offset(get(LARGE), 0), 16);
	assert_int_equal(cfa_offset(get(LARGE), FUNCTIONS - 1), 8);
	assert_int_equal(*world.tables.n_from_disk, 1);
	assert_int_equal(*world.tables.n_compiled, 0);
	assert_false(world.tables.has_thread);
}

/* Same size and mtime; only ctime differs. */
static void test_a_file_written_before_reading_has_no_table(void **state)
{
	struct made elf = make_large();
	struct image *image;
	struct stat status;

	write_file(&elf);
	begin(TABLE_STORE_WAIT);
	image = add_image(&world, LARGE, WIRE_image_kind_FILE, file_path());
	record_file(image);
	assert_non_null(elf_cache_get(&world.files, image));
	assert_int_equal(stat(file_path(), &status), 0);
	write_file(&elf);
	made_deinit(&elf);
	const struct timespec times[] = { status.st_atim, status.st_mtim };
	assert_int_equal(utimensat(AT_FDCWD, file_path(), times, 0), 0);
	assert_int_equal(get(LARGE)->state, TABLE_UNUSABLE);
}

static void add_file_as(uint64_t number)
{
	record_file(add_image(&world, number, WIRE_image_kind_FILE, file_path()));
}

/* A stream may give a file any number of image ids. */
static void test_images_of_one_file_share_its_table(void **state)
{
	struct made elf = make_large();

	write_file(&elf);
	made_deinit(&elf);
	begin(TABLE_STORE_WAIT);
	add_file_as(LARGE);
	add_file_as(LARGE_TOO);
	add_file_as(OTHER);
	assert_int_equal(cfa_offset(get(LARGE), 0), 16);
	assert_ptr_equal(get(LARGE_TOO), get(LARGE));
	assert_ptr_equal(get(OTHER), get(LARGE));
	assert_int_equal(*world.tables.n_compiled + *world.tables.n_from_disk, 1);
	table_store_forget(&world.tables, LARGE);
	assert_int_equal(cfa_offset(get(OTHER), 0), 16);
	assert_ptr_equal(get(LARGE_TOO), get(OTHER));
	assert_int_equal(*world.tables.n_compiled + *world.tables.n_from_disk, 2);
}

static void test_a_written_file_is_another_file(void **state)
{
	struct made elf = make_large();

	write_file(&elf);
	begin(TABLE_STORE_WAIT);
	add_file_as(LARGE);
	get(LARGE);
	elf.n--;
	write_file(&elf); /* smaller by one byte */
	made_deinit(&elf);
	add_file_as(LARGE_TOO);
	assert_ptr_not_equal(get(LARGE_TOO), get(LARGE));
}

/* A later record of the stream decides. */
static void test_an_undecided_image_is_retried(void **state)
{
	struct made elf = make_large();

	write_file(&elf);
	made_deinit(&elf);
	world_init(&world, &(struct wire_hello){ .image_server = "stackpipe-no-such-server" },
		   TABLE_STORE_WAIT);
	add_image(&world, LARGE, WIRE_image_kind_FILE, file_path());
	assert_int_equal(get(LARGE)->state, TABLE_PENDING);
	assert_int_equal(get(LARGE)->state, TABLE_PENDING);
	record_file(image_table_find(&world.identity.images, LARGE));
	assert_int_equal(cfa_offset(get(LARGE), 0), 16);
}

static void test_a_table_is_freed_with_its_image(void **state)
{
	begin(TABLE_STORE_WAIT);
	add_small(SMALL);
	get(SMALL);
	assert_true(world.tables.size > 0);
	assert_int_equal(world.tables.n_removed, 0);
	table_store_forget(&world.tables, SMALL);
	assert_int_equal(world.tables.n_removed, 1);
	assert_int_equal(world.tables.size, 0);
	table_store_forget(&world.tables, SMALL);
	assert_int_equal(world.tables.n_removed, 1);
}

static void test_an_image_may_end_during_compilation(void **state)
{
	begin(TABLE_STORE_DO_WITHOUT);
	add_large(LARGE);
	is_held = true;
	assert_int_equal(get(LARGE)->state, TABLE_PENDING);
	sem_wait(&begun);
	sem_post(&released);
	table_store_forget(&world.tables, LARGE);
	assert_int_equal(world.tables.n_removed, 1);
	assert_int_equal(world.tables.by_image.n, 0);
}

static void test_unused_tables_are_evicted(void **state)
{
	const struct stored_table *small;

	begin(TABLE_STORE_WAIT);
	add_small(SMALL);
	add_small(OTHER);
	add_large(LARGE);
	add_large(LARGE_TOO);
	small = get(SMALL);
	get(LARGE);
	world.tables.size_max = world.tables.size * 8 / 5;
	get(OTHER);
	get(SMALL);
	assert_int_equal(world.tables.n_removed, 0);
	get(LARGE_TOO);
	assert_int_equal(*world.tables.n_evicted, 1); /* evicting the other large table is enough */
	assert_true(world.tables.size <= world.tables.size_max);
	assert_ptr_equal(get(SMALL), small);
	assert_int_equal(world.tables.by_image.n, 3);
	get(OTHER);
	assert_int_equal(get(LARGE)->state, TABLE_READY); /* compiled again, evicting LARGE_TOO */
	assert_int_equal(*world.tables.n_evicted, 2);
}

static const char *own_path(void)
{
	static char path[4096];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[size < 0 ? 0 : size] = 0;
	return path;
}

/* The test's own file, mapped at this time. */
static const struct stored_table *get_own(uint64_t mapped_at, uint64_t *ret_changed)
{
	struct image *image = add_image(&world, OTHER, WIRE_image_kind_FILE, own_path());

	record_file(image);
	*ret_changed = image->state.changed;
	image->mapped_at = mapped_at;
	return get(OTHER);
}

static void test_a_file_written_while_mapped_is_not_trusted(void **state)
{
	const struct stored_table *entry;
	uint64_t changed;

	begin(TABLE_STORE_WAIT);
	world.files.unix_time_ahead = 1000;
	entry = get_own(1, &changed);
	assert_int_equal(entry->not_before, changed - 1000 + ELF_CACHE_TICK_NS);
}

static void test_a_file_mapped_after_writing_is_trusted(void **state)
{
	uint64_t changed;

	begin(TABLE_STORE_WAIT);
	world.files.unix_time_ahead = 1000;
	assert_int_equal(get_own(UINT64_MAX, &changed)->not_before, 0);
}

static void test_without_a_clock_no_file_is_distrusted(void **state)
{
	uint64_t changed;

	begin(TABLE_STORE_WAIT);
	assert_int_equal(get_own(1, &changed)->not_before, 0);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_a_small_table_is_ready_at_once),
		TEST(test_a_table_is_made_once),
		TEST(test_each_table_has_an_id_of_its_own),
		TEST(test_waiting_stages_get_a_large_table_at_once),
		TEST(test_other_stages_get_a_large_table_later),
		TEST(test_a_large_table_can_be_awaited),
		TEST(test_a_small_table_does_not_wait_for_a_large_one),
		TEST(test_several_large_tables_come_one_after_the_other),
		TEST(test_the_thread_compiles_later_tables),
		TEST(test_deinit_while_the_thread_compiles),
		TEST(test_deinit_with_an_unfetched_table),
		TEST(test_a_failed_compilation_is_unusable),
		TEST(test_unreadable_unwind_info_is_unusable),
		TEST(test_an_image_without_a_file_has_no_table),
		TEST(test_an_unknown_image_has_no_table),
		TEST(test_a_table_comes_from_disk_the_second_time),
		TEST(test_a_file_written_before_reading_has_no_table),
		TEST(test_images_of_one_file_share_its_table),
		TEST(test_a_written_file_is_another_file),
		TEST(test_an_undecided_image_is_retried),
		TEST(test_a_table_is_freed_with_its_image),
		TEST(test_an_image_may_end_during_compilation),
		TEST(test_unused_tables_are_evicted),
		TEST(test_a_file_written_while_mapped_is_not_trusted),
		TEST(test_a_file_mapped_after_writing_is_trusted),
		TEST(test_without_a_clock_no_file_is_distrusted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
