/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes a perf map and a jitdump that lie: names for all addresses, for those of libc and of its
 * own code, names of a megabyte, and records with wrong sizes:
 *
 *	forged-names DIRECTORY SECONDS
 *
 * DIRECTORY gets the jitdump.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, LOAD = 0 };

struct load {
	uint32_t id, size;
	uint64_t time;
	uint32_t pid, tid;
	uint64_t vma, address, code_size, index;
};

static void write_map(void)
{
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "we");
	if (!map)
		err(2, "%s", path);
	fprintf(map, "0 ffffffffffffffff forged_everything\n");
	fprintf(map, "%lx 1000 forged_main\n", (unsigned long)write_map);
	fprintf(map, "%lx 100000 forged_libc\n", (unsigned long)printf & -(unsigned long)PAGE);
	fprintf(map, "ffffffffffffffff ffffffffffffffff forged_wrap\nzz 1 x\n-5 5 y\n");
	for (int i = 0; i < 1 << 20; i++)
		fputc("abc\033"[i % 4], map);
	fclose(map);
}

static void write_load(FILE *dump, uint64_t address, uint64_t code_size, uint32_t size)
{
	struct timespec now;
	struct load load = { LOAD, size, 0, getpid(), getpid(), address, address, code_size, 1 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	load.time = now.tv_sec * 1000000000ULL + now.tv_nsec;
	fwrite(&load, sizeof(load), 1, dump);
	fputs("forged_by_jitdump", dump);
	fputc(0, dump);
	for (int i = 0; i < 64; i++)
		fputc(0x90, dump);
}

static void write_jitdump(const char *directory)
{
	static const uint32_t header[10] = { 0x4a695444, 1, 40, 62 };
	char path[4096];
	FILE *dump;

	snprintf(path, sizeof(path), "%s/jit-%d.dump", directory, getpid());
	dump = fopen(path, "w+e");
	if (!dump)
		err(2, "%s", path);
	fwrite(header, sizeof(header), 1, dump);
	fflush(dump);
	if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
		err(2, "mmap");
	for (int i = 0; i < 100; i++) {
		write_load(dump, (uintptr_t)write_map, 64, sizeof(struct load) + 18 + 64);
		write_load(dump, 0, UINT64_MAX, sizeof(struct load) + 18 + 64);
		write_load(dump, UINT64_MAX - 5, 64, sizeof(struct load) + 18 + 64);
	}
	write_load(dump, (uintptr_t)printf, 1 << 20, UINT32_MAX);
	write_load(dump, (uintptr_t)printf, 1 << 20, 3);
	fclose(dump);
}

int main(int argc, char **argv)
{
	clock_t end = argc == 3 ? atof(argv[2]) * CLOCKS_PER_SEC : 0;
	volatile unsigned long sink = 0;
	char path[64];

	if (argc != 3)
		errx(2, "usage: forged-names DIRECTORY SECONDS");
	write_map();
	write_jitdump(argv[1]);
	while (clock() < end)
		for (int i = 0; i < 1000000; i++)
			sink++;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	return 0;
}
