/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/long-name.h"
#include "profile/names/names.h"

static struct names names;
static struct identity identity;

static int set_up(void **state)
{
	names_init(&names);
	identity = (struct identity){ 0 };
	return 0;
}

static int tear_down(void **state)
{
	names_deinit(&names);
	identity_deinit(&identity);
	return 0;
}

static uint32_t intern(const char *text)
{
	return names_intern(&names, text, strlen(text));
}

static void test_each_text_is_kept_once(void **state)
{
	uint32_t first = intern("main");

	assert_int_not_equal(first, 0);
	assert_int_equal(intern("main"), first);
	assert_int_not_equal(intern("mai"), first);
	assert_int_not_equal(intern("main2"), first);
	assert_int_equal(names_intern(&names, "main2", 4), first); /* the size limits the name */
	assert_string_equal(names_text(&names, first), "main");
	assert_int_equal(intern(""), intern(""));
	for (int i = 0; i < 5000; i++) {
		char text[16];

		snprintf(text, sizeof(text), "name%d", i);
		intern(text);
	}
	assert_int_equal(intern("main"), first);
	assert_string_equal(names_text(&names, first), "main");
}

static void test_a_text_is_clean_and_bounded(void **state)
{
	char text[2 * NAME_SIZE_MAX];
	uint32_t name = intern("a\033[31m\n\xff;b");

	assert_string_equal(names_text(&names, name), "a\\u{1b}[31m\\u{a}\\x{ff};b");
	memset(text, 'x', sizeof(text));
	name = names_intern(&names, text, sizeof(text));
	assert_int_equal(strlen(names_text(&names, name)), LONG_NAME_MAX);
	text[sizeof(text) - 1] = 'y'; /* past the cut */
	assert_int_not_equal(names_intern(&names, text, sizeof(text)), name);
	assert_int_equal(names_intern(&names, "a\0b", 3), intern("a\\u{0}b"));
}

static void test_name_0_means_too_many_names(void **state)
{
	assert_string_equal(names_text(&names, 0), "[too many names]");
}

static void add_symbol(uint64_t image, uint64_t offset, const char *name, const char *module)
{
	struct wire_symbol symbol = {
		.image = image,
		.offset = offset,
		.start = offset & -16,
		.size = 32,
		.name = wire_string(name, 4096),
		.module = wire_string(module, 255),
	};

	assert_true(names_add_symbol(&names, &identity, &symbol) >= 0);
}

static void test_a_place_has_the_name_that_was_written_last(void **state)
{
	const struct named_place *place;

	add_symbol(3, 0x1234, "other", "module");
	add_symbol(3, 0x1234, "function", "");
	add_symbol(1, 0x1234, "kernel", "nf_tables");
	add_symbol(3, 0x5678, "", "");
	place = names_find_place(&names, 3, 0x1234);
	assert_string_equal(names_text(&names, place->name), "function");
	assert_int_equal(place->module, 0);
	assert_int_equal(place->start, 0x1230);
	assert_int_equal(place->size, 32);
	place = names_find_place(&names, 1, 0x1234);
	assert_string_equal(names_text(&names, place->module), "nf_tables");
	assert_int_equal(names_find_place(&names, 3, 0x5678)->name, 0);
	assert_null(names_find_place(&names, 3, 0x1235));
	assert_null(names_find_place(&names, 0x1234, 3));
	for (uint64_t i = 0; i < 5000; i++)
		add_symbol(9, i, "many", "");
	assert_string_equal(names_text(&names, names_find_place(&names, 3, 0x1234)->name),
			    "function");
}

static void test_a_replaced_name_is_reported(void **state)
{
	struct wire_symbol symbol = { .image = 1,
				      .offset = 0x1234,
				      .start = 0x1230,
				      .size = 32,
				      .name = wire_string("first", 4096),
				      .module = wire_string("bpf", 255) };

	assert_int_equal(names_add_symbol(&names, &identity, &symbol), 0);
	assert_int_equal(names_add_symbol(&names, &identity, &symbol), 0); /* unchanged */
	symbol.name = wire_string("second", 4096);
	assert_int_equal(names_add_symbol(&names, &identity, &symbol), NAMES_REPLACED);
	assert_int_equal(names_add_symbol(&names, &identity, &symbol), 0);
	symbol.module = wire_string("", 255);
	assert_int_equal(names_add_symbol(&names, &identity, &symbol), NAMES_REPLACED);
	symbol.size = 16;
	assert_int_equal(names_add_symbol(&names, &identity, &symbol), NAMES_REPLACED);
	symbol.start = 0x1234;
	assert_int_equal(names_add_symbol(&names, &identity, &symbol), NAMES_REPLACED);
	symbol.name = wire_string("", 4096);
	assert_int_equal(names_add_symbol(&names, &identity, &symbol), NAMES_REPLACED);
	assert_int_equal(names_find_place(&names, 1, 0x1234)->name, 0);
	assert_int_equal(names.n_places, 1);
}

