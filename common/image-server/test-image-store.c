/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files and maps with wrapped opening (common/image-server/test-hanging.h). */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/image-server/image-store.h"
#include "common/image-server/test-hanging.h"

enum { DESCRIPTORS = 16, ROOTS = DESCRIPTORS / IMAGE_STORE_ROOTS_PART };

static struct image_store *images; /* never freed, because its threads live on */
static uint64_t last_ready;
static size_t n_ready;

static void note_ready(struct stored_image *image, void *arg)
{
	assert_ptr_equal(arg, &n_ready);
	assert_int_equal(image->state, SERVED_READY);
	last_ready = image->number;
	n_ready++;
}

static int set_up(void **state)
{
	n_ready = 0;
	images = malloc(sizeof(*images));
	return images ? image_store_init(images, DESCRIPTORS, note_ready, &n_ready) : -1;
}

static void wait_for_ready(size_t n)
{
	struct pollfd done = { images->openers.done_fds[0], POLLIN, 0 };

	while (n_ready < n) {
		poll(&done, 1, 10);
		image_store_take_done(images);
		image_store_give_up_slow(images);
	}
	assert_int_equal(n_ready, n);
	n_ready = 0;
}

/* Waits until an abandoned opening has finished. */
static void wait_for_late(void)
{
	struct pollfd done = { images->openers.done_fds[0], POLLIN, 0 };

	assert_int_equal(poll(&done, 1, 20000), 1);
	image_store_take_done(images);
}

static struct stored_image *add_file(uint64_t number)
{
	const struct wire_image_open request = { .image = number, .path = wire_string("/x", 9) };

	return image_store_add_file(images, &request);
}

static struct stored_image *add_map(uint64_t number, uint32_t pid)
{
	return image_store_add_map(images, &(struct wire_map_open){ number, pid });
}

/* The state SLOW is followed by a second report to perf-source. */
static void test_a_slow_file_is_opened_later(void **state)
{
	struct stored_image *image;

	file_system_answers(false);
	image = add_file(HANGS);
	wait_for_ready(1);
	assert_int_equal(last_ready, HANGS);
	assert_int_equal(image->file.status, WIRE_image_status_SLOW);
	file_system_answers(true);
	image->is_reported = true;
	wait_for_ready(1);
	assert_false(image_store_open(images, image));
	assert_int_equal(image->file.status, WIRE_image_status_OPEN);
	assert_false(image->is_reported);
	assert_true(image->file.fd >= 0);
	assert_int_equal(images->n_open, 1);
}

/* While all threads of a user are stuck, no further file of that user is tried. */
static void test_untried_images_are_opened_on_request(void **state)
{
	struct stored_image *image;

	file_system_answers(false);
	for (uint64_t i = 0; i < OPENERS_OF_USER_MAX; i++)
		add_file(HANGS + i);
	wait_for_ready(OPENERS_OF_USER_MAX);
	image = add_file(1);
	wait_for_ready(1);
	assert_int_equal(image->file.status, WIRE_image_status_SLOW);
	assert_true(image_store_open(images, image));
	wait_for_ready(1);
	assert_int_equal(image->file.status, WIRE_image_status_SLOW);
	file_system_answers(true);
	wait_for_ready(OPENERS_OF_USER_MAX);
	assert_true(image_store_open(images, image));
	wait_for_ready(1);
	assert_int_equal(image->file.status, WIRE_image_status_OPEN);
}

/* A slow map costs one thread, however often requested, until the file system answers. */
static void test_a_slow_map_is_opened_later(void **state)
{
	struct stored_image *image;

	file_system_answers(false);
	image = add_map(5, HANGS);
	wait_for_ready(1);
	assert_int_equal(image->file.status, WIRE_image_status_SLOW);
	for (int i = 0; i < 100; i++)
		assert_false(image_store_open(images, image));
	wait_for_hanging(1);
	file_system_answers(true);
	wait_for_ready(1); /* process found, but without a map */
	assert_int_equal(image->file.status, WIRE_image_status_GONE);
	file_system_answers(false);
	assert_true(image_store_open(images, image));
	wait_for_ready(1);
	assert_int_equal(image->file.status, WIRE_image_status_SLOW);
	assert_false(image_store_open(images, image));
	file_system_answers(true);
	wait_for_ready(1);
	assert_int_equal(image->file.status, WIRE_image_status_OPEN);
	assert_false(image_store_open(images, image));
	assert_int_equal(images->roots.n, 1);
	assert_int_equal(images->n_open, 1);
}

static int next_descriptor(void)
{
	int fd = open_something();

	close(fd);
	return fd;
}

