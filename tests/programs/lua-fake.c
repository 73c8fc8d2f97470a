/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Has what Lua 5.4 exports, and lists of calls of which only that of `good` is one:
 *
 *	lua-fake CPU-SECONDS good|cycle|guard|garbage|stale|unheld|other
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
	CALLS = 300,
	USED = 4,
	THREAD = 8,
	PROTO = 10,
	SHORT = 4,
	OF_C = 2,
	FRESH = 4,
	N_CODE = 8,
	LINE = 12,
};

struct string {
	uint64_t next;
	uint8_t type, marked, extra, length;
	uint32_t hash;
	uint64_t more;
	char text[16];
};

struct proto {
	uint64_t next;
	uint8_t type, marked, rest[6];
	uint32_t numbers[2], n_code, n_lines, more[2], n_marks, line;
	uint64_t last_line, constants;
	const uint32_t *code;
	uint64_t protos, values;
	const int8_t *lines;
	uint64_t marks, locals;
	const struct string *source;
	uint64_t end;
};

struct closure {
	uint64_t head[3];
	const struct proto *proto;
};

struct value {
	const struct closure *closure;
	uint64_t type;
};

struct call { /* CallInfo */
	const struct value *function, *top;
	struct call *previous, *next;
	const uint32_t *pc;
	uint64_t more[2];
	uint32_t rest;
	int16_t n_results;
	uint16_t status;
};

struct global;

struct thread { /* lua_State */
	uint64_t next;
	uint8_t type, rest[7];
	uint64_t top;
	struct global *global;
	struct call *call;
};

struct global {
	char rest[0x108];
	struct thread *first;
};

_Static_assert(sizeof(struct proto) == 128, "");
_Static_assert(sizeof(struct call) == 64, "");

#define EXPORTED __attribute__((visibility("default"), used))

EXPORTED const char lua_ident[] = "$LuaVersion: Lua 5.4.6  Copyright (C) 1994-2023 $";
EXPORTED void *lua_newstate(void);
int lua_pushthread(const struct thread *thread);
void loop(const struct thread *thread, const struct call *call, double seconds);
void spin(double seconds);

/* Compares its argument with the first thread; and a loop that keeps both of its arguments. */
__asm__(".globl lua_pushthread\n"
	".type lua_pushthread, @function\n"
	"lua_pushthread:\n"
	"	mov 0x18(%rdi), %rax\n"
	"	cmp %rdi, 0x108(%rax)\n"
	"	sete %al\n"
	"	movzbl %al, %eax\n"
	"	ret\n"
	".size lua_pushthread, .-lua_pushthread\n"
	".globl loop\n"
	".type loop, @function\n"
	"loop:\n"
	".cfi_startproc\n"
	"	push %rbx\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset 3, -16\n"
	"	push %rdi\n"
	".cfi_def_cfa_offset 24\n"
	"	sub $8, %rsp\n"
	".cfi_def_cfa_offset 32\n"
	"	mov %rsi, %rbx\n"
	"	xor %edi, %edi\n"
	"	xor %esi, %esi\n"
	"	call spin\n"
	"	add $16, %rsp\n"
	".cfi_def_cfa_offset 16\n"
	"	pop %rbx\n"
	".cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	jmp *%rax\n"
	"	.fill 8192, 1, 0x90\n"
	".cfi_endproc\n"
	".size loop, .-loop\n");

void *lua_newstate(void)
{
	return NULL;
}

void spin(double seconds)
{
	struct timespec begun, now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now.tv_sec - begun.tv_sec + (now.tv_nsec - begun.tv_nsec) / 1e9 < seconds);
}

static const uint32_t code[N_CODE];
static const int8_t lines[N_CODE];
static const struct string source = { .type = SHORT, .length = 9, .text = "@fake.lua" };
static const struct proto proto = {
	.type = PROTO,
	.n_code = N_CODE,
	.n_lines = N_CODE,
	.line = LINE,
	.code = code,
	.lines = lines,
	.source = &source,
};
static struct closure closures[CALLS];
static struct value values[CALLS];
static struct call calls[CALLS];
static struct global global;
static struct thread thread = { .type = THREAD, .global = &global, .call = calls };
static const struct call *volatile held = calls;

static void *guard_page(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(pages + 4096, 4096, PROT_NONE);
	return pages + 4096;
}

/* No caller has an address of a call in its registers, as it does not know any. */
__attribute__((noinline)) static void make(const char *how)
{
	for (int i = 0; i < CALLS; i++) {
		closures[i].proto = &proto;
		values[i].closure = &closures[i];
		calls[i] = (struct call){ .function = &values[i],
					  .pc = code + 1,
					  .previous = i + 1 < USED ? &calls[i + 1] : NULL };
	}
	calls[USED - 2].status = FRESH;
	calls[USED - 1].status = OF_C;
	global.first = &thread;
	if (!strcmp(how, "cycle"))
		calls[USED - 1].previous = calls;
	if (!strcmp(how, "guard"))
		closures[1].proto = guard_page();
	if (!strcmp(how, "garbage"))
		for (size_t i = 0; i < sizeof(calls[0]) * (USED - 1); i++)
			((char *)calls)[i] = rand();
	if (!strcmp(how, "stale"))
		calls[USED - 2].status = 0;
	if (!strcmp(how, "unheld"))
		held = calls + CALLS / 2;
	if (!strcmp(how, "other"))
		global.first = NULL;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	make(argv[2]);
	loop(&thread, held, atof(argv[1]));
	return lua_pushthread(&thread) != 1 && lua_newstate();
}
