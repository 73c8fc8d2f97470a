/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/image-server/image-message.h"
#include "common/proc/proc.h"
#include "common/source/images.h"
#include "common/stage/test-stream.h"

static struct test_stream stream;
static struct images images;
static int server; /* the image server's end */

static int set_up(void **state)
{
	int pair[2];

	test_stream_init(&stream);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	server = pair[1];
	images_init(&images, &stream.stage, pair[0]);
	return 0;
}

static int tear_down(void **state)
{
	images_deinit(&images);
	close(server);
	test_stream_deinit(&stream);
	return 0;
}

static struct image_source file(const char *path, uint64_t inode, uint64_t generation)
{
	return (struct image_source){ 77, 0x1000, 0x2000, 0, 8, 1, inode, generation, path };
}

static uint64_t find(const struct image_source *source, uint32_t *ret_flags)
{
	uint32_t flags;
	uint64_t image;

	assert_int_equal(images_find(&images, source, &image, ret_flags ? ret_flags : &flags), 0);
	return image;
}

static uint64_t find_file(const char *path, uint64_t inode, uint64_t generation)
{
	struct image_source source = file(path, inode, generation);

	return find(&source, NULL);
}

static void test_the_same_file_is_the_same_image(void **state)
{
	uint64_t first = find_file("/bin/a", 5, 9);

	assert_int_equal(find_file("/bin/a", 5, 9), first);
	assert_string_equal(test_stream_text(&stream), "image 3 file '/bin/a'\n");
}

static void test_any_difference_makes_another_image(void **state)
{
	struct image_source source = file("/bin/a", 5, 9);
	uint64_t first = find(&source, NULL);

	assert_int_not_equal(find_file("/bin/a", 6, 9), first);
	assert_int_not_equal(find_file("/bin/b", 5, 9), first);
	source.major = 9;
	assert_int_not_equal(find(&source, NULL), first);
	source = file("/bin/a", 5, 9);
	source.minor = 9;
	assert_int_not_equal(find(&source, NULL), first);
	assert_int_equal(find_file("/bin/a", 5, 9), first);
	/* The encoding must be unambiguous: device 8:1 inode 51 and device 8:15 inode 1 differ. */
	source = file("/x", 51, 0);
	first = find(&source, NULL);
	source.minor = 0x15;
	source.inode = 1;
	assert_int_not_equal(find(&source, NULL), first);
}

static void test_an_inode_used_again_is_another_image(void **state)
{
	uint64_t first = find_file("/bin/a", 5, 9), second = find_file("/bin/a", 5, 10);

	assert_int_not_equal(second, first);
	assert_int_equal(find_file("/bin/a", 5, 10), second);
	assert_int_equal(find_file("/bin/a", 5, 0), second); /* /proc/PID/maps has no generation */
}

static void test_a_late_generation_keeps_the_image(void **state)
{
	uint64_t first = find_file("/bin/a", 5, 0);

	assert_int_equal(find_file("/bin/a", 5, 9), first);
	assert_int_not_equal(find_file("/bin/a", 5, 10), first);
}

static void test_a_deleted_file_is_the_same_image(void **state)
{
	uint32_t flags = 99;
	struct image_source source = file("/bin/a", 5, 9);
	uint64_t first = find(&source, &flags);

	assert_int_equal(flags, 0);
	source = file("/bin/a (deleted)", 5, 9);
	assert_int_equal(find(&source, &flags), first);
	assert_int_equal(flags, WIRE_mapping_flags_DELETED);
	source = file("/memfd:jit (deleted)", 6, 9);
	find(&source, &flags);
	assert_int_equal(flags, WIRE_mapping_flags_DELETED);
	source = file("/ (deleted)x", 7, 9);
	find(&source, &flags);
	assert_int_equal(flags, 0);
	assert_string_equal(test_stream_text(&stream), "image 3 file '/bin/a'\n"
						       "image 4 file '/memfd:jit'\n"
						       "image 5 file '/ (deleted)x'\n");
}

static void test_memory_without_a_file_is_anonymous(void **state)
{
	static const char *const paths[] = { "",
					     "//anon",
					     "[heap]",
					     "[anon:v8]",
					     "/dev/zero (deleted)",
					     "/SYSV00000000 (deleted)",
					     "/anon_hugepage (deleted)" };
	struct image_source source = file("/no/inode", 0, 0);
	uint64_t first, second;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct image_source anonymous = file(paths[i], 5, 9);

		assert_true(images_is_anonymous(&anonymous));
	}
	assert_true(images_is_anonymous(&source));
	source = file("/bin/a", 5, 0);
	assert_false(images_is_anonymous(&source));
	assert_int_equal(images_add_anonymous(&images, 77, 0, &first), 0);
	assert_int_equal(images_add_anonymous(&images, 77, 0, &second), 0);
	assert_int_not_equal(first, second);
}

