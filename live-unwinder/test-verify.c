/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares hand-made results; dumps are read back as a stage reads a stream. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "live-unwinder/test-world.h"
#include "live-unwinder/verify.h"

enum {
	FRAMES = 4,
	IN_MEMORY = 2, /* images, by source of their bytes */
	BY_STATE,
	BY_BUILD_ID,
};

static const struct wire_hello hello = {
	.magic = WIRE_MAGIC,
	.version_major = WIRE_VERSION_MAJOR,
	.clock = WIRE_clock_MONOTONIC,
	.start_unix_time = 77,
	.token_high = 1,
	.token_low = 2,
	.image_server = "stackpipe-secret",
};
static const struct wire_image_state found = { BY_STATE, WIRE_image_status_OPEN, 10, 20 };
static const unsigned char build_id[] = { 1, 2, 3 };

static struct world world;
static struct verify verify;
static char directory[64], path[128];
static uint64_t registers[] = { 1, 2, 3 };
static struct wire_sample sample;
static struct wire_frame frames[FRAMES], other_frames[FRAMES];
static struct unwinding answer, reference;

static void add_images(struct process *process)
{
	const struct wire_image_id id = { BY_BUILD_ID,
					  { build_id, sizeof(build_id) },
					  "026a2d6a60ee6b4eb8ec85adf2e76f4d" };

	add_bytes(&world, IN_MEMORY, "bytes", 5);
	add_image(&world, BY_STATE, WIRE_image_kind_FILE, "/found");
	image_table_set_state(&world.identity.images, &found);
	add_image(&world, BY_BUILD_ID, WIRE_image_kind_FILE, "/known");
	image_table_set_id(&world.identity.images, &id);
	for (uint64_t image = IN_MEMORY; image <= BY_BUILD_ID; image++)
		add_mapping(&world, process, image, image << 32, 0x1000, image << 12);
}

static int set_up(void **state)
{
	strcpy(directory, "/tmp/stackpipe-test-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/dump", directory);
	world_init(&world, &(struct wire_hello){ 0 }, TABLE_STORE_WAIT);
	add_images(add_process(&world, 7));
	sample = (struct wire_sample){
		.time = 1000,
		.process = 7,
		.tid = 8,
		.abi = 2,
		.registers = { registers, 3 },
		.stack = { "sixteen bytes...", 16 },
	};
	answer = (struct unwinding){
		.arch = arch_host(),
		.sample = &sample,
		.process = process_table_find(&world.identity.processes, 7),
		.frames = frames,
		.n_frames = 2,
		.n_frames_max = FRAMES,
		.end = WIRE_stack_end_COMPLETE,
	};
	memset(frames, 0, sizeof(frames));
	frames[1].address = 5;
	memcpy(other_frames, frames, sizeof(frames));
	reference = answer;
	reference.frames = other_frames;
	verify = (struct verify){ .dump_fd = -1, .every = 1 };
	return 0;
}

static int tear_down(void **state)
{
	verify_deinit(&verify);
	world_deinit(&world);
	unlink(path);
	return rmdir(directory);
}

static void start(void)
{
	assert_int_equal(verify_start(&verify, &world.stream.stage, &hello, FRAMES), 0);
}

static void start_with_dump(void)
{
	verify.dump_path = path;
	start();
}

static void compare(void)
{
	assert_int_equal(verify_compare(&verify, &world.identity, &answer, &reference), 0);
}

static uint64_t count(const char *name)
{
	return *counters_get(&world.stream.stage.counters, "judge", name);
}

static void judge(uint64_t compared, uint64_t different, uint64_t copy_cut)
{
	assert_int_equal(verify_judge(&verify, &world.identity, &answer, &reference), 0);
	assert_int_equal(count("compared"), compared);
	assert_int_equal(count("different"), different);
	assert_int_equal(count("copy-cut"), copy_cut);
}

/* The copy's answer counts, unless it only ends too early. */
static void test_words_are_judged_by_the_copy(void **state)
{
	start();
	judge(1, 0, 0);
	frames[1].address = 6;
	judge(2, 1, 0);
	assert_int_equal(reference.frames[1].address, 5);
	frames[1].address = 5;
	reference.n_frames = 1; /* another end */
	judge(3, 2, 0);
	assert_int_equal(reference.n_frames, 1);
	reference.end = WIRE_stack_end_STACK_ABSENT;
	judge(4, 2, 1);
	assert_int_equal(reference.n_frames, 2);
	assert_int_equal(reference.end, WIRE_stack_end_COMPLETE);
	reference.end = WIRE_stack_end_TRUNCATED;
	frames[0].address = 6; /* and another frame */
	judge(5, 3, 1);
	answer.n_frames = 1; /* the words lead less far */
	frames[0].address = 0;
	judge(6, 4, 1);
}

static void test_every_nth_is_due_from_the_first_on(void **state)
{
	verify.every = 3;
	start();
	for (size_t i = 0; i < 9; i++)
		assert_int_equal(verify_is_due(&verify), i % 3 == 0);
}

