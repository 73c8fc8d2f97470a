/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A whole stage on a hostile stream: its main() tells what it is, and runs once for each input, as
 * it is but for its signals (which are libFuzzer's). An input is what follows the hello: files of
 * programs travel in it as images in memory. What comes out has to be a stream.
 *
 * STAGE_ARGUMENTS are its command line; with HAS_OUTPUT it is no sink.
 */
#include "tests/fuzz/fuzz-stream.h"

#include "common/arch.h"
#include "common/clock.h"

enum { HELLO_SIZE_MAX = 4096 };

int stage_own_main(int argc, char **argv);
int __wrap_stage_main(int argc, char **argv, const struct stage_program *program);
int __real_stage_main(int argc, char **argv, const struct stage_program *program);
void __wrap_stage_catch_signals(void);
FILE *__wrap_tmpfile64(void);

static const struct stage_program *stage_program;

int __wrap_stage_main(int argc, char **argv, const struct stage_program *program)
{
	stage_program = program;
	return 0;
}

void __wrap_stage_catch_signals(void)
{
}

/* Where nothing is kept: a disk's file system takes longer to find an inode than a stage its input.
 */
FILE *__wrap_tmpfile64(void)
{
	return fdopen(memfd_create("fuzz-temporary", MFD_CLOEXEC), "w+");
}

static void put_hello(int fd)
{
	const struct wire_hello hello = {
		.magic = WIRE_MAGIC,
		.version_major = WIRE_VERSION_MAJOR,
		.version_minor = WIRE_VERSION_MINOR,
		.clock = WIRE_clock_MONOTONIC,
		.register_mask = arch_host.register_mask,
		.machine = arch_host.machine,
		.n_cpus = 2,
		.event = "cpu-clock",
		.stages = "fuzz",
	};
	_Alignas(8) char record[HELLO_SIZE_MAX];
	size_t size = wire_encoded_size(wire_type(WIRE_RECORD_hello), &hello);

	fuzz_check(size && size <= sizeof(record));
	wire_encode(wire_type(WIRE_RECORD_hello), &hello, record, NULL);
	fuzz_check(write(fd, record, size) == (ssize_t)size);
}

static int make_stream(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("fuzz-stream", MFD_CLOEXEC);

	fuzz_check(fd >= 0);
	put_hello(fd);
	fuzz_check((size_t)write(fd, bytes, size) == size && lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* Puts a descriptor in the place of another one: what was there. */
static int replace(int fd, int place)
{
	int before = dup(place);

	fuzz_check(before >= 0 && dup2(fd, place) == place);
	return before;
}

static void put_back(int before, int place)
{
	fuzz_check(dup2(before, place) == place);
	close(before);
}

/* Records at least: what a stage does not care for is passed on as it is, damaged or not. */
static void check_output(int fd)
{
	enum wire_outcome outcome = WIRE_E_MORE;
	struct wire_reader reader;
	struct wire_hello hello;
	struct wire_raw raw;

	lseek(fd, 0, SEEK_SET);
	fuzz_check(wire_reader_init(&reader, fd) == 0 && wire_reader_fill(&reader) == 0);
	if (!reader.at_end)
		fuzz_check(wire_reader_hello(&reader, &hello) == WIRE_OK);
	while (!reader.at_end) {
		while ((outcome = wire_reader_next(&reader, &raw)) == WIRE_OK)
			;
		fuzz_check(outcome == WIRE_E_MORE && wire_reader_fill(&reader) == 0);
	}
	wire_reader_deinit(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static char *const arguments[] = { "stage", "-q", "--sandbox=off", STAGE_ARGUMENTS, NULL };
	char *argv[sizeof(arguments) / sizeof(*arguments)];
	_cleanup_fd_ int in = make_stream(bytes, size);
	_cleanup_fd_ int out = memfd_create("fuzz-output", MFD_CLOEXEC);
	int old_in = replace(in, STDIN_FILENO), old_out = replace(out, STDOUT_FILENO);
	FILE *errors = fuzz_be_silent();

	memcpy(argv, arguments, sizeof(argv));
	if (!stage_program)
		stage_own_main(0, NULL);
	__real_stage_main(sizeof(argv) / sizeof(*argv) - 1, argv, stage_program);
	stderr = errors;
	put_back(old_in, STDIN_FILENO);
	put_back(old_out, STDOUT_FILENO);
	if (HAS_OUTPUT)
		check_output(out);
	return 0;
}