static void test_a_recording_is_an_image_that_stays(void **state)
{
	struct stat status = { .st_size = 99, .st_mtim = { 2, 3 }, .st_ino = 5 };
	union wire_view view;
	uint64_t image;

	assert_int_equal(images_add_recording(&images, "/perf.data", &status, &image), 0);
	assert_int_equal(images_end_unused(&images, UINT64_MAX, 0), 0);
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_image);
	assert_int_equal(view.image.image, image);
	assert_int_equal(view.image.kind, WIRE_image_kind_RECORDING);
	assert_int_equal(view.image.inode, 5);
	assert_string_equal(view.image.path.data, "/perf.data");
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_image_state);
	assert_int_equal(view.image_state.image, image);
	assert_int_equal(view.image_state.status, WIRE_image_status_OPEN);
	assert_int_equal(view.image_state.size, 99);
	assert_int_equal(view.image_state.modified, 2000000003);
	assert_int_equal(test_stream_next(&stream, &view), 0);
	assert_true(find_file("/bin/a", 5, 9) > image);
}

static void test_anonymous_images_offer_their_perf_map(void **state)
{
	_Alignas(8) char record[128];
	struct wire_map_open request;
	uint64_t image, unknown;
	ssize_t size;

	assert_int_equal(images_add_anonymous(&images, 77, 0, &image), 0);
	size = recv(server, record, sizeof(record), MSG_DONTWAIT);
	assert_int_equal(wire_decode(wire_type(WIRE_RECORD_map_open), record, size, 0, &request),
			 WIRE_OK);
	assert_int_equal(request.image, image);
	assert_int_equal(request.pid, 77);
	assert_int_equal(images_add_anonymous(&images, 0, 0, &unknown), 0);
	images.is_elsewhere = true;
	assert_int_equal(images_add_anonymous(&images, 77, 0, &unknown), 0);
	assert_int_equal(recv(server, record, sizeof(record), MSG_DONTWAIT), -1);
	close(server);
	server = -1;
	images.is_elsewhere = false;
	assert_int_equal(images_add_anonymous(&images, 77, 0, &unknown), 0);
	assert_int_equal(*counters_get(&stream.stage.counters, "images", "not-asked-for"), 1);
}

/* Makes a file and the server's report that it was opened. */
static uint64_t find_opened_file(const char *path, const char *content)
{
	struct wire_image_state found = { .status = WIRE_image_status_OPEN };
	struct stat status;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
	assert_int_equal(fstat(fd, &status), 0);
	found.image = find_file(path, 5, 9);
	found.size = status.st_size;
	found.modified = clock_nanoseconds(status.st_mtim);
	found.changed = clock_nanoseconds(status.st_ctim);
	assert_int_equal(image_message_send(server, &found, fd), 0);
	assert_int_equal(images_take_states(&images), 0);
	close(fd);
	return found.image;
}

static void write_again(const char *path, const char *content)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
	close(fd);
}

static void test_a_written_file_is_another_image(void **state)
{
	char path[] = "/tmp/stackpipe-test-XXXXXX";
	uint64_t first, second, third;

	close(mkstemp(path));
	first = find_opened_file(path, "content");
	assert_int_equal(find_file(path, 5, 9), first);
	write_again(path, "longer content");
	second = find_file(path, 5, 9);
	assert_int_not_equal(second, first);
	assert_int_equal(images_current(&images, first), second);
	assert_int_equal(images_current(&images, second), second);
	assert_int_equal(find_opened_file(path, "long content"), second);
	write_again(path, "the longest content");
	assert_int_equal(images_check(&images), 0); /* although no process maps it anew */
	third = images_current(&images, first);
	assert_int_not_equal(third, second);
	assert_int_equal(find_file(path, 5, 9), third);
	assert_int_equal(images_check(&images), 0);
	assert_int_equal(images_current(&images, first), third);
	unlink(path);
}

/* The last request to the server. */
static struct wire_image_open asked_for(void)
{
	static _Alignas(8) char record[8192];
	struct wire_image_open request = { 0 };
	ssize_t size;

	while ((size = recv(server, record, sizeof(record), MSG_DONTWAIT)) > 0)
		assert_int_equal(
			wire_decode(wire_type(WIRE_RECORD_image_open), record, size, 0, &request),
			WIRE_OK);
	return request;
}

