/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Has what BEAM of OTP 27 exports, and a process of which only that of `good` is one:
 *
 *	beam.fake CPU-SECONDS good|guard|garbage|huge|unsorted|names|stale|end|bounds
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
	PAGE = 4096,
	N_FUNCTIONS = 4, /* the last one is only the end of the third */
	HEAD = 40,
	FUNCTION = 128, /* bytes of each */
	CODE_AT = 1024,
	RETURN_AT = HEAD + 4, /* where it is returned to */
	WORDS = 64,
	ATOM_TAG = 0xb,
	ATOM_SHIFT = 6,
	CHARACTER = 0xf,
	NIL = 0x3b,
	FILE_SHIFT = 24,
	LINE = 10,
	LOOPS_AT = 1, /* in the code of the first function */
};

struct lines { /* BeamCodeLineTab */
	uint64_t *files;
	int32_t size, unused;
	uint32_t *words;
	uint64_t *places[N_FUNCTIONS];
};

struct module { /* BeamCodeHeader */
	uint64_t n_functions, unused[8];
	struct lines *lines;
	uint64_t unused_too[7], functions[N_FUNCTIONS];
};

struct function { /* ErtsCodeInfo */
	uint64_t head[2], module, name, arity;
	uint8_t code[FUNCTION - HEAD];
};

struct atom {
	uint64_t unused[3];
	int16_t length, rest[3];
	const char *name;
};

struct ranges {
	struct {
		uint64_t from, to;
	} * modules;
	uint64_t n, unused[2];
};

struct process {
	uint64_t unused[11], top, unused_too[12], low, high;
};

struct scheduler {
	void *registers;
	uint64_t unused[20];
	struct process *process;
};

_Static_assert(sizeof(struct function) == FUNCTION, "");

#define EXPORTED __attribute__((visibility("default"), used))

EXPORTED const char etp_otp_release[] = "27";
EXPORTED const uint32_t etp_beamasm = 1;
EXPORTED uint32_t the_active_code_index = 1;
EXPORTED void *beam_normal_exit;
EXPORTED struct {
	uint64_t unused[15];
	struct atom ***tables;
} erts_atom_table;
EXPORTED void enif_make_badarg(void);
EXPORTED int erts_call_dirty_nif(int argument);
EXPORTED int erts_call_dirty_bif(int argument);
__attribute__((used)) struct ranges ranges[3];
__attribute__((used)) pthread_key_t scheduler_key;

void *erts_get_scheduler_data(void);
void *erts_lookup_function_info(void *ret, const void *pc, int full);
void run_on(uint64_t *sp, const void *code);
extern const char run_ended[];

/* The first two begin as those of BEAM; the third goes to a stack, and comes back from its end. */
__asm__(".globl erts_get_scheduler_data, erts_lookup_function_info\n"
	".type erts_get_scheduler_data, @function\n"
	"erts_get_scheduler_data:\n"
	"	mov scheduler_key(%rip), %edi\n"
	"	jmp pthread_getspecific@plt\n"
	".size erts_get_scheduler_data, .-erts_get_scheduler_data\n"
	"find_range:\n"
	"	mov the_active_code_index(%rip), %r8d\n"
	"	lea ranges(%rip), %r9\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	".type erts_lookup_function_info, @function\n"
	"erts_lookup_function_info:\n"
	"	call find_range\n"
	"	test %rax, %rax\n"
	"	je 1f\n"
	"	.byte 0x4d, 0x8d, 0x88, 0x88, 0, 0, 0\n" /* lea 0x88(%r8), %r9 */
	"	mov 0x48(%r8), %rsi\n"
	"	sub 0x18(%rsi), %rax\n"
	"1:	ret\n"
	"	.fill 512, 1, 0x90\n"
	".size erts_lookup_function_info, .-erts_lookup_function_info\n"
	"run_on:\n"
	"	push %rbx\n"
	"	push %rbp\n"
	"	mov %rsp, saved_sp(%rip)\n"
	"	mov %rdi, %rsp\n"
	"	jmp *%rsi\n"
	"	.balign 16\n"
	"run_ended:\n"
	"	mov saved_sp(%rip), %rsp\n"
	"	pop %rbp\n"
	"	pop %rbx\n"
	"	ret\n"
	".lcomm saved_sp, 8\n");

void enif_make_badarg(void)
{
}

int erts_call_dirty_nif(int argument)
{
	return argument + 1;
}

int erts_call_dirty_bif(int argument)
{
	return argument + 2;
}

static struct atom atoms[] = {
	{ .length = 4, .name = "fake" },
	{ .length = 5, .name = "inner and more" },
	{ .length = 6, .name = "middle" },
	{ .length = 5, .name = "outer" },
};
static struct atom *table[1024] = { &atoms[0], &atoms[1], &atoms[2], &atoms[3] },
		   **tables[] = { table };
static uint64_t file[128][2], files[2], *places[N_FUNCTIONS];
static uint32_t line_words[] = { 1 << FILE_SHIFT | (LINE + 0), 1 << FILE_SHIFT | (LINE + 1),
				 1 << FILE_SHIFT | (LINE + 2) };
