/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile parts of scripts: lines rise with places. An input is a number of parts, each with its
 * size in two bytes, and places behind them.
 */
#include <stdlib.h>

#include "symbolizer/script/script-sources.h"
#include "tests/fuzz/fuzz.h"

enum { OWNER = 0x1000, IDENTITY = 7, PROCESS = 1 };

static void take_part(struct fuzz_input *input, struct script_sources *sources)
{
	struct wire_memory record = { .process = PROCESS,
				      .address = OWNER + 1,
				      .identity = IDENTITY };
	uint16_t size;

	fuzz_take(input, &size, sizeof(size));
	record.bytes.data = fuzz_take_block(input, size, &record.bytes.size);
	fuzz_check(script_sources_take(sources, &record) == 0);
	free((void *)record.bytes.data);
}

/* The line of a place is not in front of that of the beginning. */
static void ask(struct fuzz_input *input, struct script_sources *sources)
{
	struct script_origin origin = { .source = { PROCESS, OWNER, IDENTITY } };
	uint32_t line, first;

	fuzz_take(input, &origin.position, sizeof(origin.position));
	fuzz_take(input, &origin.first_line, sizeof(origin.first_line));
	line = script_sources_find_line(sources, &origin);
	origin.position = 0;
	first = script_sources_find_line(sources, &origin);
	fuzz_check(!line || !first || line >= first);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = { bytes, size };
	struct script_sources sources = { 0 };
	uint8_t n;

	fuzz_take(&input, &n, sizeof(n));
	for (int i = 0; i < n; i++)
		take_part(&input, &sources);
	while (input.size)
		ask(&input, &sources);
	script_sources_forget(&sources, PROCESS);
	fuzz_check(!sources.by_key && !sources.n_bytes);
	script_sources_deinit(&sources);
	return 0;
}