static void test_a_restored_mtime_does_not_hide_a_write(void **state)
{
	char path[] = "/tmp/stackpipe-test-XXXXXX";
	uint64_t first, second;
	struct stat status;

	close(mkstemp(path));
	first = find_opened_file(path, "content");
	assert_int_equal(asked_for().replaces, 0);
	assert_int_equal(stat(path, &status), 0);
	write_again(path, "CONTENT");
	const struct timespec times[] = { status.st_atim, status.st_mtim };
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	second = find_file(path, 5, 9);
	assert_int_not_equal(second, first);
	assert_int_equal(asked_for().replaces, first);
	unlink(path);
}

static void test_deleting_a_file_keeps_its_image(void **state)
{
	char path[] = "/tmp/stackpipe-test-XXXXXX";
	uint64_t first;

	close(mkstemp(path));
	first = find_opened_file(path, "content");
	unlink(path);
	assert_int_equal(images_check(&images), 0);
	assert_int_equal(find_file(path, 5, 9), first);
}

static void test_a_file_without_a_name_is_watched_as_any_other(void **state)
{
	char path[] = "/tmp/stackpipe-test-XXXXXX";
	uint64_t first;
	int fd = mkstemp(path);

	first = find_opened_file(path, "content");
	unlink(path);
	assert_int_equal(images_check(&images), 0);
	assert_int_equal(write(fd, "CONTENT", 7), 7);
	assert_int_equal(futimens(fd, (struct timespec[]){ { 1, 0 }, { 1, 0 } }), 0);
	assert_int_equal(images_check(&images), 0);
	assert_int_not_equal(images_current(&images, first), first);
	close(fd);
}

static void test_a_reused_inode_leaves_the_old_image_alone(void **state)
{
	uint64_t first = find_file("/bin/a", 5, 9);

	assert_int_not_equal(find_file("/bin/a", 5, 10), first);
	assert_int_equal(images_current(&images, first), first);
}

static void test_the_vdso_comes_once_with_its_bytes(void **state)
{
	struct image_source vdso = { .task = 77, .start = 1, .length = 2, .path = "[vdso]" };
	union wire_view view;

	assert_int_equal(find(&vdso, NULL), IMAGE_VDSO);
	assert_int_equal(find(&vdso, NULL), IMAGE_VDSO);
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_image);
	assert_int_equal(view.image.kind, WIRE_image_kind_VDSO);
	if (getauxval(AT_SYSINFO_EHDR)) {
		assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_image_data);
		assert_int_equal(view.image_data.image, IMAGE_VDSO);
		assert_true(view.image_data.data.size > sizeof(Elf64_Ehdr));
		assert_memory_equal(view.image_data.data.data, ELFMAG, SELFMAG);
	}
	assert_int_equal(test_stream_next(&stream, &view), 0);
}

static void test_the_kernel_has_a_number_of_its_own(void **state)
{
	assert_int_equal(images_add_kernel(&images, (struct wire_blob){ "", 0 }), 0);
	assert_true(find_file("/bin/a", 5, 9) >= IMAGE_FIRST);
	assert_string_equal(test_stream_text(&stream), "image 1 kernel '[kernel]'\n"
						       "image 3 file '/bin/a'\n");
}

/* The file id is from OpenTelemetry's own test (libpf/fileid_test.go). */
static void test_the_kernels_ids_are_emitted_if_they_are_known(void **state)
{
	static const uint8_t build_id[] = { 0xf8, 0xe1, 0xcf, 0x0f, 0x60, 0x55, 0x80, 0x98,
					    0xed, 0xae, 0xc1, 0x64, 0xac, 0x77, 0x49, 0xdf };
	union wire_view view;

	assert_int_equal(images_add_kernel(&images, (struct wire_blob){ build_id, 16 }), 0);
	assert_int_equal(images_add_kernel(&images, (struct wire_blob){ build_id, 7 }), 0);
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_image);
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_image_id);
	assert_int_equal(view.image_id.image, IMAGE_KERNEL);
	assert_int_equal(view.image_id.build_id.size, 16);
	assert_memory_equal(view.image_id.build_id.data, build_id, 16);
	assert_string_equal(view.image_id.file_id, "026a2d6a60ee6b4eb8ec85adf2e76f4d");
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_image);
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_image_id);
	assert_int_equal(view.image_id.build_id.size, 7);
	assert_string_equal(view.image_id.file_id, "");
	assert_int_equal(test_stream_next(&stream, &view), 0);
}

