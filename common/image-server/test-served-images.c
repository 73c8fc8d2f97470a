/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files and maps that are opened by nobody (common/image-server/test-hanging.h). */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/image-server/served-images.h"
#include "common/image-server/test-hanging.h"

enum { DESCRIPTORS = 16, ROOTS = DESCRIPTORS / SERVED_IMAGES_ROOTS_PART };

static struct served_images *images; /* never freed, as their threads stay */
static uint64_t last_ready;
static size_t n_ready;

static void note_ready(struct served_image *image, void *arg)
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
	return images ? served_images_init(images, DESCRIPTORS, note_ready, &n_ready) : -1;
}

static void wait_for_ready(size_t n)
{
	struct pollfd done = { images->openers.done_fds[0], POLLIN, 0 };

	while (n_ready < n) {
		poll(&done, 1, 10);
		served_images_take_done(images);
		served_images_give_up_slow(images);
	}
	assert_int_equal(n_ready, n);
	n_ready = 0;
}

/* Until somebody who was given up has come back. */
static void wait_for_late(void)
{
	struct pollfd done = { images->openers.done_fds[0], POLLIN, 0 };

	assert_int_equal(poll(&done, 1, 20000), 1);
	served_images_take_done(images);
}

static struct served_image *add_file(uint64_t number)
{
	const struct wire_image_open request = { .image = number, .path = wire_string("/x", 9) };

	return served_images_add_file(images, &request);
}

static struct served_image *add_map(uint64_t number, uint32_t pid)
{
	return served_images_add_map(images, &(struct wire_map_open){ number, pid });
}

/* Perf-source, who was told that it is slow, is told of it once more. */
static void test_a_file_that_is_slow_is_there_later(void **state)
{
	struct served_image *image;

	file_system_answers(false);
	image = add_file(HANGS);
	wait_for_ready(1);
	assert_int_equal(last_ready, HANGS);
	assert_int_equal(image->file.status, WIRE_image_status_SLOW);
	file_system_answers(true);
	image->is_told = true;
	wait_for_ready(1);
	assert_false(served_images_open(images, image));
	assert_int_equal(image->file.status, WIRE_image_status_OPEN);
	assert_false(image->is_told);
	assert_true(image->file.fd >= 0);
	assert_int_equal(images->n_open, 1);
}

/* Of a user who has all his threads stuck nothing is tried, until some are back. */
static void test_what_was_not_even_tried_is_tried_when_it_is_asked_for(void **state)
{
	struct served_image *image;

	file_system_answers(false);
	for (uint64_t i = 0; i < OPENERS_OF_USER_MAX; i++)
		add_file(HANGS + i);
	wait_for_ready(OPENERS_OF_USER_MAX);
	image = add_file(1);
	wait_for_ready(1);
	assert_int_equal(image->file.status, WIRE_image_status_SLOW);
	assert_true(served_images_open(images, image));
	wait_for_ready(1);
	assert_int_equal(image->file.status, WIRE_image_status_SLOW);
	file_system_answers(true);
	wait_for_ready(OPENERS_OF_USER_MAX);
	assert_true(served_images_open(images, image));
	wait_for_ready(1);
	assert_int_equal(image->file.status, WIRE_image_status_OPEN);
}

/* It costs one thread, however often it is asked for, and is there when the file system answers. */
static void test_a_map_that_is_slow_is_there_later(void **state)
{
	struct served_image *image;

	file_system_answers(false);
	image = add_map(5, HANGS);
	wait_for_ready(1);
	assert_int_equal(image->file.status, WIRE_image_status_SLOW);
	for (int i = 0; i < 100; i++)
		assert_false(served_images_open(images, image));
	wait_for_hanging(1);
	file_system_answers(true);
	wait_for_ready(1); /* it was found, without a map */
	assert_int_equal(image->file.status, WIRE_image_status_GONE);
	file_system_answers(false);
	assert_true(served_images_open(images, image));
	wait_for_ready(1);
	assert_int_equal(image->file.status, WIRE_image_status_SLOW);
	assert_false(served_images_open(images, image));
	file_system_answers(true);
	wait_for_ready(1);
	assert_int_equal(image->file.status, WIRE_image_status_OPEN);
	assert_false(served_images_open(images, image));
	assert_int_equal(images->roots.n, 1);
	assert_int_equal(images->n_open, 1);
}

static int next_descriptor(void)
{
	int fd = open_something();

	close(fd);
	return fd;
}