static void test_verification_is_off_by_default(void **state)
{
	verify.every = 0;
	start();
	assert_false(verify_is_due(&verify));
	assert_false(verify_is_due(&verify));
}

static void test_the_other_answer_has_room_of_its_own(void **state)
{
	struct unwinding other;

	start();
	other = verify_begin(&verify, &answer);
	assert_ptr_equal(other.sample, answer.sample);
	assert_ptr_equal(other.process, answer.process);
	assert_int_equal(other.n_frames_max, FRAMES);
	assert_ptr_not_equal(other.frames, answer.frames);
	memset(other.frames, 1, (FRAMES + 1) * sizeof(*other.frames)); /* for ASan to check */
}

static void test_equal_results_do_not_differ(void **state)
{
	start_with_dump();
	compare();
	assert_int_equal(*verify.n_compared, 1);
	assert_int_equal(*verify.n_different, 0);
	assert_int_equal(verify.n_dumped, 0);
}

static void assert_differs(void)
{
	uint64_t before = *verify.n_different;

	compare();
	assert_int_equal(*verify.n_different, before + 1);
	reference = answer;
	reference.frames = other_frames;
	memcpy(other_frames, frames, sizeof(frames));
}

static void test_any_difference_is_detected(void **state)
{
	start();
	reference.end = WIRE_stack_end_TRUNCATED;
	assert_differs();
	reference.n_frames = 1;
	assert_differs();
	reference.failed_image = image_table_find(&world.identity.images, BY_STATE);
	assert_differs();
	other_frames[1].address++;
	assert_differs();
	other_frames[1].mapping++;
	assert_differs();
	other_frames[1].flags ^= WIRE_frame_flags_EXACT;
	assert_differs();
	assert_int_equal(*verify.n_compared, 6);
}

static void test_frames_past_the_last_are_ignored(void **state)
{
	start();
	other_frames[2].address = 99;
	compare();
	assert_int_equal(*verify.n_different, 0);
}

static void test_a_dump_that_exists_is_left_alone(void **state)
{
	_cleanup_fd_ int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	char content[9] = { 0 };

	assert_int_equal(write(fd, "precious", 8), 8);
	verify.dump_path = path;
	assert_int_equal(verify_start(&verify, &world.stream.stage, &hello, FRAMES), -EEXIST);
	assert_int_equal(pread(fd, content, 9, 0), 8);
	assert_string_equal(content, "precious");
}

static void test_a_dump_is_for_its_owner_alone(void **state)
{
	struct stat status;
	mode_t before = umask(0);

	start_with_dump();
	umask(before);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
}

/* Counts of the records of a dump. */
struct reading {
	struct wire_reader reader;
	struct identity identity;
	struct wire_hello hello;
	struct stage stage;
	size_t n[WIRE_TYPE_MAX];
	uint64_t totals[WIRE_TYPE_MAX]; /* from its end record */
	int fd;
};

static const struct stage_handler handlers[] = { IDENTITY_HANDLERS(0), { 0 } };

static void assert_is_our_sample(const struct wire_sample *read)
{
	assert_int_equal(read->time, sample.time);
	assert_int_equal(read->process, sample.process);
	assert_int_equal(read->tid, sample.tid);
	assert_int_equal(read->abi, sample.abi);
	assert_int_equal(read->registers.n, sample.registers.n);
	assert_memory_equal(read->registers.data, registers, sizeof(registers));
	assert_int_equal(read->stack.size, sample.stack.size);
	assert_memory_equal(read->stack.data, sample.stack.data, sample.stack.size);
}

static void take(struct reading *reading, uint16_t type, const union wire_view *view)
{
	for (const struct stage_handler *handler = handlers; handler->id; handler++)
		if (handler->id == type)
			handler->handle(&reading->stage, &reading->identity, view);
	if (type == WIRE_RECORD_hello)
		reading->hello = view->hello;
	if (type == WIRE_RECORD_sample) {
		assert_non_null(
			process_table_find(&reading->identity.processes, view->sample.process));
		assert_is_our_sample(&view->sample);
	}
	for (size_t i = 0; type == WIRE_RECORD_end && i < view->end.totals.n; i++)
		reading->totals[view->end.totals.data[i].type] = view->end.totals.data[i].n;
}

static void read_dump(struct reading *reading)
{
	enum wire_outcome outcome;
	struct wire_raw raw;
	union wire_view view;

	memset(reading, 0, sizeof(*reading));
	reading->fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(wire_reader_init(&reading->reader, reading->fd), 0);
	while (!reading->reader.at_end) {
		assert_int_equal(wire_reader_fill(&reading->reader), 0);
		while ((outcome = wire_reader_next(&reading->reader, &raw)) == WIRE_OK) {
			assert_int_equal(wire_decode(wire_type(raw.header->type), raw.header,
						     raw.header->size, 0, &view),
					 WIRE_OK);
			if (!reading->n[WIRE_RECORD_hello])
				assert_int_equal(raw.header->type, WIRE_RECORD_hello);
			assert_int_equal(reading->n[WIRE_RECORD_end], 0); /* must be last */
			reading->n[raw.header->type]++;
			take(reading, raw.header->type, &view);
		}
		assert_int_equal(outcome, WIRE_E_MORE);
	}
	assert_int_equal(reading->reader.start, reading->reader.end); /* no bytes left over */
}

