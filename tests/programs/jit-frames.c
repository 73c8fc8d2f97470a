/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code of a JIT compiler: "outer" calls a function that is little more than prologue and epilogue.
 *
 *	jit-frames dump|map kept|bare|framed DIR ROUNDS
 *
 * "kept" keeps a frame pointer, "bare" has no frame, "framed" has one without a frame pointer. The
 * code is reported in DIR/jit-PID.dump with its bytes, or in DIR/perf-PID.map without.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "jit-told.h"

enum { CALLEE_AT = 64, CALL_END = 14 };

/* Calls the callee %rdi times. */
static unsigned char outer[] = {
	0x55,			   /* push %rbp */
	0x48, 0x89, 0xe5,	   /* mov %rsp, %rbp */
	0x53,			   /* push %rbx */
	0x50,			   /* push %rax, for alignment */
	0x48, 0x89, 0xfb,	   /* mov %rdi, %rbx */
	0xe8, 0,    0,	  0,	0, /* call */
	0x48, 0xff, 0xcb,	   /* dec %rbx */
	0x75, 0xf6,		   /* jnz */
	0x58, 0x5b, 0x5d, 0xc3,	   /* pop %rax; pop %rbx; pop %rbp; ret */
};
static const unsigned char kept[] = { 0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3 };
static const unsigned char bare[] = { 0xc3 };
static const unsigned char framed[] = { 0x48, 0x83, 0xec, 0x18, 0x48, 0x83, 0xc4, 0x18, 0xc3 };

static const struct callee {
	const char *name;
	const unsigned char *code;
	size_t size;
} callees[] = {
	{ "kept", kept, sizeof(kept) },
	{ "bare", bare, sizeof(bare) },
	{ "framed", framed, sizeof(framed) },
};

static FILE *out;
static bool is_dump;

static void open_out(const char *how, const char *directory)
{
	char path[4096];

	is_dump = !strcmp(how, "dump");
	snprintf(path, sizeof(path), is_dump ? "%s/jit-%d.dump" : "%s/perf-%d.map", directory,
		 getpid());
	out = fopen(path, "w+e");
	if (!out)
		err(1, "%s", path);
	if (is_dump)
		dump_begin(out);
}

static void make(unsigned char *at, const unsigned char *code, size_t size, const char *name)
{
	static uint64_t index;

	memcpy(at, code, size);
	if (is_dump)
		dump_report(out, at, code, size, name, index++);
	else
		map_report(out, at, size, name);
	fflush(out);
}

static const struct callee *find_callee(const char *name)
{
	for (size_t i = 0; i < sizeof(callees) / sizeof(callees[0]); i++)
		if (!strcmp(callees[i].name, name))
			return &callees[i];
	errx(2, "'%s' is none of kept, bare, framed", name);
}

int main(int argc, char **argv)
{
	const struct callee *callee;
	int32_t distance = CALLEE_AT - CALL_END;
	unsigned char *code;

	if (argc != 5)
		errx(2, "jit-frames dump|map kept|bare|framed DIR ROUNDS");
	callee = find_callee(argv[2]);
	code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (code == MAP_FAILED)
		err(1, "mmap");
	open_out(argv[1], argv[3]);
	memcpy(outer + CALL_END - sizeof(distance), &distance, sizeof(distance));
	make(code, outer, sizeof(outer), "outer");
	make(code + CALLEE_AT, callee->code, callee->size, callee->name);
	for (long rounds = atol(argv[4]); rounds > 0; rounds--)
		((void (*)(uint64_t))(uintptr_t)code)(1000000);
	return 0;
}
