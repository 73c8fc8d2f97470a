/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Has what Ruby 3.3 exports, and arrays of frames of which only that of `good` is one:
 *
 *	ruby-fake CPU-SECONDS good|made|two|endless|guard|garbage|kind|unheld|foreign
 *
 * `made` executes them in code that a compiler has made; `foreign` lets a library call that.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
	FRAMES = 600,
	USED = 10,
	METHOD = 0x11110003,
	OUTERMOST = 0x799900a3,
	FINISH = 0x20,
	STRING = 5,
	WORDS = 20, /* of code */
	LINE = 12,
};

struct string {
	uint64_t flags, class, length;
	char text[16];
};

struct entry {
	uint32_t line, node, events;
};

struct body { /* rb_iseq_constant_body */
	uint32_t type, n_words;
	const uint64_t *code;
	char parameters[48];
	const struct string *path, *base_label, *label;
	uint32_t first_line, node, range[4];
	const struct entry *entries;
	const uint32_t *positions;
	uint32_t n_entries, unused;
	const uint64_t *table;
};

struct iseq {
	uint64_t flags, wrapper;
	const struct body *body;
};

struct frame { /* rb_control_frame_t */
	const uint64_t *pc, *sp;
	const struct iseq *iseq;
	uint64_t self;
	const uint64_t *ep;
	const void *block, *jit;
};

struct thread {
	uint64_t unused[2], self;
};

struct context { /* rb_execution_context_t */
	uint64_t *values;
	uint64_t n_values;
	struct frame *frame;
	uint64_t unused[3];
	struct thread *thread;
};

#define EXPORTED __attribute__((visibility("default"), used))

EXPORTED const char ruby_version[] = "3.3.0";
EXPORTED uint64_t rb_thread_current(void);
void spin(double seconds);
void loop(const struct frame *frame, double seconds);
void exec(const void *code, const struct frame *frame);

static __thread struct context *current;

uint64_t rb_thread_current(void)
{
	return current->thread->self;
}

void spin(double seconds)
{
	struct timespec begun, now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now.tv_sec - begun.tv_sec + (now.tv_nsec - begun.tv_nsec) / 1e9 < seconds);
}

/* Holds its frame as vm_exec_core() does, and jumps from instruction to instruction as it does. */
__asm__(".globl loop\n"
	".type loop, @function\n"
	"loop:\n"
	".cfi_startproc\n"
	"	push %r15\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset 15, -16\n"
	"	mov %rdi, %r15\n"
	"	xor %edi, %edi\n"
	"	call spin\n"
	"	pop %r15\n"
	".cfi_def_cfa_offset 8\n"
	"	ret\n"
	".rept 64\n"
	"	jmp *16(%rbp)\n"
	".endr\n"
	".fill 8192, 1, 0x90\n"
	".cfi_endproc\n"
	".size loop, .-loop\n");

/* Calls made code, as rb_vm_exec() does. */
__asm__(".globl exec\n"
	".type exec, @function\n"
	"exec:\n"
	".cfi_startproc\n"
	"	sub $8, %rsp\n"
	".cfi_def_cfa_offset 16\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	call *%rax\n"
	"	add $8, %rsp\n"
	".cfi_def_cfa_offset 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size exec, .-exec\n");

static double seconds;

static void spin_on(void)
{
	spin(seconds);
}

/* Saves registers as YJIT's code does, holds its frame, and calls spin_on(). */
static void *make_code(void)
{
	static const unsigned char begin[] = {
		0x41, 0x55, 0x41, 0x54, 0x53, 0x49, 0x89, 0xfd, 0x48, 0xb8
	}; /* …, mov $spin_on, %rax */
	static const unsigned char end[] = { 0xff, 0xd0, 0x5b, 0x41, 0x5c, 0x41, 0x5d, 0xc3 };
	void (*const target)(void) = spin_on;
	char *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(made, begin, sizeof(begin));
	memcpy(made + sizeof(begin), &target, sizeof(target));
	memcpy(made + sizeof(begin) + sizeof(target), end, sizeof(end));
	return made;
}

static const uint64_t code[WORDS];
static const struct entry entry = { LINE, 0, 0 };
static const struct string name = { STRING, 0, 5, "inner" };
static const struct string file = { STRING, 0, 7, "fake.rb" };
static const uint64_t table[6];
static const struct body body = {
	.n_words = WORDS,
	.code = code,
	.path = &file,
	.label = &name,
	.entries = &entry,
	.n_entries = 1,
	.table = table,
};
static const struct iseq iseq = { .body = &body };
static struct frame frames[FRAMES];
static uint64_t kinds[USED];
static struct thread thread;
static struct context context = { .frame = frames, .thread = &thread };
static const struct frame *volatile held; /* volatile: nobody else holds another one */

static void *guard_page(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(pages + 4096, 4096, PROT_NONE);
	return pages + 4096;
}

__attribute__((noinline)) static void make(const char *how)
{
	for (size_t i = 0; i < USED; i++) {
		kinds[i] = METHOD;
		frames[i] = (struct frame){ .pc = code + 1 + i, .iseq = &iseq, .ep = &kinds[i] };
	}
	kinds[USED - 2] = METHOD | FINISH;
	kinds[USED - 1] = OUTERMOST;
	frames[USED - 1].iseq = NULL;
	if (!strcmp(how, "two"))
		kinds[3] = METHOD | FINISH;
	if (!strcmp(how, "endless"))
		kinds[USED - 1] = METHOD;
	if (!strcmp(how, "guard"))
		frames[5].iseq = guard_page();
	if (!strcmp(how, "garbage"))
		for (size_t i = 0; i < sizeof(frames); i++)
			((char *)frames)[i] = rand();
	if (!strcmp(how, "kind"))
		kinds[4] = 0x12340001;
	current = &context;
	held = strcmp(how, "unheld") ? frames : frames + 2 * USED;
}

/* The made code is a comparison, whose first argument is the frame. */
static void call_from_library(void *made)
{
	qsort(frames, 2, sizeof(*frames), (int (*)(const void *, const void *))made);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	seconds = atof(argv[1]);
	make(argv[2]);
	if (!strcmp(argv[2], "made"))
		exec(make_code(), held);
	else if (!strcmp(argv[2], "foreign"))
		call_from_library(make_code());
	else
		loop(held, seconds);
	return rb_thread_current() != 0;
}