static void reading_deinit(struct reading *reading)
{
	identity_deinit(&reading->identity);
	wire_reader_deinit(&reading->reader);
	close(reading->fd);
}

#define _cleanup_reading_ _cleanup_(reading_deinit)

static void differ(size_t n)
{
	start_with_dump();
	reference.end = WIRE_stack_end_TRUNCATED;
	for (size_t i = 0; i < n; i++)
		compare();
	assert_int_equal(verify_finish(&verify, 2000), 0);
}

static void test_a_dump_without_a_difference_is_a_stream(void **state)
{
	_cleanup_reading_ struct reading reading;

	differ(0);
	read_dump(&reading);
	assert_int_equal(reading.n[WIRE_RECORD_hello], 1);
	assert_int_equal(reading.n[WIRE_RECORD_end], 1);
	assert_int_equal(reading.n[WIRE_RECORD_sample], 0);
}

static void test_a_dump_holds_all_that_a_sample_needs(void **state)
{
	_cleanup_reading_ struct reading reading;
	const struct mapping *mapping;
	const struct process *process;

	differ(1);
	read_dump(&reading);
	assert_int_equal(reading.n[WIRE_RECORD_sample], 1);
	process = process_table_find(&reading.identity.processes, 7);
	assert_string_equal(process->name, "made");
	assert_int_equal(process->pid, 7);
	assert_int_equal(process->origin, WIRE_origin_SCANNED);
	assert_int_equal(process_mappings(process)->n, 3);
	for (uint64_t image = IN_MEMORY; image <= BY_BUILD_ID; image++) {
		mapping = mapping_table_find(process_mappings(process), image << 32);
		assert_non_null(mapping);
		assert_int_equal(mapping->end - mapping->start, 0x1000);
		assert_int_equal(mapping->offset, image << 12);
		assert_int_equal(mapping->image, image);
		assert_non_null(image_table_find(&reading.identity.images, image));
	}
}

/* A file is only opened by its bytes, the image server's report or its build-id. */
static void test_a_dump_has_the_sources_of_images(void **state)
{
	_cleanup_reading_ struct reading reading;
	const struct image *image;

	differ(1);
	read_dump(&reading);
	image = image_table_find(&reading.identity.images, IN_MEMORY);
	assert_int_equal(image->n_bytes, 5);
	assert_memory_equal(image->bytes, "bytes", 5);
	image = image_table_find(&reading.identity.images, BY_STATE);
	assert_string_equal(image->path, "/found");
	assert_int_equal(image->state.size, found.size);
	assert_int_equal(image->state.modified, found.modified);
	image = image_table_find(&reading.identity.images, BY_BUILD_ID);
	assert_string_equal(image->path, "/known");
	assert_int_equal(image->build_id_size, sizeof(build_id));
	assert_memory_equal(image->build_id, build_id, sizeof(build_id));
	assert_true(image->short_id == 0x026a2d6a60ee6b4e);
}

/* By the time a dump is read another process may serve that address. */
static void test_a_dump_names_no_image_server(void **state)
{
	_cleanup_reading_ struct reading reading;

	differ(1);
	read_dump(&reading);
	assert_string_equal(reading.hello.image_server, "");
	assert_int_equal(reading.hello.token_high | reading.hello.token_low, 0);
	assert_int_equal(reading.hello.start_unix_time, 77);
}

static void test_a_dump_ends_with_its_totals(void **state)
{
	_cleanup_reading_ struct reading reading;

	differ(2);
	read_dump(&reading);
	for (size_t type = 0; type < WIRE_TYPE_MAX; type++)
		assert_int_equal(reading.totals[type],
				 type == WIRE_RECORD_end ? 0 : reading.n[type]);
}

static void test_only_the_first_differences_are_written(void **state)
{
	_cleanup_reading_ struct reading reading;

	differ(VERIFY_DUMPED_MAX + 3);
	read_dump(&reading);
	assert_int_equal(reading.n[WIRE_RECORD_sample], VERIFY_DUMPED_MAX);
	assert_int_equal(*verify.n_different, VERIFY_DUMPED_MAX + 3);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_words_are_judged_by_the_copy),
		TEST(test_every_nth_is_due_from_the_first_on),
		TEST(test_verification_is_off_by_default),
		TEST(test_the_other_answer_has_room_of_its_own),
		TEST(test_equal_results_do_not_differ),
		TEST(test_any_difference_is_detected),
		TEST(test_frames_past_the_last_are_ignored),
		TEST(test_a_dump_that_exists_is_left_alone),
		TEST(test_a_dump_is_for_its_owner_alone),
		TEST(test_a_dump_without_a_difference_is_a_stream),
		TEST(test_a_dump_holds_all_that_a_sample_needs),
		TEST(test_a_dump_has_the_sources_of_images),
		TEST(test_a_dump_names_no_image_server),
		TEST(test_a_dump_ends_with_its_totals),
		TEST(test_only_the_first_differences_are_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
