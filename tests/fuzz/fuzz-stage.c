/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A whole stage on a hostile stream. Its main() provides the stage, which runs once per input,
 * except for its signals (libFuzzer's). An input is what follows the hello; files travel in it as
 * images in memory. The output must be a valid stream.
 *
 * STAGE_ARGUMENTS is the command line; with HAS_OUTPUT the stage is not a sink.
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

/* In memory: allocating an inode on disk takes longer than a stage's run. */
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

/* The output must consist of records; those that a stage does not handle pass unchecked. */
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
	/* libFuzzer prints to stderr only. */
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
