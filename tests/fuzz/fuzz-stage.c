/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A whole stage on a hostile stream: its main() tells what it is, and runs once for each input, as
 * it is but for its signals (which are libFuzzer's). An input is what follows the hello: files of
 * programs travel in it as images in memory. What comes out has to be a stream.
 *
 * STAGE_ARGUMENTS are its command line; with HAS_OUTPUT it is no sink.
 */
#include "tests/fuzz/fuzz-stream.h"

#include "common/arch/arch.h"
#include "common/base/clock.h"

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

static void put_hello(const struct fuzz_file *file)
{
	const struct wire_hello hello = {
		.magic = WIRE_MAGIC,
		.version_major = WIRE_VERSION_MAJOR,
		.version_minor = WIRE_VERSION_MINOR,
		.clock = WIRE_clock_MONOTONIC,
		.register_mask = arch_host()->register_mask,
		.machine = arch_host()->elf_machine,
		.n_cpus = 2,
		.event = "cpu-clock",
		.stages = "fuzz",
	};
	_Alignas(8) char record[HELLO_SIZE_MAX];
	size_t size = wire_encoded_size(wire_type(WIRE_RECORD_hello), &hello);

	fuzz_check(size && size <= sizeof(record));
	wire_encode(wire_type(WIRE_RECORD_hello), &hello, record, NULL);
	fuzz_file_put(file, record, size);
}

/* Records at least: what a stage does not care for is passed on as it is, damaged or not. */
static void check_output(struct fuzz_file *file)
{
	struct wire_reader reader = fuzz_file_reader(file);
	enum wire_outcome outcome;
	struct wire_hello hello;
	struct wire_raw raw;

	if (!reader.map_size)
		return;
	fuzz_check(wire_reader_hello(&reader, &hello) == WIRE_OK);
	while ((outcome = wire_reader_next(&reader, &raw)) == WIRE_OK)
		;
	fuzz_check(outcome == WIRE_E_MORE && reader.start == reader.end);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static char *const arguments[] = { "stage", "-q", "--sandbox=off", STAGE_ARGUMENTS, NULL };
	static struct fuzz_file in, out;
	char *argv[sizeof(arguments) / sizeof(*arguments)];
	FILE *errors = fuzz_be_silent();

	fuzz_file_start(&in);
	put_hello(&in);
	fuzz_file_put(&in, bytes, size);
	fuzz_file_finish(&in);
	fuzz_file_start(&out);
	/* libFuzzer speaks on stderr only. */
	fuzz_check(dup2(in.fd, STDIN_FILENO) >= 0 && dup2(out.fd, STDOUT_FILENO) >= 0);
	memcpy(argv, arguments, sizeof(argv));
	if (!stage_program)
		stage_own_main(0, NULL);
	__real_stage_main(sizeof(argv) / sizeof(*argv) - 1, argv, stage_program);
	stderr = errors;
	if (HAS_OUTPUT)
		check_output(&out);
	return 0;
}