static void add_image(uint64_t number, enum wire_image_kind kind, const char *path)
{
	struct wire_image image = { .image = number,
				    .kind = kind,
				    .path = wire_string(path, 4096) };

	assert_int_equal(image_table_add(&identity.images, &image), 0);
}

static void map(uint64_t process, uint64_t start, uint64_t image)
{
	struct wire_mapping mapping = { .process = process,
					.start = start,
					.length = 0x1000,
					.offset = 0x400,
					.image = image };

	assert_int_equal(process_table_map(&identity.processes, &mapping), 0);
}

static void add_process(uint64_t number, const char *name)
{
	struct wire_process process = { .process = number,
					.pid = 77,
					.name = wire_string(name, 64) };

	assert_int_equal(process_table_add(&identity.processes, &process), 0);
}

static struct frame_name last; /* the last frame named */
static uint64_t now;	       /* the time of its stack */

static const char *frame_name(uint64_t process, uint64_t address, uint32_t flags)
{
	struct wire_frame frame = { .address = address, .flags = flags };
	struct process *of = process_table_find(&identity.processes, process);

	last = names_of_frame(&names, &identity, of, &frame, now);
	return names_text(&names, last.name);
}

static void test_a_frame_is_named_by_the_best_known_name(void **state)
{
	add_process(1, "comm");
	add_image(1, WIRE_image_kind_KERNEL, "[kernel]");
	add_image(2, WIRE_image_kind_VDSO, "[vdso]");
	add_image(3, WIRE_image_kind_FILE, "/usr/lib/libc.so.6");
	add_image(4, WIRE_image_kind_ANONYMOUS, "//anon");
	map(1, 0x10000, 3);
	map(1, 0x20000, 4);
	map(1, 0x30000, 2);
	map(1, 0x40000, 99); /* no record of this image */
	map(0, 0xffffffff81000000, 1);
	add_symbol(3, 0x410, "malloc", "");
	add_symbol(3, 0x420, "", "");
	assert_string_equal(frame_name(1, 0x10010, WIRE_frame_flags_EXACT), "malloc");
	assert_string_equal(frame_name(1, 0x10011, 0), "malloc");
	assert_string_equal(frame_name(1, 0x10021, 0), "[libc.so.6+0x420]");
	assert_true(last.is_final); /* the symbolizer reported that there is no name */
	assert_string_equal(frame_name(1, 0x10100, WIRE_frame_flags_EXACT), "[libc.so.6+0x500]");
	assert_false(last.is_final); /* the symbolizer may still report one */
	add_symbol(3, 0x420, "loaded", "");
	assert_string_equal(frame_name(1, 0x10021, 0), "loaded");
	add_symbol(3, 0x420, "", "");
	assert_string_equal(frame_name(1, 0x10021, 0), "[libc.so.6+0x420]");
	assert_string_equal(frame_name(1, 0x20100, 0), "[unknown]_[j]");
	assert_true(last.is_final); /* code that appears there is reported with NAMES_REPLACED */
	assert_string_equal(frame_name(1, 0x30101, 0), "[vdso+0x500]");
	assert_string_equal(frame_name(1, 0x40100, 0), "[unknown]");
	assert_string_equal(frame_name(1, 0x90000, 0), "[unknown]");
	assert_string_equal(frame_name(9, 0x10010, 0), "[unknown]");
	assert_string_equal(frame_name(9, 0xffffffff81000101, WIRE_frame_flags_KERNEL),
			    "[kernel+0x500]");
}

