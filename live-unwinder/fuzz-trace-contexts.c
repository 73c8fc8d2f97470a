/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile contexts. An input is a list of blocks: the first is what the process publishes, the
 * others are contexts of its threads. Each block has its size first (16 bits). Equal bytes have
 * equal numbers, and bytes that are not marked as valid have none.
 */
#include <fcntl.h>
#include <unistd.h>

#include "common/stream/process-context.h"
#include "live-unwinder/trace-contexts.h"
#include "tests/fuzz/fuzz.h"

enum { PROCESS = 7, VALID_AT = 24, HEAD_SIZE = 28 };

static const struct stage_program program = { .name = "fuzz", .role = STAGE_FILTER };

/* The caller frees the bytes. */
static struct wire_blob take_block(struct fuzz_input *input, size_t size_max)
{
	struct wire_blob block;
	uint16_t size;

	fuzz_take(input, &size, sizeof(size));
	block.data = fuzz_take_block(input, size < size_max ? size : size_max, &block.size);
	return block;
}

static void check_context(struct trace_contexts *contexts, struct stage *stage,
			  struct wire_blob bytes)
{
	const struct wire_sample sample = {
		.process = PROCESS,
		.thread_context = bytes,
		.context_state = WIRE_context_state_READ,
	};
	const uint8_t *at = bytes.data;
	uint64_t first, second;

	fuzz_check(trace_contexts_find(contexts, stage, &sample, &first) == 0);
	fuzz_check(trace_contexts_find(contexts, stage, &sample, &second) == 0);
	fuzz_check(first == second);
	fuzz_check(!first || (bytes.size >= HEAD_SIZE && at[VALID_AT] == 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const struct wire_hello hello = { 0 };
	struct fuzz_input input = { bytes, size };
	struct stage stage = { .program = &program, .quiet = true };
	struct trace_contexts contexts = { 0 };
	struct wire_process_context published = {
		.process = PROCESS, .payload = take_block(&input, WIRE_PROCESS_CONTEXT_MAX)
	};
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	fuzz_check(null >= 0 && wire_writer_init(&stage.writer, null) == 0);
	fuzz_check(stage_put(&stage, WIRE_RECORD_hello, &hello) == 0);
	fuzz_check(trace_contexts_publish(&contexts, &stage, &published) == 0);
	fuzz_check(wire_writer_flush(&stage.writer) == 0);
	free((void *)published.payload.data);
	while (input.size) {
		struct wire_blob context = take_block(&input, WIRE_THREAD_CONTEXT_MAX);

		check_context(&contexts, &stage, context);
		free((void *)context.data);
	}
	fuzz_check(wire_writer_flush(&stage.writer) == 0);
	trace_contexts_deinit(&contexts);
	wire_writer_deinit(&stage.writer);
	counters_deinit(&stage.counters);
	close(null);
	return 0;
}