static void test_what_is_forgotten_is_closed_even_while_it_is_opened(void **state)
{
	struct served_image *slow, *image = add_map(1, 1), *file = add_file(2);
	int before;

	wait_for_ready(2);
	assert_int_equal(images->roots.n, 1);
	assert_true(served_images_open(images, image));
	wait_for_ready(1);
	assert_int_equal(image->file.status, WIRE_image_status_OPEN);
	served_images_forget(images, image);
	served_images_forget(images, file);
	assert_null(served_images_find(images, 1));
	assert_int_equal(images->n_open + images->roots.n, 0);
	before = next_descriptor();
	file_system_answers(false);
	image = add_map(3, 1);
	slow = add_map(4, HANGS);
	wait_for_ready(2);
	served_images_forget(images, slow); /* a thread still has it */
	assert_null(served_images_find(images, 4));
	file_system_answers(true);
	wait_for_late();
	assert_int_equal(n_ready, 0);
	assert_true(served_images_open(images, image));
	served_images_forget(images, image); /* somebody may wait for it */
	assert_ptr_equal(served_images_find(images, 3), image);
	wait_for_ready(1);
	assert_int_equal(last_ready, 3);
	assert_null(served_images_find(images, 3));
	assert_int_equal(images->n_open + images->roots.n, 0);
	assert_int_equal(next_descriptor(), before);
}

static void test_there_are_only_so_many_roots(void **state)
{
	/* One after the other: threads that open them may be done in any order. */
	for (uint64_t number = 1; number <= ROOTS; number++) {
		add_map(number, 1);
		wait_for_ready(1);
	}
	assert_int_equal(images->roots.n, ROOTS);
	/* The first is looked for, and found; the second has to make room then. */
	assert_true(served_images_open(images, served_images_find(images, 1)));
	wait_for_ready(1);
	add_map(ROOTS + 1, 1);
	wait_for_ready(1);
	assert_int_equal(images->roots.n, ROOTS);
	assert_int_equal(served_images_find(images, 1)->file.status, WIRE_image_status_OPEN);
	assert_int_equal(served_images_find(images, 2)->file.status, WIRE_image_status_REFUSED);
	assert_false(served_images_open(images, served_images_find(images, 2)));
	assert_int_equal(served_images_find(images, 3)->file.status, WIRE_image_status_GONE);
	assert_true(served_images_open(images, served_images_find(images, 3)));
	wait_for_ready(1);
	assert_int_equal(served_images_find(images, 3)->file.status, WIRE_image_status_OPEN);
}

/* What it has is closed to make room for others, and found again below the root that is kept. */
static void test_a_map_that_was_closed_is_opened_again(void **state)
{
	struct served_image *map = add_map(1, 1);

	wait_for_ready(1);
	served_images_open(images, map);
	wait_for_ready(1);
	assert_true(map->file.fd >= 0);
	for (uint64_t number = 2; number < 2 + DESCRIPTORS; number++)
		add_file(number);
	wait_for_ready(DESCRIPTORS);
	assert_int_equal(images->n_open, DESCRIPTORS - ROOTS);
	assert_int_equal(map->file.fd, -1);
	assert_int_equal(map->file.status, WIRE_image_status_GONE);
	assert_true(served_images_open(images, map));
	wait_for_ready(1);
	assert_int_equal(map->file.status, WIRE_image_status_OPEN);
}

/* The processes live: map_is_of_other() looks for them. */
static void check_shared(uint32_t writer, enum wire_image_status of_first,
			 enum wire_image_status of_second)
{
	struct served_image *first = add_map(1, getpid()), *second = add_map(2, 1);

	shared_map.inode = 5;
	shared_map.writer = writer;
	wait_for_ready(2);
	assert_true(served_images_open(images, first));
	wait_for_ready(1);
	assert_int_equal(first->file.status, WIRE_image_status_OPEN);
	assert_true(served_images_open(images, second));
	wait_for_ready(1);
	shared_map.inode = 0;
	assert_int_equal(first->file.status, of_first);
	assert_int_equal(second->file.status, of_second);
	assert_int_equal(images->n_open, (of_first == WIRE_image_status_OPEN) +
						 (of_second == WIRE_image_status_OPEN));
	served_images_forget(images, first);
	served_images_forget(images, second);
}

static void test_a_map_that_two_find_is_of_who_writes_it(void **state)
{
	check_shared(getpid(), WIRE_image_status_OPEN, WIRE_image_status_STALE);
	check_shared(1, WIRE_image_status_STALE, WIRE_image_status_OPEN);
	check_shared(0, WIRE_image_status_STALE, WIRE_image_status_STALE);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup(function, set_up)
	const struct CMUnitTest tests[] = {
		TEST(test_a_file_that_is_slow_is_there_later),
		TEST(test_what_was_not_even_tried_is_tried_when_it_is_asked_for),
		TEST(test_a_map_that_is_slow_is_there_later),
		TEST(test_what_is_forgotten_is_closed_even_while_it_is_opened),
		TEST(test_there_are_only_so_many_roots),
		TEST(test_a_map_that_was_closed_is_opened_again),
		TEST(test_a_map_that_two_find_is_of_who_writes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
