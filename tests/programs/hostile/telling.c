/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reports more JIT code than a profiler could read, and runs it:
 *
 *	telling lines|names|line|dump|replaced|cut MIB SECONDS
 *
 * `lines`: short lines of a perf map, `names`: lines of 1 MiB, `line`: one that never ends, `dump`:
 * records of a jitdump; `replaced`, `cut`: a perf map that is constantly replaced by another one,
 * or truncated and extended.
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

enum { MIB = 1 << 20, SLOT = 64, SLOTS = MIB / SLOT, PAUSE_US = 20000 };

/* dec %rdi; jnz -5; ret */
static const unsigned char loop[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
static char path[64], other[64];
static unsigned char *code;

static uint64_t slot_at(uint64_t i)
{
	return (uint64_t)(uintptr_t)code + i % SLOTS * SLOT;
}

static void report_lines(FILE *file, uint64_t size)
{
	uint64_t total = 0;

	for (uint64_t i = 0; total < size; i++)
		total +=
			fprintf(file, "%lx 10 f%lx\n", (unsigned long)slot_at(i), (unsigned long)i);
}

static void report_names(FILE *file, uint64_t size)
{
	static char name[MIB];

	memset(name, 'n', sizeof(name) - 1);
	for (uint64_t i = 0; i < size / sizeof(name); i++)
		fprintf(file, "%lx 10 %s\n", (unsigned long)slot_at(i), name);
}

static void report_dump(FILE *file, uint64_t size)
{
	struct {
		uint32_t magic, version, size, machine, padding, pid;
		uint64_t time, flags;
	} header = { 0x4a695444, 1, sizeof(header), 62, 0, getpid(), 0, 0 };
	struct {
		uint32_t id, size;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t vma, address, code_size, index;
		char name[2];
		unsigned char code[6];
	} __attribute__((packed)) load = {
		.size = sizeof(load), .pid = getpid(), .tid = getpid(), .code_size = 6, .name = "f"
	};

	fwrite(&header, sizeof(header), 1, file);
	for (uint64_t i = 0; i < size / sizeof(load); i++) {
		load.vma = load.address = slot_at(i);
		load.index = i;
		fwrite(&load, sizeof(load), 1, file);
	}
}

static void write_file(const char *name, void (*report)(FILE *file, uint64_t size), uint64_t size)
{
	FILE *file = fopen(name, "we");

	if (!file)
		err(1, "%s", name);
	if (report)
		report(file, size);
	fclose(file);
	if (!report && truncate(name, size) < 0)
		err(1, "%s", name);
}

/* A child keeps changing the file; it ends with its parent. */
static void begin_change(const char *how, uint64_t size)
{
	pid_t parent = getpid();

	if (fork())
		return;
	for (int i = 0; getppid() == parent; i++) {
		char link_at[80];

		snprintf(link_at, sizeof(link_at), "%s.link", other);
		if (strcmp(how, "cut") == 0) {
			if (truncate(path, 100) < 0 || truncate(path, size) < 0)
				_exit(1);
		} else if (link(other, link_at) < 0 || rename(link_at, path) < 0) {
			_exit(1);
		}
		usleep(PAUSE_US);
	}
	_exit(0);
}

static void report(const char *how, uint64_t size)
{
	if (strcmp(how, "names") == 0)
		write_file(path, report_names, size);
	else if (strcmp(how, "line") == 0)
		write_file(path, NULL, size);
	else if (strcmp(how, "dump") == 0)
		write_file(path, report_dump, size);
	else
		write_file(path, report_lines, size);
	if (strcmp(how, "dump") == 0) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			err(1, "%s", path);
	}
	if (strcmp(how, "replaced") == 0)
		write_file(other, report_lines, size);
	if (strcmp(how, "replaced") == 0 || strcmp(how, "cut") == 0)
		begin_change(how, size);
}

int main(int argc, char **argv)
{
	clock_t end;

	if (argc != 4)
		errx(2, "usage: telling HOW MIB SECONDS");
	code = mmap(NULL, MIB, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (code == MAP_FAILED)
		err(1, "mmap");
	for (size_t i = 0; i < SLOTS; i++)
		memcpy(code + i * SLOT, loop, sizeof(loop));
	snprintf(path, sizeof(path),
		 strcmp(argv[1], "dump") ? "/tmp/perf-%d.map" : "/tmp/jit-%d.dump", getpid());
	snprintf(other, sizeof(other), "/tmp/telling-%d", getpid());
	report(argv[1], strtoull(argv[2], NULL, 10) * MIB);
	if (puts("ready") < 0 || fflush(stdout))
		err(1, "stdout");
	end = clock() + atof(argv[3]) * CLOCKS_PER_SEC;
	for (size_t i = 0; clock() < end; i++)
		((void (*)(unsigned long))(uintptr_t)slot_at(i))(200000);
	unlink(path);
	unlink(other);
	return 0;
}