static void test_a_hostile_path_makes_a_clean_bounded_name(void **state)
{
	char path[4097];

	memset(path, 'p', sizeof(path));
	memcpy(path, "/x\n", 3);
	path[4096] = 0;
	add_process(1, "comm");
	add_image(3, WIRE_image_kind_FILE, path);
	add_image(4, WIRE_image_kind_FILE, "");
	add_image(5, WIRE_image_kind_FILE, "/dir/");
	add_image(6, WIRE_image_kind_FILE, "[");
	map(1, 0x10000, 3);
	map(1, 0x20000, 4);
	map(1, 0x30000, 5);
	map(1, 0x40000, 6);
	assert_memory_equal(frame_name(1, 0x10001, 0), "[x\\u{", 5);
	assert_true(strlen(frame_name(1, 0x10001, 0)) < 512);
	assert_non_null(strstr(frame_name(1, 0x10001, 0), "+0x400]"));
	assert_string_equal(frame_name(1, 0x20001, 0), "[+0x400]");
	assert_string_equal(frame_name(1, 0x30001, 0), "[+0x400]");
	assert_string_equal(frame_name(1, 0x40001, 0), "[+0x400]");
}

static const char *thread_name(uint64_t process, uint32_t tid)
{
	return names_text(&names,
			  names_of_thread(&names, process_table_find(&identity.processes, process),
					  process, tid));
}

static void test_a_thread_has_its_own_name_or_its_processs(void **state)
{
	struct wire_thread thread = { .process = 1, .tid = 78, .name = wire_string("worker", 64) };

	add_process(1, "comm");
	add_process(2, "");
	assert_int_equal(names_add_thread(&names, &thread), 0);
	assert_string_equal(thread_name(1, 78), "worker");
	assert_string_equal(thread_name(1, 77), "comm");
	assert_string_equal(thread_name(2, 78), "[unknown]");
	assert_string_equal(thread_name(9, 78), "[unknown]");
	thread.name = wire_string("renamed", 64);
	assert_int_equal(names_add_thread(&names, &thread), 0);
	assert_string_equal(thread_name(1, 78), "renamed");
}

static const char *marked_name(uint64_t address, uint32_t flags)
{
	frame_name(1, address, flags);
	return names_text(&names, last.label);
}

static void test_kernel_and_jit_names_have_marks(void **state)
{
	add_process(1, "comm");
	add_image(1, WIRE_image_kind_KERNEL, "[kernel]");
	add_image(3, WIRE_image_kind_FILE, "/usr/lib/libc.so.6");
	add_image(4, WIRE_image_kind_ANONYMOUS, "//anon");
	map(1, 0x10000, 3);
	map(1, 0x20000, 4);
	map(0, 0xffffffff81000000, 1);
	add_symbol(1, 0x410, "schedule", "");
	add_symbol(3, 0x410, "malloc", "");
	assert_string_equal(marked_name(0xffffffff81000011, WIRE_frame_flags_KERNEL),
			    "schedule_[k]");
	assert_string_equal(marked_name(0xffffffff91000011, WIRE_frame_flags_KERNEL),
			    "[unknown]_[k]");
	assert_string_equal(marked_name(0x10011, 0), "malloc");
	assert_string_equal(marked_name(0x20011, 0), "[unknown]_[j]");
	assert_string_equal(marked_name(0x30011, 0), "[unknown]"); /* what is there is unknown */
}

static void test_inlined_calls_follow_their_function(void **state)
{
	struct wire_inlined inlined = { .image = 3, .offset = 0x410 };
	const uint32_t *list;
	size_t n;

	add_process(1, "comm");
	add_image(3, WIRE_image_kind_FILE, "/usr/lib/libc.so.6");
	map(1, 0x10000, 3);
	inlined.name = wire_string("innermost", 64);
	assert_int_equal(names_add_inlined(&names, &inlined), 0);
	inlined.name = wire_string("middle", 64);
	assert_int_equal(names_add_inlined(&names, &inlined), 0);
	add_symbol(3, 0x410, "outer", "");
	assert_string_equal(frame_name(1, 0x10011, 0), "outer");
	list = names_of_label(&names, &last.label, &n);
	assert_int_equal(n, 3);
	assert_string_equal(names_text(&names, list[0]), "outer");
	assert_string_equal(names_text(&names, list[1]), "middle_[i]");
	assert_string_equal(names_text(&names, list[2]), "innermost_[i]");
	add_symbol(3, 0x420, "other", "");
	frame_name(1, 0x10021, 0);
	list = names_of_label(&names, &last.label, &n);
	assert_int_equal(n, 1);
	assert_int_equal(list[0], last.name);
}