static void test_a_new_file_is_asked_for_at_once_and_once(void **state)
{
	_Alignas(8) char record[8192];
	struct wire_image_open request;
	ssize_t size;

	find_file("/bin/a (deleted)", 5, 9);
	find_file("/bin/a (deleted)", 5, 9);
	size = recv(server, record, sizeof(record), MSG_DONTWAIT);
	assert_int_equal(wire_decode(wire_type(WIRE_RECORD_image_open), record, size, 0, &request),
			 WIRE_OK);
	assert_int_equal(request.image, IMAGE_FIRST);
	assert_int_equal(request.pid, 77);
	assert_int_equal(request.inode, 5);
	assert_int_equal(request.start, 0x1000);
	assert_int_equal(request.length, 0x2000);
	assert_string_equal(request.path.data, "/bin/a");
	assert_int_equal(recv(server, record, sizeof(record), MSG_DONTWAIT), -1);
}

static void test_the_longest_path_arrives(void **state)
{
	_Alignas(8) char record[8192];
	struct wire_image_open request;
	char path[PROC_PATH_MAX + 100];
	union wire_view view;
	ssize_t size;

	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = 0;
	find_file(path, 5, 9);
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_image);
	assert_int_equal(view.image.path.size, PROC_PATH_MAX);
	size = recv(server, record, sizeof(record), MSG_DONTWAIT);
	assert_int_equal(wire_decode(wire_type(WIRE_RECORD_image_open), record, size, 0, &request),
			 WIRE_OK);
}

static void test_server_states_pass_and_garbage_does_not(void **state)
{
	_Alignas(8) char record[128];
	struct wire_image_state found = { 3, WIRE_image_status_OPEN, 10, 20 };
	size_t size = wire_encode(wire_type(WIRE_RECORD_image_state), &found, record, NULL);
	union wire_view view;

	assert_int_equal(images_take_states(&images), 0); /* returns at once without messages */
	send(server, "garbage", 7, 0);
	send(server, record, size - 8, 0);
	send(server, record, size, 0);
	assert_int_equal(images_take_states(&images), 0);
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_image_state);
	assert_int_equal(view.image_state.size, 10);
	assert_int_equal(test_stream_next(&stream, &view), 0);
}

static void test_a_dead_server_stops_nothing(void **state)
{
	close(server);
	server = -1;
	assert_int_equal(find_file("/bin/a", 5, 9), IMAGE_FIRST);
	assert_int_equal(images_take_states(&images), 0);
	assert_int_equal(*counters_get(&stream.stage.counters, "images", "not-asked-for"), 1);
	assert_string_equal(test_stream_text(&stream), "image 3 file '/bin/a'\n");
}

static void test_images_are_renumbered_beyond_the_limit(void **state)
{
	close(server);
	server = -1;
	for (uint64_t inode = 1; inode <= IMAGES_MAX; inode++)
		find_file("/x", inode, 0);
	assert_int_equal(find_file("/x", 1, 0), IMAGE_FIRST);
	assert_int_equal(*counters_get(&stream.stage.counters, "images", "forgotten-all"), 0);
	find_file("/x", IMAGES_MAX + 1, 0);
	assert_int_equal(*counters_get(&stream.stage.counters, "images", "forgotten-all"), 1);
	assert_int_equal(find_file("/x", 1, 0), IMAGE_FIRST + IMAGES_MAX + 1);
}

static void test_unused_images_end_and_are_reported(void **state)
{
	_Alignas(8) char record[8192];
	struct wire_image_exit exit;
	union wire_view view;
	uint64_t kept = find_file("/bin/a", 5, 9), ended = find_file("/bin/b", 6, 9), anonymous;
	ssize_t size;

	assert_int_equal(images_add_anonymous(&images, 77, 0, &anonymous), 0);
	images_use(&images, kept, 100);
	images_use(&images, ended, 50);
	images_use(&images, anonymous, 50);
	for (int i = 0; i < 3; i++)
		test_stream_next(&stream, &view);
	while (recv(server, record, sizeof(record), MSG_DONTWAIT) > 0)
		;
	assert_int_equal(images_end_unused(&images, 60, 120), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_image_exit);
		assert_int_equal(view.image_exit.image, i ? anonymous : ended);
		assert_int_equal(view.image_exit.time, 120);
	}
	assert_int_equal(test_stream_next(&stream, &view), 0);
	size = recv(server, record, sizeof(record), MSG_DONTWAIT);
	assert_int_equal(wire_decode(wire_type(WIRE_RECORD_image_exit), record, size, 0, &exit),
			 WIRE_OK);
	assert_int_equal(exit.image, ended);
	assert_int_equal(find_file("/bin/a", 5, 9), kept);
	assert_true(find_file("/bin/b", 6, 9) > anonymous); /* a new image */
}

