/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a table costs: time and size of compiling the unwind information of each FILE, and the time
 * in which it is there again from the cache on disk ($XDG_CACHE_HOME). Prints a line of name=value
 * pairs a file.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/unwind/table-cache.h"
#include "common/unwind/unwind-source.h"

enum { ROUNDS = 5 };

static double milliseconds_since(uint64_t begun)
{
	return (clock_now(CLOCK_MONOTONIC) - begun) / 1e6;
}

/* Reads and compiles: how long that took. < 0: it could not be done. */
static double compile(const struct elf_image *file, struct unwind_table *ret, double *ret_compile,
		      uint64_t *ret_cfi_bytes)
{
	uint64_t begun = clock_now(CLOCK_MONOTONIC), read;
	struct unwind_bytes bytes;
	double took;

	if (unwind_bytes_read(file, &bytes) < 0)
		return -1;
	read = clock_now(CLOCK_MONOTONIC);
	if (unwind_table_compile(&bytes.source, ret) < 0)
		return -1;
	*ret_compile = milliseconds_since(read);
	took = milliseconds_since(begun);
	*ret_cfi_bytes = 0;
	for (size_t i = 0; i < bytes.source.n_sections; i++)
		*ret_cfi_bytes += bytes.sections[i].size;
	unwind_bytes_deinit(&bytes);
	return took;
}

static double load(const struct table_cache *cache, const struct elf_image *file)
{
	uint64_t begun = clock_now(CLOCK_MONOTONIC);
	struct kept_file cached;
	struct unwind_table table;
	struct table_cache_key key;
	double took;

	if (!table_cache_key(file, &key) || table_cache_load(cache, &key, &table, &cached) < 0)
		return -1;
	took = milliseconds_since(begun);
	kept_file_unmap(&cached);
	return took;
}

static int measure(const struct table_cache *cache, const char *path)
{
	double ready = 1e9, compiled = 1e9, loaded = 1e9;
	struct unwind_table_header header = { 0 };
	struct table_cache_key key;
	uint64_t cfi_bytes = 0;
	struct elf_image file;
	size_t size = 0;

	if (elf_image_open_descriptor(open(path, O_RDONLY | O_CLOEXEC), 0, &file) != ELF_IMAGE_OK)
		return -1;
	for (int i = 0; i < ROUNDS; i++) {
		struct unwind_table table;
		double compile_ms, took = compile(&file, &table, &compile_ms, &cfi_bytes);

		if (took < 0)
			return -1;
		ready = took < ready ? took : ready;
		compiled = compile_ms < compiled ? compile_ms : compiled;
		size = table.size;
		header = *table.header;
		if (table_cache_key(&file, &key))
			table_cache_save(cache, &key, &table);
		unwind_table_deinit(&table);
		took = load(cache, &file);
		loaded = took < loaded ? took : loaded;
	}
	printf("file=%s cfi_bytes=%" PRIu64 " table_bytes=%zu share=%.3f rows=%u rules=%u "
	       "refused=%u compile_ms=%.2f ready_ms=%.2f from_disk_ms=%.3f times_sooner=%.1f\n",
	       path, cfi_bytes, size, (double)size / cfi_bytes, header.n_rows, header.n_rules,
	       header.n_refused, compiled, ready, loaded, loaded > 0 ? ready / loaded : 0);
	elf_image_close(&file);
	return 0;
}

int main(int argc, char **argv)
{
	struct table_cache cache;
	int status = 0;

	table_cache_open(&cache);
	for (int i = 1; i < argc; i++) {
		if (measure(&cache, argv[i]) == 0)
			continue;
		fprintf(stderr, "compile-tables: could not read '%s'\n", argv[i]);
		status = 1;
	}
	table_cache_close(&cache);
	return status;
}
