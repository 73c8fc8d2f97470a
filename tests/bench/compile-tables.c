/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a table costs: time and size of compiling the unwind information of each FILE. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/unwind-source.h"

enum { ROUNDS = 5 };

static int measure(const char *path)
{
	uint64_t best = UINT64_MAX, cfi_bytes = 0;
	struct unwind_table table;
	struct unwind_bytes bytes;
	struct elf_image file;

	if (elf_image_open_descriptor(open(path, O_RDONLY | O_CLOEXEC), &file) != ELF_IMAGE_OK ||
	    unwind_bytes_read(&file, &bytes) < 0)
		return -1;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t begun = clock_now(CLOCK_MONOTONIC);

		if (unwind_table_compile(&bytes.source, &table) < 0)
			return -1;
		if (clock_now(CLOCK_MONOTONIC) - begun < best)
			best = clock_now(CLOCK_MONOTONIC) - begun;
		if (i + 1 < ROUNDS)
			unwind_table_deinit(&table);
	}
	for (size_t i = 0; i < bytes.source.n_sections; i++)
		cfi_bytes += bytes.sections[i].size;
	printf("file=%s cfi_bytes=%" PRIu64
	       " table_bytes=%zu share=%.3f rows=%u rules=%u refused=%u "
	       "compile_ms=%.2f\n",
	       path, cfi_bytes, table.size, (double)table.size / cfi_bytes, table.header->n_rows,
	       table.header->n_rules, table.header->n_refused, best / 1e6);
	unwind_table_deinit(&table);
	unwind_bytes_deinit(&bytes);
	elf_image_close(&file);
	return 0;
}

int main(int argc, char **argv)
{
	int status = 0;

	for (int i = 1; i < argc; i++)
		if (measure(argv[i]) < 0) {
			fprintf(stderr, "compile-tables: could not read '%s'\n", argv[i]);
			status = 1;
		}
	return status;
}