/* The label of the JIT code at 0x20011 for a stack of that time. */
static uint32_t label_at(uint64_t time)
{
	now = time;
	frame_name(1, 0x20011, 0);
	return last.label;
}

static int name_since(uint64_t since, const char *name)
{
	struct wire_symbol symbol = {
		.image = 4,
		.offset = 0x410,
		.since = since,
		.name = wire_string(name, 64),
	};

	return names_add_symbol(&names, &identity, &symbol);
}

static void test_jit_code_has_the_name_at_the_stacks_time(void **state)
{
	uint32_t early, late, later;

	add_process(1, "comm");
	add_image(4, WIRE_image_kind_ANONYMOUS, "//anon");
	map(1, 0x20000, 4);
	assert_int_equal(name_since(10, "first"), 0);
	early = label_at(10);
	assert_string_equal(names_text(&names, early), "first_[j]");
	assert_int_equal(label_at(11), early);
	assert_int_equal(name_since(12, "second"), NAMES_REPLACED);
	late = label_at(12);
	assert_int_not_equal(late, early);
	assert_string_equal(names_text(&names, late), "second_[j]");
	assert_string_equal(names_text(&names, early), "first_[j]");
	assert_int_equal(name_since(12, "third"), 0); /* corrects the name from the same time on */
	later = label_at(13);
	assert_int_equal(later, late);
	assert_string_equal(names_text(&names, late), "third_[j]");
	assert_int_equal(name_since(12, ""), 0); /* unknown */
	assert_string_equal(names_text(&names, late), "[unknown]_[j]");
	assert_string_equal(names_text(&names, early), "first_[j]");
}

/* The caller found by an unproved frame pointer is a guess. */
static void test_an_unproved_frame_is_marked(void **state)
{
	uint32_t proved, unproved;

	add_process(1, "comm");
	add_image(4, WIRE_image_kind_ANONYMOUS, "//anon");
	map(1, 0x20000, 4);
	proved = label_at(10);
	frame_name(1, 0x20011, WIRE_frame_flags_FRAME_POINTER);
	unproved = last.label;
	assert_string_equal(names_text(&names, unproved), "[unknown]_[f]_[j]");
	assert_int_equal(name_since(1, "late"), 0);
	assert_string_equal(names_text(&names, unproved), "late_[f]_[j]");
	assert_string_equal(
		names_text(&names, names_plain(&names, names_meaning(&names, unproved))),
		"late_[f]");
	assert_string_equal(names_text(&names, proved), "late_[j]");
	frame_name(1, 0x90011, WIRE_frame_flags_FRAME_POINTER); /* in no mapping */
	assert_string_equal(names_text(&names, last.label), "[unknown]_[f]");
}

static void test_late_jit_names_apply_to_earlier_samples(void **state)
{
	uint32_t unnamed;

	add_process(1, "comm");
	add_image(4, WIRE_image_kind_ANONYMOUS, "//anon");
	map(1, 0x20000, 4);
	unnamed = label_at(10);
	assert_string_equal(names_text(&names, unnamed), "[unknown]_[j]");
	assert_true(names_is_provisional(&names, unnamed));
	assert_int_equal(name_since(10, "late"), 0);
	assert_string_equal(names_text(&names, unnamed), "late_[j]");
	assert_int_equal(names_meaning(&names, unnamed), intern("late_[j]"));
	assert_int_equal(label_at(20), unnamed);
	assert_false(names_is_provisional(&names, intern("late_[j]")));
}

static void test_the_longest_name_is_marked_too(void **state)
{
	char text[NAME_SIZE_MAX];
	const char *marked;

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	add_image(1, WIRE_image_kind_KERNEL, "[kernel]");
	map(0, 0xffffffff81000000, 1);
	add_symbol(1, 0x410, text, "");
	marked = marked_name(0xffffffff81000011, WIRE_frame_flags_KERNEL);
	assert_int_equal(strlen(marked), LONG_NAME_MAX + 4);
	assert_string_equal(marked + strlen(marked) - 4, "_[k]");
}

