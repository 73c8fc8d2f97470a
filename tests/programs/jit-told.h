/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a JIT compiler reports its code: jitdump records (the Linux kernel's
 * tools/perf/Documentation/jitdump-specification.txt), or lines of a perf map.
 */
#pragma once

#include <elf.h>
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* Counts %rdi down. Only its frame pointer leads to its caller. */
static const unsigned char spin[] __attribute__((unused)) = {
	0x55,		  /* push rbp */
	0x48, 0x89, 0xe5, /* mov rbp, rsp */
	0x48, 0xff, 0xcf, /* dec rdi */
	0x75, 0xfb,	  /* jnz */
	0x5d, 0xc3,	  /* pop rbp; ret */
};

struct dump_header {
	uint32_t magic, version, size, machine, padding, pid;
	uint64_t time, flags;
};

struct dump_load {
	uint32_t id, record_size;
	uint64_t time;
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
};

static inline uint64_t dump_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

/* Maps the file as code, by which profilers find it. */
static inline void dump_map(int fd)
{
	if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		err(1, "mmap");
}

static inline void dump_begin(FILE *out)
{
	struct dump_header header = {
		.magic = 0x4a695444,
		.version = 1,
		.size = sizeof(header),
		.machine = EM_X86_64,
		.pid = getpid(),
		.time = dump_now(),
	};

	fwrite(&header, sizeof(header), 1, out);
	fflush(out);
	dump_map(fileno(out));
}

static inline void dump_report(FILE *out, const unsigned char *at, const void *code, size_t size,
			       const char *name, uint64_t index)
{
	struct dump_load load = {
		.record_size = sizeof(load) + strlen(name) + 1 + size,
		.time = dump_now(),
		.pid = getpid(),
		.tid = getpid(),
		.vma = (uintptr_t)at,
		.address = (uintptr_t)at,
		.size = size,
		.index = index,
	};

	fwrite(&load, sizeof(load), 1, out);
	fwrite(name, strlen(name) + 1, 1, out);
	fwrite(code, size, 1, out);
}

static inline void map_report(FILE *out, const unsigned char *at, size_t size, const char *name)
{
	fprintf(out, "%lx %zx %s\n", (unsigned long)(uintptr_t)at, size, name);
}