static void test_forgotten_images_close_even_while_opening(void **state)
{
	struct stored_image *slow, *image = add_map(1, 1), *file = add_file(2);
	int before;

	wait_for_ready(2);
	assert_int_equal(images->roots.n, 1);
	assert_true(image_store_open(images, image));
	wait_for_ready(1);
	assert_int_equal(image->file.status, WIRE_image_status_OPEN);
	image_store_forget(images, image);
	image_store_forget(images, file);
	assert_null(image_store_find(images, 1));
	assert_int_equal(images->n_open + images->roots.n, 0);
	before = next_descriptor();
	file_system_answers(false);
	image = add_map(3, 1);
	slow = add_map(4, HANGS);
	wait_for_ready(2);
	image_store_forget(images, slow); /* a thread still uses it */
	assert_null(image_store_find(images, 4));
	file_system_answers(true);
	wait_for_late();
	assert_int_equal(n_ready, 0);
	assert_true(image_store_open(images, image));
	image_store_forget(images, image); /* a client may wait for it */
	assert_ptr_equal(image_store_find(images, 3), image);
	wait_for_ready(1);
	assert_int_equal(last_ready, 3);
	assert_null(image_store_find(images, 3));
	assert_int_equal(images->n_open + images->roots.n, 0);
	assert_int_equal(next_descriptor(), before);
}

static void test_the_number_of_open_roots_is_limited(void **state)
{
	/* One at a time, because threads may finish in any order. */
	for (uint64_t number = 1; number <= ROOTS; number++) {
		add_map(number, 1);
		wait_for_ready(1);
	}
	assert_int_equal(images->roots.n, ROOTS);
	/* Opening map 1 makes it the most recently used, so map 2 has to make room. */
	assert_true(image_store_open(images, image_store_find(images, 1)));
	wait_for_ready(1);
	add_map(ROOTS + 1, 1);
	wait_for_ready(1);
	assert_int_equal(images->roots.n, ROOTS);
	assert_int_equal(image_store_find(images, 1)->file.status, WIRE_image_status_OPEN);
	assert_int_equal(image_store_find(images, 2)->file.status, WIRE_image_status_REFUSED);
	assert_false(image_store_open(images, image_store_find(images, 2)));
	assert_int_equal(image_store_find(images, 3)->file.status, WIRE_image_status_GONE);
	assert_true(image_store_open(images, image_store_find(images, 3)));
	wait_for_ready(1);
	assert_int_equal(image_store_find(images, 3)->file.status, WIRE_image_status_OPEN);
}

/* The map is closed to make room and reopened below the root that is kept. */
static void test_a_map_that_was_closed_is_opened_again(void **state)
{
	struct stored_image *map = add_map(1, 1);

	wait_for_ready(1);
	image_store_open(images, map);
	wait_for_ready(1);
	assert_true(map->file.fd >= 0);
	for (uint64_t number = 2; number < 2 + DESCRIPTORS; number++)
		add_file(number);
	wait_for_ready(DESCRIPTORS);
	assert_int_equal(images->n_open, DESCRIPTORS - ROOTS);
	assert_int_equal(map->file.fd, -1);
	assert_int_equal(map->file.status, WIRE_image_status_GONE);
	assert_true(image_store_open(images, map));
	wait_for_ready(1);
	assert_int_equal(map->file.status, WIRE_image_status_OPEN);
}

/* Live processes, because map_is_of_other() looks for them. */
static void check_shared(uint32_t writer, enum wire_image_status of_first,
			 enum wire_image_status of_second)
{
	struct stored_image *first = add_map(1, getpid()), *second = add_map(2, 1);

	shared_map.inode = 5;
	shared_map.writer = writer;
	wait_for_ready(2);
	assert_true(image_store_open(images, first));
	wait_for_ready(1);
	assert_int_equal(first->file.status, WIRE_image_status_OPEN);
	assert_true(image_store_open(images, second));
	wait_for_ready(1);
	shared_map.inode = 0;
	assert_int_equal(first->file.status, of_first);
	assert_int_equal(second->file.status, of_second);
	assert_int_equal(images->n_open, (of_first == WIRE_image_status_OPEN) +
						 (of_second == WIRE_image_status_OPEN));
	image_store_forget(images, first);
	image_store_forget(images, second);
}

static void test_a_shared_map_belongs_to_its_writer(void **state)
{
	check_shared(getpid(), WIRE_image_status_OPEN, WIRE_image_status_STALE);
	check_shared(1, WIRE_image_status_STALE, WIRE_image_status_OPEN);
	check_shared(0, WIRE_image_status_STALE, WIRE_image_status_STALE);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup(function, set_up)
	const struct CMUnitTest tests[] = {
		TEST(test_a_slow_file_is_opened_later),
		TEST(test_untried_images_are_opened_on_request),
		TEST(test_a_slow_map_is_opened_later),
		TEST(test_forgotten_images_close_even_while_opening),
		TEST(test_the_number_of_open_roots_is_limited),
		TEST(test_a_map_that_was_closed_is_opened_again),
		TEST(test_a_shared_map_belongs_to_its_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