static void test_locations_of_ended_images_make_room(void **state)
{
	enum { LIVING = 7, ENDED = 8, N = PAIR_MAP_PRUNED_MIN };
	size_t n_places;

	add_image(LIVING, WIRE_image_kind_FILE, "/living");
	add_image(ENDED, WIRE_image_kind_FILE, "/ended");
	for (uint64_t i = 0; i < N; i++)
		add_symbol(i % 2 ? LIVING : ENDED, i, i % 2 ? "living" : "ended", "");
	image_table_exit(&identity.images, &(struct wire_image_exit){ ENDED, 0 });
	names_forget_ended(&names, &identity);
	assert_int_equal(names.places.n, N); /* too few for a look */
	add_symbol(LIVING, N, "living", "");
	names_forget_ended(&names, &identity);
	assert_int_equal(names.places.n, N / 2 + 1);
	assert_null(names_find_place(&names, ENDED, 2));
	n_places = names.n_places;
	for (uint64_t i = 0; i < N / 2; i++)
		add_symbol(9, i, "new", "");
	assert_int_equal(names.n_places, n_places); /* reuses their entries */
	for (uint64_t i = 1; i < N; i += 2) {
		uint32_t name = names_find_place(&names, LIVING, i)->name;

		assert_string_equal(names_text(&names, name), "living");
	}
	add_symbol(9, N, "more", "");
	assert_int_equal(names.n_places, n_places + 1);
}

static void test_threads_of_ended_processes_make_room(void **state)
{
	struct wire_thread thread = { .process = 2, .name = wire_string("thread", 15) };

	add_process(1, "living");
	for (thread.tid = 0; thread.tid <= PAIR_MAP_PRUNED_MIN; thread.tid++) {
		thread.process = thread.tid % 2 + 1;
		assert_int_equal(names_add_thread(&names, &thread), 0);
	}
	names_forget_ended(&names, &identity);
	assert_int_equal(names.threads.n, PAIR_MAP_PRUNED_MIN / 2 + 1);
	assert_non_null(pair_map_find(&names.threads, 1, 2));
	assert_null(pair_map_find(&names.threads, 2, 1));
}

static uint32_t jit_label(uint64_t process, uint64_t address)
{
	frame_name(process, address, 0);
	return last.label;
}

static void test_jit_code_of_ended_images_makes_room(void **state)
{
	enum { LIVING = 7, ENDED = 8, NEXT = 9, N = PAIR_MAP_PRUNED_MIN };
	uint32_t first;
	size_t n;

	add_process(1, "living");
	add_image(LIVING, WIRE_image_kind_ANONYMOUS, "//anon");
	add_image(ENDED, WIRE_image_kind_ANONYMOUS, "//anon");
	map(1, 0x10000, LIVING);
	first = jit_label(1, 0x10010);
	for (uint64_t i = 0; i < N; i++)
		timed_places_get(&names.timed, ENDED, i);
	image_table_exit(&identity.images, &(struct wire_image_exit){ ENDED, 0 });
	names_forget_ended(&names, &identity);
	assert_int_equal(names.timed.by_place.n, 1);
	n = names.timed.n;
	assert_int_equal(n, N + 1);
	for (uint64_t i = 0; i < N; i++)
		assert_int_equal(timed_places_get(&names.timed, NEXT, i)->names[0].provisional, 0);
	assert_int_equal(names.timed.n, n); /* reuses their entries */
	assert_int_equal(jit_label(1, 0x10010), first);
	timed_places_get(&names.timed, NEXT, N);
	assert_int_equal(names.timed.n, n + 1);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_each_text_is_kept_once),
		TEST(test_a_text_is_clean_and_bounded),
		TEST(test_name_0_means_too_many_names),
		TEST(test_a_place_has_the_name_that_was_written_last),
		TEST(test_a_replaced_name_is_reported),
		TEST(test_a_frame_is_named_by_the_best_known_name),
		TEST(test_a_hostile_path_makes_a_clean_bounded_name),
		TEST(test_a_thread_has_its_own_name_or_its_processs),
		TEST(test_kernel_and_jit_names_have_marks),
		TEST(test_inlined_calls_follow_their_function),
		TEST(test_jit_code_has_the_name_at_the_stacks_time),
		TEST(test_an_unproved_frame_is_marked),
		TEST(test_late_jit_names_apply_to_earlier_samples),
		TEST(test_the_longest_name_is_marked_too),
		TEST(test_locations_of_ended_images_make_room),
		TEST(test_threads_of_ended_processes_make_room),
		TEST(test_jit_code_of_ended_images_makes_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
