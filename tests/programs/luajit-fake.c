/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Has what LuaJIT 2.1 exports, an interpreter with its instructions, and frames of which only those
 * of `good` are some:
 *
 *	luajit-fake CPU-SECONDS good|upwards|endless|guard|garbage|stale|unheld|other
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
	THREAD = 6,
	PROTO = 7,
	N_CODE = 8,
	LINE = 12,
	SLOTS = 512,
	CALLED_BY_C = 5,
	NONE = -1,
};

struct string {
	uint64_t next;
	uint8_t marked, type, reserved, algorithm;
	uint32_t number, hash, length;
	char text[16];
};

struct proto {
	uint64_t next;
	uint8_t marked, type, n_parameters, n_slots;
	uint32_t n_code, unused[2];
	uint64_t list;
	const void *constants;
	uint64_t values;
	uint32_t n_constants, n_numbers, size;
	uint8_t n_values, flags, trace[2];
	const struct string *source;
	uint32_t line, n_lines;
	const uint8_t *lines;
	uint64_t more[2];
	uint32_t code[N_CODE];
	uint64_t constant[2];
};

struct function {
	uint64_t next;
	uint8_t marked, type, kind, n_values;
	uint64_t environment, list;
	const uint32_t *code;
};

struct global;

struct thread { /* lua_State */
	uint64_t next;
	uint8_t marked, type, rest[6];
	struct global *global;
	uint64_t list;
	uint64_t *base, *top, *end, *stack;
	uint64_t more[2];
	void *frame;
};

struct global {
	char rest[0xc0];
	struct thread *first, *current;
	uint64_t jit_base;
};

_Static_assert(offsetof(struct proto, code) == 104, "");
_Static_assert(offsetof(struct function, code) == 32, "");
_Static_assert(offsetof(struct thread, frame) == 80, "");

#define EXPORTED __attribute__((visibility("default"), used))

EXPORTED int luaJIT_setmode(void);
int lua_pushthread(const struct thread *thread);
void loop(struct thread *thread, uint64_t owner, uint64_t held, double seconds);
void spin(double seconds);

/*
 * Compares its argument with the first thread; and the interpreter: its frame, which has a thread
 * and what that notes; its instructions, which no one executes.
 */
__asm__(".globl lua_pushthread\n"
	".type lua_pushthread, @function\n"
	"lua_pushthread:\n"
	"	mov 0x10(%rdi), %rax\n"
	"	cmp 0xc0(%rax), %rdi\n"
	"	sete %al\n"
	"	movzbl %al, %eax\n"
	"	ret\n"
	".size lua_pushthread, .-lua_pushthread\n"
	".globl loop\n"
	".type loop, @function\n"
	"loop:\n"
	".cfi_startproc\n"
	".cfi_def_cfa_offset 80\n"
	".cfi_offset 6, -16\n"
	".cfi_offset 3, -24\n"
	".cfi_offset 15, -32\n"
	".cfi_offset 14, -40\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r15\n"
	"	push %r14\n"
	"	sub $0x28, %rsp\n"
	"	mov %rdi, %rbp\n"
	"	mov %rsi, 0x10(%rsp)\n"
	"	movq $0, 0x18(%rsp)\n"
	"	movq $0, 0x20(%rsp)\n"
	"	movq $0, 0x8(%rsp)\n"
	"	mov %rsp, %r15\n"
	"	mov %r15, 0x50(%rbp)\n"
	"	mov %rdx, %rbp\n"
	"	call spin\n"
	"	add $0x28, %rsp\n"
	"	pop %r14\n"
	"	pop %r15\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	"	mov 0x10(%rbp), %r14\n"
	"	add $0x1000, %r14\n"
	"	mov 0x20(%r15), %r15\n"
	"	mov -0x48(%r15), %r15\n"
	"	mov %rbx, -0x8(%rdx)\n"
	"	mov 0xc8-0x1000(%r14), %rbp\n"
	"	mov 0xd0-0x1000(%r14), %rdx\n"
	"	mov %rbp, 0x200(%r14)\n"
	"	mov %rdx, 0x20(%rbp)\n"
	"	movq $0, 0xd0-0x1000(%r14)\n"
	"	call spin\n"
	"	.rept 64\n"
	"	jmp *(%r14, %rbp, 8)\n"
	"	.endr\n"
	"	.fill 8192, 1, 0x90\n"
	".cfi_endproc\n"
	".size loop, .-loop\n");

int luaJIT_setmode(void)
{
	return 0;
}

void spin(double seconds)
{
	struct timespec begun, now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now.tv_sec - begun.tv_sec + (now.tv_nsec - begun.tv_nsec) / 1e9 < seconds);
}

static const uint8_t lines[N_CODE];
static const struct string source = { .type = 4, .length = 9, .text = "@fake.lua" };
static struct proto proto = {
	.type = PROTO,
	.n_code = N_CODE,
	.size = sizeof(proto),
	.constants = proto.constant,
	.source = &source,
	.line = LINE,
	.lines = lines,
	.code = { [2] = 1 << 8 }, /* it calls what is in the second slot */
};
static struct function function = { .type = 8, .code = proto.code };
static struct global global;
static uint64_t slots[SLOTS];
static struct thread thread = { .type = THREAD, .global = &global, .stack = slots };

static void *guard_page(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(pages + 4096, 4096, PROT_NONE);
	return pages + 4096;
}

/* The bottom, a function that C has called, and one that this has called. */
static void make(const char *how)
{
	slots[0] = (uintptr_t)&thread;
	slots[1] = NONE;
	slots[4] = (uintptr_t)&function;
	slots[5] = 4 * 8 | CALLED_BY_C;
	slots[7] = (uintptr_t)&function;
	slots[8] = (uintptr_t)&proto.code[3];
	thread.base = slots + 9;
	global.first = global.current = &thread;
	if (!strcmp(how, "upwards"))
		slots[8] = -64 | CALLED_BY_C;
	if (!strcmp(how, "endless")) {
		for (size_t i = 2; i < SLOTS; i++)
			slots[i] = 8 | CALLED_BY_C;
		thread.base = slots + SLOTS;
	}
	if (!strcmp(how, "guard"))
		thread.base = guard_page();
	if (!strcmp(how, "garbage"))
		for (size_t i = 2; i < SLOTS; i++)
			slots[i] = (uint64_t)rand() << 32 | rand();
	if (!strcmp(how, "other"))
		global.first = NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc < 3 ? "" : argv[2];
	uintptr_t owner = (uintptr_t)&thread;

	if (argc < 3)
		return 2;
	make(how);
	loop(&thread, !strcmp(how, "stale") ? (uintptr_t)&global : owner,
	     !strcmp(how, "unheld") ? (uintptr_t)&global : owner, atof(argv[1]));
	return lua_pushthread(&thread) != 1 && luaJIT_setmode();
}
