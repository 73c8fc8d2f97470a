/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Has what Perl 5.36 exports, and contexts of which only those of `good` are ones:
 *
 *	perl-fake CPU-SECONDS good|cycle|endless|guard|garbage|kind|many|other
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
	CONTEXTS = 600,
	USED = 4,
	OF_SUB = 9,
	OF_FORMAT = 10,
	TYPE_OF_SUB = 13,
	HAS_NAME = 0x8000,
	ENTER_TRY = 347,
	LINE = 6,
	INTERPRETER_SIZE = 3768,
};

struct key { /* HEK */
	uint32_t hash, length;
	char text[24];
};

struct stash_body { /* xpvhv_with_aux */
	uint64_t unused[4];
	const struct key *name;
	uint64_t more[2];
	uint32_t unused_too, n_names;
};

struct value { /* SV */
	const void *body;
	uint32_t n_references, flags;
	uint64_t more;
};

struct sub_body { /* XPVCV */
	uint64_t unused[4];
	const struct value *stash;
	const void *start, *root;
	const struct key *name;
	const char *file;
	uint64_t pad, outside;
	uint32_t outside_sequence, flags;
	uint64_t depth;
};

struct position { /* COP */
	uint64_t unused[4];
	uint32_t flags, line;
	uint64_t stash;
	const char *file;
};

struct context { /* PERL_CONTEXT */
	uint8_t type, want;
	uint16_t more;
	uint32_t numbers[3];
	const struct position *position;
	uint64_t unused[3];
	const void *return_to;
	uint64_t words[2];
	const struct value *sub;
	uint64_t rest[3];
};

struct stack { /* PERL_SI */
	const void *values;
	struct context *contexts;
	struct stack *previous, *next;
	int32_t last, most, sub, type;
};

struct interpreter {
	uint64_t unused[26];
	const struct position *position;
	uint64_t unused_too;
	struct stack *stack;
	char rest[INTERPRETER_SIZE - 232];
};

_Static_assert(sizeof(struct context) == 104, "");
_Static_assert(sizeof(struct interpreter) == INTERPRETER_SIZE, "");

#define EXPORTED __attribute__((visibility("default"), used))

void enter_try(void);
struct stack *Perl_caller_cx(const struct interpreter *perl);
void Perl_runops_standard(struct interpreter *perl, double seconds);
void perl_run(struct interpreter *perl, double seconds);
void spin(double seconds);

EXPORTED const uint8_t PL_revision = 5, PL_version = 36, PL_subversion = 0;
EXPORTED const uint16_t PL_interp_size = INTERPRETER_SIZE;
EXPORTED pthread_key_t PL_thr_key;
EXPORTED void (*PL_ppaddr[ENTER_TRY + 1])(void) = { [ENTER_TRY] = enter_try };

/* Hands itself to what catches errors, as pp_entertry() does. */
__asm__(".type enter_try, @function\n"
	"enter_try:\n"
	"	lea enter_try(%rip), %rsi\n"
	"	jmp catch\n"
	"	.fill 128, 1, 0x90\n"
	".size enter_try, .-enter_try\n"
	".type catch, @function\n"
	"catch:\n"
	".cfi_startproc\n"
	"	ret\n"
	".cfi_endproc\n"
	".size catch, .-catch\n"
	/* Each holds its interpreter. */
	".globl Perl_runops_standard\n"
	".type Perl_runops_standard, @function\n"
	"Perl_runops_standard:\n"
	".cfi_startproc\n"
	"	push %rbx\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset 3, -16\n"
	"	mov %rdi, %rbx\n"
	"	call spin\n"
	"	pop %rbx\n"
	".cfi_def_cfa_offset 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size Perl_runops_standard, .-Perl_runops_standard\n"
	".globl perl_run\n"
	".type perl_run, @function\n"
	"perl_run:\n"
	".cfi_startproc\n"
	"	sub $8, %rsp\n"
	".cfi_def_cfa_offset 16\n"
	"	call Perl_runops_standard\n"
	"	add $8, %rsp\n"
	".cfi_def_cfa_offset 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size perl_run, .-perl_run\n");

EXPORTED struct stack *Perl_caller_cx(const struct interpreter *perl)
{
	return perl->stack;
}

void spin(double seconds)
{
	struct timespec begun, now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now.tv_sec - begun.tv_sec + (now.tv_nsec - begun.tv_nsec) / 1e9 < seconds);
}

static const char file[24] = "fake.pl", code[8];
static const struct key package = { 1, 4, "main" }, name = { 2, 5, "inner" };
static const struct stash_body stash_body = { .name = &package };
static const struct value stash = { .body = &stash_body };
static const struct sub_body sub_body = {
	.stash = &stash,
	.start = code,
	.root = code,
	.name = &name,
	.file = file,
	.flags = HAS_NAME,
};
static const struct value sub = { .body = &sub_body, .n_references = 1, .flags = TYPE_OF_SUB };
static struct position positions[USED];
static struct context contexts[CONTEXTS];
static struct stack stack = { .contexts = contexts, .last = USED - 2, .type = 1 };
static struct interpreter perl = { .stack = &stack };

static void *guard_page(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(pages + 4096, 4096, PROT_NONE);
	return pages + 4096;
}

/* The outermost context is at line LINE, and so on. */
static void make(const char *how)
{
	for (int i = 0; i < CONTEXTS; i++) {
		struct position *position = &positions[i < USED ? i : USED - 1];

		*position = (struct position){ .line = LINE + position - positions, .file = file };
		contexts[i] = (struct context){
			.type = OF_SUB, .position = position, .return_to = code, .sub = &sub
		};
	}
	perl.position = &positions[USED - 1];
	if (!strcmp(how, "cycle"))
		stack.previous = &stack;
	if (!strcmp(how, "endless"))
		stack.last = INT32_MAX;
	if (!strcmp(how, "guard"))
		contexts[1].sub = guard_page();
	if (!strcmp(how, "garbage"))
		for (size_t i = 0; i < sizeof(contexts); i++)
			((char *)contexts)[i] = i % sizeof(*contexts) ? rand() : OF_SUB;
	if (!strcmp(how, "kind"))
		contexts[1].type = OF_FORMAT;
	if (!strcmp(how, "many"))
		contexts[1].return_to = NULL;
}

/* Another interpreter, whose address nobody holds. */
__attribute__((noinline)) static void copy_perl(void)
{
	struct interpreter *other = malloc(sizeof(*other));

	if (other)
		memcpy(other, &perl, sizeof(*other));
	pthread_setspecific(PL_thr_key, other);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	make(argv[2]);
	pthread_key_create(&PL_thr_key, NULL);
	if (strcmp(argv[2], "other"))
		pthread_setspecific(PL_thr_key, &perl);
	else
		copy_perl();
	perl_run(&perl, atof(argv[1]));
	return Perl_caller_cx(&perl) != &stack;
}
