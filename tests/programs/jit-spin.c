/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A JIT compiler that runs each function that it makes for a while, under a thread name equal to
 * the function's, so that samples tell which one was running:
 *
 *	jit-spin dump|map|none prompt|late same|turns|apart DIR ROUNDS [memory|memfd|shm [FILE]]
 *
 * Functions are reported in DIR/jit-PID.dump, in DIR/perf-PID.map or not at all; `prompt`: before
 * each one runs, `late`: all at the end. They are made one after the other at the `same` address,
 * two there in `turns`, or `apart` from each other. The code is in anonymous memory, or in an
 * unlinked file that is mapped twice, as .NET does. The content of FILE is reported first.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "jit-told.h"

enum { SLOT = 64, FUNCTIONS_MAX = PAGE / SLOT, LOOPS_A_ROUND = 2000000 };

static FILE *out;
static bool is_dump;

static void report_all_of(const char *path)
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

static void report(const unsigned char *at, const char *name, uint64_t index)
{
	if (is_dump)
		dump_report(out, at, spin, sizeof(spin), name, index);
	else
		map_report(out, at, sizeof(spin), name);
}

__attribute__((noinline)) static void run(const unsigned char *at, long rounds)
{
	void (*function)(uint64_t n) = (void (*)(uint64_t))(uintptr_t)at;

	function(rounds * LOOPS_A_ROUND);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

/* Maps a page for code; `ret_writable`: distance to where it can be written. */
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
		errx(2,
		     "jit-spin dump|map|none prompt|late same|turns|apart DIR ROUNDS WHERE FILE");
	is_dump = !strcmp(argv[1], "dump");
	snprintf(text, sizeof(text), "%s/%s-%d.%s", argv[4], is_dump ? "jit" : "perf", getpid(),
		 is_dump ? "dump" : "map");
	out = fopen(strcmp(argv[1], "none") ? text : "/dev/null", "w+e");
	code = map_code(argc > 6 ? argv[6] : "memory", &writable);
	if (!out || code == MAP_FAILED)
		err(1, "%s", text);
	setvbuf(out, NULL, _IOFBF, 1 << 20);
	if (is_dump)
		dump_begin(out);
	if (argc > 7)
		report_all_of(argv[7]);
	for (int i = 0; i < FUNCTIONS_MAX / 4; i++) {
		unsigned char *at = strcmp(argv[3], "apart") ? code : code + i * SLOT;

		snprintf(text, sizeof(text), "made-%d", strcmp(argv[3], "turns") ? i : i % 2);
		prctl(PR_SET_NAME, text);
		memcpy(at + writable, spin, sizeof(spin));
		report(at, text, i);
		if (!strcmp(argv[2], "prompt"))
			fflush(out);
		run(at, atol(argv[5]));
	}
	prctl(PR_SET_NAME, "end");
	return fclose(out) ? 1 : 0;
}
