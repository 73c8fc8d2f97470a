/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A JIT compiler that runs each function that it has made for a while, under the thread name of the
 * function, so that samples tell which one was running:
 *
 *	jit-spin dump|map|none prompt|late same|turns|apart DIR ROUNDS [memory|memfd|shm [FILE]]
 *
 * It tells of them in DIR/jit-PID.dump or DIR/perf-PID.map or nowhere; `prompt`: before one runs,
 * `late`: all at the end; at the `same` place one after the other, two there in `turns`, or `apart`
 * from each other. The code is in anonymous memory, or in a file without a name that is mapped
 * twice, as .NET does. What FILE holds is told first.
 */
#include <elf.h>
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, SLOT = 64, FUNCTIONS_MAX = PAGE / SLOT, LOOPS_A_ROUND = 2000000 };

/* Counts %rdi down. It has the frame pointer that alone leads out of it. */
static const unsigned char spin[] = {
	0x55,		  /* push rbp */
	0x48, 0x89, 0xe5, /* mov rbp, rsp */
	0x48, 0xff, 0xcf, /* dec rdi */
	0x75, 0xfb,	  /* jnz */
	0x5d, 0xc3,	  /* pop rbp; ret */
};

struct file_header {
	uint32_t magic, version, size, machine, padding, pid;
	uint64_t time, flags;
};

struct load {
	uint32_t id, record_size;
	uint64_t time;
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
};

static FILE *out;
static bool is_dump;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

/* How a profiler gets to know of the file: it is mapped as code. */
static void begin_dump(void)
{
	struct file_header header = { 0x4a695444, 1,	    sizeof(header), EM_X86_64,
				      0,	  getpid(), now(),	    0 };

	fwrite(&header, sizeof(header), 1, out);
	fflush(out);
	if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(out), 0) == MAP_FAILED)
		err(1, "mmap");
}

static void tell_all_of(const char *path)
{
	FILE *file = fopen(path, "re");
	char text[BUFSIZ];
	size_t size;

	if (!file)
		err(1, "%s", path);
	while ((size = fread(text, 1, sizeof(text), file)) > 0)
		fwrite(text, 1, size, out);
	fclose(file);
}

static void tell(const unsigned char *at, const char *name, uint64_t index)
{
	struct load load = {
		.record_size = sizeof(load) + strlen(name) + 1 + sizeof(spin),
		.time = now(),
		.pid = getpid(),
		.tid = getpid(),
		.vma = (uintptr_t)at,
		.address = (uintptr_t)at,
		.size = sizeof(spin),
		.index = index,
	};

	if (!is_dump) {
		fprintf(out, "%lx %zx %s\n", (unsigned long)(uintptr_t)at, sizeof(spin), name);
		return;
	}
	fwrite(&load, sizeof(load), 1, out);
	fwrite(name, strlen(name) + 1, 1, out);
	fwrite(spin, sizeof(spin), 1, out);
}

__attribute__((noinline)) static void run(const unsigned char *at, long rounds)
{
	void (*function)(uint64_t n) = (void (*)(uint64_t))(uintptr_t)at;

	function(rounds * LOOPS_A_ROUND);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

/* A page for code; how far behind it the page is where it can be written, goes to `ret_writable`.
 */
static unsigned char *map_code(const char *where, ptrdiff_t *ret_writable)
{
	static const char path[] = "/dev/shm/stackpipe-jit-spin";
	int fd = -1, prot = PROT_READ | PROT_EXEC;
	unsigned char *code, *writable;

	*ret_writable = 0;
	if (!strcmp(where, "memory"))
		return mmap(NULL, PAGE, prot | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!strcmp(where, "memfd"))
		fd = memfd_create("doublemapper", MFD_CLOEXEC);
	else if (!strcmp(where, "shm"))
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, PAGE) < 0)
		return MAP_FAILED;
	writable = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	code = writable == MAP_FAILED ? writable : mmap(NULL, PAGE, prot, MAP_SHARED, fd, 0);
	if (!strcmp(where, "shm"))
		unlink(path);
	*ret_writable = writable - code;
	return code;
}

int main(int argc, char **argv)
{
	unsigned char *code;
	ptrdiff_t writable;
	char text[4096];

	if (argc < 6 || argc > 8)
		errx(2, "jit-spin dump|map|none prompt|late same|turns|apart DIR ROUNDS WHERE FILE");
	is_dump = !strcmp(argv[1], "dump");
	snprintf(text, sizeof(text), "%s/%s-%d.%s", argv[4], is_dump ? "jit" : "perf", getpid(),
		 is_dump ? "dump" : "map");
	out = fopen(strcmp(argv[1], "none") ? text : "/dev/null", "w+e");
	code = map_code(argc > 6 ? argv[6] : "memory", &writable);
	if (!out || code == MAP_FAILED)
		err(1, "%s", text);
	setvbuf(out, NULL, _IOFBF, 1 << 20);
	if (is_dump)
		begin_dump();
	if (argc > 7)
		tell_all_of(argv[7]);
	for (int i = 0; i < FUNCTIONS_MAX / 4; i++) {
		unsigned char *at = strcmp(argv[3], "apart") ? code : code + i * SLOT;

		snprintf(text, sizeof(text), "made-%d", strcmp(argv[3], "turns") ? i : i % 2);
		prctl(PR_SET_NAME, text);
		memcpy(at + writable, spin, sizeof(spin));
		tell(at, text, i);
		if (!strcmp(argv[2], "prompt"))
			fflush(out);
		run(at, atol(argv[5]));
	}
	prctl(PR_SET_NAME, "end");
	return fclose(out) ? 1 : 0;
}
