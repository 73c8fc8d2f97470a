/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A JIT compiler that writes a jitdump: it replaces code, moves it, runs it, and reports after each
 * step what is where:
 *
 *	jitdump FILE
 *
 * prints lines of "TIME ADDRESS NAME LINE" (CLOCK_MONOTONIC; line 0: none); NAME is "-" where there
 * is no code. FILE has the records of a line before it is printed.
 */
#include <elf.h>
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	LOAD,
	MOVE,
	DEBUG_INFO,
	CLOSE,
	CODE_SIZE = 32,
	PAGE = 4096,
};

struct file_header {
	uint32_t magic, version, size, machine, padding, pid;
	uint64_t time, flags;
};

struct record_header {
	uint32_t id, size;
	uint64_t time;
};

struct load {
	struct record_header header;
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
};

struct move {
	struct record_header header;
	uint32_t pid, tid;
	uint64_t vma, from, to, size, index;
};

struct debug_info {
	struct record_header header;
	uint64_t address, n;
};

struct debug_entry {
	uint64_t address;
	uint32_t line, column;
	char file[8];
};

static FILE *dump;
static uint8_t *memory;
static uint64_t n_functions;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static void put(const void *bytes, size_t size)
{
	if (fwrite(bytes, 1, size, dump) != size)
		err(1, "jitdump");
}

static void put_header(void)
{
	struct file_header header = { 0x4a695444, 1,	    sizeof(header), EM_X86_64,
				      0,	  getpid(), now(),	    0 };

	put(&header, sizeof(header));
}

/* The second half of the code is of the next line. */
static void put_lines(const uint8_t *at, uint32_t line)
{
	struct debug_entry entries[] = {
		{ (uintptr_t)at, line, 1, "made.js" },
		{ (uintptr_t)at + CODE_SIZE / 2, line + 1, 2, "made.js" },
	};
	struct debug_info info = { { DEBUG_INFO, sizeof(info) + sizeof(entries), now() },
				   (uintptr_t)at,
				   2 };

	put(&info, sizeof(info));
	put(entries, sizeof(entries));
}

/* Makes a function that returns `value`. */
static void make_code(uint8_t *at, uint32_t value)
{
	memset(at, 0x90, CODE_SIZE); /* nop */
	at[CODE_SIZE - 6] = 0xb8;    /* mov $value,%eax */
	memcpy(at + CODE_SIZE - 5, &value, sizeof(value));
	at[CODE_SIZE - 1] = 0xc3; /* ret */
}

static void run(uint8_t *at, uint32_t value)
{
	uint32_t (*function)(void) = (uint32_t(*)(void))(uintptr_t)at;

	if (function() != value)
		errx(1, "%p returns something else than %u", (void *)at, value);
}

static void load(uint8_t *at, const char *name, uint32_t line)
{
	struct load record = {
		.header = { LOAD, sizeof(record) + strlen(name) + 1 + CODE_SIZE, 0 },
		.pid = getpid(),
		.tid = getpid(),
		.vma = (uintptr_t)at,
		.address = (uintptr_t)at,
		.size = CODE_SIZE,
		.index = n_functions++,
	};

	make_code(at, record.index);
	if (line)
		put_lines(at, line);
	record.header.time = now();
	put(&record, sizeof(record));
	put(name, strlen(name) + 1);
	put(at, CODE_SIZE);
	fflush(dump);
	run(at, record.index);
}

static void move(uint8_t *from, uint8_t *to, uint64_t index)
{
	struct move record = {
		.header = { MOVE, sizeof(record), 0 },
		.pid = getpid(),
		.tid = getpid(),
		.vma = (uintptr_t)to,
		.from = (uintptr_t)from,
		.to = (uintptr_t)to,
		.size = CODE_SIZE,
		.index = index,
	};

	memmove(to, from, CODE_SIZE);
	record.header.time = now();
	put(&record, sizeof(record));
	fflush(dump);
	run(to, index);
}

static void say(const uint8_t *at, const char *name, uint32_t line)
{
	printf("%llu %p %s %u\n", (unsigned long long)now(), (void *)at, name, line);
	fflush(stdout);
}

static void say_all(const uint8_t *at, const char *name, uint32_t line)
{
	say(at, name, line);
	say(at + CODE_SIZE / 2 - 1, name, line);
	say(at + CODE_SIZE / 2, name, line ? line + 1 : 0);
	say(at + CODE_SIZE - 1, name, line ? line + 1 : 0);
}

static void close_dump(void)
{
	struct record_header header = { CLOSE, sizeof(header), now() };

	put(&header, sizeof(header));
	fclose(dump);
}

int main(int argc, char **argv)
{
	uint8_t *a, *b, *c;

	if (argc != 2 || !(dump = fopen(argv[1], "w+e")))
		errx(2, "usage: jitdump FILE");
	/* perf finds the file by this mapping. */
	if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
		err(1, "%s", argv[1]);
	memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (memory == MAP_FAILED)
		err(1, "mmap");
	a = memory + 256;
	b = memory + 1024;
	c = a + CODE_SIZE / 2;
	put_header();

	say_all(a, "-", 0);
	load(a, "first", 10);
	say_all(a, "first", 10);
	say(a - 1, "-", 0);
	say(a + CODE_SIZE, "-", 0);
	load(a, "second", 20); /* replaces the first */
	say_all(a, "second", 20);
	move(a, b, 1);
	say_all(a, "-", 0);
	say_all(b, "second", 20);
	load(a, "third", 0); /* replaces the second; without lines */
	say_all(a, "third", 0);
	say_all(b, "second", 20);
	move(b, c, 1); /* over half of the third */
	say_all(c, "second", 20);
	say(c - 1, "third", 0);
	say(b, "-", 0);
	for (int i = 0; i < 1000; i++) /* more than one block of the history */
		load(a + i % 3 * CODE_SIZE, i % 3 == 1 ? "odd" : "even", 100 + i);
	say_all(a, "even", 100 + 999);
	say_all(a + CODE_SIZE, "odd", 100 + 997);
	close_dump();
	return 0;
}