static struct lines lines = { .files = files, .size = 4, .words = line_words };
static struct process process;
static struct scheduler scheduler = { .process = &process };
static uint64_t stack[WORDS];

static uint64_t atom(int i)
{
	return (uint64_t)i << ATOM_SHIFT | ATOM_TAG;
}

static void *guard_page(void)
{
	char *pages = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(pages + PAGE, PAGE, PROT_NONE);
	return pages + PAGE;
}

/* Each character is in front of the one before. */
static void make_file(const char *name)
{
	size_t last = sizeof(file) / sizeof(*file) - 1, n = strlen(name);

	for (size_t i = 0; i < n; i++) {
		file[last - i][0] = (uint64_t)name[i] << 4 | CHARACTER;
		file[last - i][1] = i + 1 < n ? (uintptr_t)file[last - i - 1] | 1 : NIL;
	}
	files[1] = (uintptr_t)file[last] | 1;
}

/* The first one is executed, in a frame of two words; the others have one word. */
static void make_functions(struct module *module)
{
	static const uint8_t loop[] = { 0xb9, 0,    0,	  0x20, 0, /* mov $0x200000,%ecx */
					0xff, 0xc9, 0x75, 0xfc,	   /* dec %ecx; jne */
					0x48, 0x83, 0xc4, 16,	0xc3 },
			     leave[] = { 0x90, 0x90, 0x90, 0x90, 0x48, 0x83, 0xc4, 8, 0xc3 };
	struct function *functions = (void *)((char *)module + CODE_AT);

	module->n_functions = N_FUNCTIONS - 1;
	module->lines = &lines;
	for (int i = 0; i < N_FUNCTIONS; i++) {
		module->functions[i] = (uintptr_t)&functions[i];
		functions[i].module = atom(0);
		functions[i].name = atom(1 + i % (N_FUNCTIONS - 1));
		functions[i].arity = i;
		memcpy(functions[i].code, i ? leave : loop, i ? sizeof(leave) : sizeof(loop));
		places[i] = &module->functions[i];
		lines.places[i] = (uint64_t *)&places[i];
	}
	/* Of each function one place, its begin. */
	for (int i = 0; i < N_FUNCTIONS; i++)
		lines.places[i] = &module->functions[i];
}

static uint64_t return_to(const struct module *module, int i)
{
	return module->functions[i] + RETURN_AT;
}

static void make_stack(const struct module *module)
{
	uint64_t *top = stack + WORDS - 7;

	top[2] = return_to(module, 1);
	top[4] = return_to(module, 2);
	top[3] = top[5] = NIL;
	top[6] = (uintptr_t)run_ended;
	process.top = process.low = (uintptr_t)stack;
	process.high = (uintptr_t)(stack + WORDS);
}

/* What is wrong, where it is not `good`. */
static void spoil(const char *how, struct module *module)
{
	uint64_t *top = stack + WORDS - 7;

	if (!strcmp(how, "guard"))
		ranges[1].modules = guard_page();
	if (!strcmp(how, "garbage"))
		for (size_t i = 0; i < sizeof(*module); i++)
			((char *)module)[i] = rand();
	if (!strcmp(how, "huge")) {
		ranges[1].n = UINT64_MAX / 2;
		module->n_functions = UINT64_MAX;
	}
	if (!strcmp(how, "unsorted"))
		for (int i = 0; i < N_FUNCTIONS / 2; i++) {
			uint64_t other = module->functions[N_FUNCTIONS - 1 - i];

			module->functions[N_FUNCTIONS - 1 - i] = module->functions[i];
			module->functions[i] = other;
		}
	if (!strcmp(how, "stale"))
		top[0] = return_to(module, 2);
	if (!strcmp(how, "end"))
		beam_normal_exit = (char *)run_ended + 16;
	if (!strcmp(how, "bounds"))
		process.top = process.low = process.high = 0;
	if (!strcmp(how, "names"))
		erts_atom_table.tables = guard_page();
}

int main(int argc, char **argv)
{
	struct module *module = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint8_t *code = (const uint8_t *)module + CODE_AT + HEAD;
	struct timespec begun, now;

	if (argc < 3)
		return 2;
	make_functions(module);
	make_stack(module);
	make_file("fake.erl");
	beam_normal_exit = (void *)run_ended;
	erts_atom_table.tables = tables;
	ranges[1].modules = malloc(sizeof(*ranges[1].modules));
	ranges[1].modules->from = (uintptr_t)module;
	ranges[1].modules->to = module->functions[N_FUNCTIONS - 1];
	ranges[1].n = 1;
	pthread_key_create(&scheduler_key, NULL);
	pthread_setspecific(scheduler_key, &scheduler);
	scheduler.registers = (char *)__builtin_frame_address(0) - PAGE;
	spoil(argv[2], module);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
	do {
		run_on(stack + WORDS - 7, code);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_sec - begun.tv_sec + (now.tv_nsec - begun.tv_nsec) / 1e9 < atof(argv[1]));
	return 0;
}