static void test_an_image_never_swept_counts_as_new(void **state)
{
	uint64_t image = find_file("/bin/a", 5, 9);

	assert_int_equal(images_end_unused(&images, 60, 120), 0);
	assert_int_equal(find_file("/bin/a", 5, 9), image);
	assert_int_equal(images_end_unused(&images, 130, 190), 0);
	assert_int_not_equal(find_file("/bin/a", 5, 9), image);
}

/* The server reports that the image was gone. */
static void answer_gone(uint64_t number)
{
	const struct wire_image_state gone = { number, WIRE_image_status_GONE, 0, 0 };

	assert_int_equal(image_message_send(server, &gone, -1), 0);
	assert_int_equal(images_take_states(&images), 0);
}

static void test_a_gone_file_is_requested_when_remapped(void **state)
{
	uint64_t first = find_file("/memfd:code (deleted)", 5, 9), again;

	answer_gone(first);
	while ((again = find_file("/memfd:code (deleted)", 5, 9)) == first)
		; /* rate-limited by IMAGES_ASK_AGAIN_NS */
	assert_int_equal(images_current(&images, first), again);
	assert_int_equal(find_file("/memfd:code (deleted)", 5, 9), again);
}

static void test_remapped_image_is_reopened_after_gone(void **state)
{
	uint64_t first = find_file("/memfd:code (deleted)", 5, 9), again;

	assert_int_equal(find_file("/memfd:code (deleted)", 5, 9), first);
	answer_gone(first);
	again = images_current(&images, first);
	assert_int_not_equal(again, first);
	answer_gone(again); /* not mapped again since */
	assert_int_equal(images_current(&images, first), again);
}

static void test_a_gone_image_mapped_once_is_not_reopened(void **state)
{
	uint64_t first = find_file("/memfd:code (deleted)", 5, 9);

	answer_gone(first);
	assert_int_equal(images_current(&images, first), first);
}

static void test_a_jitdump_is_one_image_however_it_grows(void **state)
{
	char directory[] = "/tmp/stackpipe-test-XXXXXX", path[64], other[64];
	uint64_t image, copy;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/jit-123.dump", directory);
	snprintf(other, sizeof(other), "%s/jit-123.dumped", directory);
	image = find_opened_file(path, "code");
	copy = find_opened_file(other, "code");
	write_again(path, "code, and more code");
	write_again(other, "code, and more code");
	assert_int_equal(images_check(&images), 0);
	assert_int_equal(find_file(path, 5, 9), image);
	assert_int_not_equal(find_file(other, 5, 9), copy);
	unlink(path);
	unlink(other);
	rmdir(directory);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_the_same_file_is_the_same_image),
		TEST(test_any_difference_makes_another_image),
		TEST(test_an_inode_used_again_is_another_image),
		TEST(test_a_late_generation_keeps_the_image),
		TEST(test_a_deleted_file_is_the_same_image),
		TEST(test_memory_without_a_file_is_anonymous),
		TEST(test_a_recording_is_an_image_that_stays),
		TEST(test_anonymous_images_offer_their_perf_map),
		TEST(test_a_written_file_is_another_image),
		TEST(test_a_restored_mtime_does_not_hide_a_write),
		TEST(test_deleting_a_file_keeps_its_image),
		TEST(test_a_file_without_a_name_is_watched_as_any_other),
		TEST(test_a_reused_inode_leaves_the_old_image_alone),
		TEST(test_the_vdso_comes_once_with_its_bytes),
		TEST(test_the_kernel_has_a_number_of_its_own),
		TEST(test_the_kernels_ids_are_emitted_if_they_are_known),
		TEST(test_a_new_file_is_asked_for_at_once_and_once),
		TEST(test_the_longest_path_arrives),
		TEST(test_server_states_pass_and_garbage_does_not),
		TEST(test_a_dead_server_stops_nothing),
		TEST(test_images_are_renumbered_beyond_the_limit),
		TEST(test_unused_images_end_and_are_reported),
		TEST(test_an_image_never_swept_counts_as_new),
		TEST(test_a_gone_file_is_requested_when_remapped),
		TEST(test_remapped_image_is_reopened_after_gone),
		TEST(test_a_gone_image_mapped_once_is_not_reopened),
		TEST(test_a_jitdump_is_one_image_however_it_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
