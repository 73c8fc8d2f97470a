/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A JIT compiler whose jitdump is mapped in another process than the one that it describes:
 *
 *	jit-others fork DIR: also in a child, which puts code of its own at the parent's addresses
 *		and appends to the same file. Waits until DIR/go is written to, then holds
 *		DIR/done open until both have run.
 *	jit-others exec DIR: in the program that it executes, under the same PID.
 *
 * A thread that runs code reported for its own process has the name of that code.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "jit-told.h"

enum { REPORTED = 0, UNREPORTED = 64, LOOPS = 400000000 };

static FILE *out;
static unsigned char *code;

static void map_dump(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		err(1, "%s", path);
	dump_map(fd);
}

static void begin_dump(const char *path)
{
	out = fopen(path, "w+e");
	if (!out)
		err(1, "%s", path);
	dump_begin(out);
}

static void report(const unsigned char *at, const char *name)
{
	dump_report(out, at, spin, sizeof(spin), name, 0);
	fflush(out);
}

/* Puts code at the same address in each process. */
static void make_code(void)
{
	code = mmap((void *)0x10000000, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (code == MAP_FAILED)
		err(1, "mmap");
	memcpy(code + REPORTED, spin, sizeof(spin));
	memcpy(code + UNREPORTED, spin, sizeof(spin));
}

__attribute__((noinline)) static void run(const unsigned char *at, const char *thread)
{
	void (*function)(uint64_t n) = (void (*)(uint64_t))(uintptr_t)at;

	prctl(PR_SET_NAME, thread);
	function(LOOPS);
	__asm__ volatile("" ::: "memory"); /* no tail call */
	prctl(PR_SET_NAME, "between");
}

static void await(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		err(1, "waiting");
}

/* Both report in turns. The child also runs code at UNREPORTED, which only the parent reported. */
static void run_child(int from_parent, int to_parent)
{
	await(from_parent); /* until it has reported UNREPORTED */
	report(code + REPORTED, "child");
	if (write(to_parent, "", 1) != 1)
		err(1, "write");
	run(code + REPORTED, "child");
	run(code + UNREPORTED, "nameless");
}

static void run_parent(int from_child, int to_child)
{
	report(code + REPORTED, "parent");
	report(code + UNREPORTED, "untold");
	if (write(to_child, "", 1) != 1)
		err(1, "write");
	await(from_child); /* until it has reported REPORTED */
	run(code + REPORTED, "parent");
}

static void run_both(void)
{
	int down[2], up[2], go, done = -1, status;
	pid_t child;

	if (pipe(down) < 0 || pipe(up) < 0 || (child = fork()) < 0)
		err(1, "fork");
	if (child == 0) {
		run_child(down[0], up[1]);
		exit(0);
	}
	printf("%d,%d\n", getpid(), child);
	fflush(stdout);
	go = open("go", O_RDONLY | O_CLOEXEC);
	if (go < 0)
		err(1, "go");
	await(go);
	done = open("done", O_WRONLY | O_CLOEXEC);
	if (done < 0)
		err(1, "done");
	run_parent(up[0], down[1]);
	if (waitpid(child, &status, 0) != child || status)
		errx(1, "the child has failed");
}

int main(int argc, char **argv)
{
	char path[64];

	if (argc != 3 || chdir(argv[2]) < 0)
		errx(2, "jit-others fork|exec|executed DIR");
	snprintf(path, sizeof(path), "jit-%d.dump", getpid());
	make_code();
	if (!strcmp(argv[1], "executed")) {
		map_dump(path);
		run(code + REPORTED, "nameless");
		return 0;
	}
	begin_dump(path);
	report(code + REPORTED, "parent");
	if (!strcmp(argv[1], "fork")) {
		run_both();
		return 0;
	}
	run(code + REPORTED, "parent");
	execl("/proc/self/exe", argv[0], "executed", argv[2], NULL);
	err(1, "exec");
}
