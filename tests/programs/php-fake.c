/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Has what PHP 8.4 exports, and lists of calls of which only that of `good` is one:
 *
 *	php-fake CPU-SECONDS good|two|cycle|long|guard|garbage|type
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
	CALLS = 600,
	GLOBALS_SIZE = 1984,
	CURRENT_CALL = 488,
	VM_KIND_HYBRID = 4,
	TOP = 1 << 17,
	USER_FUNCTION = 2,
	LINE = 12,
};

struct opline {
	char unused[24];
	uint32_t line;
};

struct string {
	uint64_t count, hash, length;
	char text[16];
};

struct function { /* zend_op_array */
	uint8_t type;
	struct string *name;
	void *class;
	char unused[144];
	struct string *file;
	uint32_t line, last_line;
};

struct call {
	const struct opline *opline;
	void *call, *return_value;
	struct function *function;
	void *object;
	uint32_t info, n_arguments;
	struct call *previous;
};

#define EXPORTED __attribute__((visibility("default"), used))
#define FUNCTION EXPORTED __attribute__((noinline))

EXPORTED const char php_fake_version[] = "Zend Engine v4.4.1, of a test";
EXPORTED char executor_globals[GLOBALS_SIZE];

FUNCTION int zend_vm_kind(void);
FUNCTION struct call *zend_get_executed_lineno(void);
FUNCTION int zend_generator_resume(int n);
FUNCTION int execute_ex(struct call *call, double seconds);

int zend_vm_kind(void)
{
	return VM_KIND_HYBRID;
}

struct call *zend_get_executed_lineno(void)
{
	return *(struct call **)(executor_globals + CURRENT_CALL);
}

int zend_generator_resume(int n)
{
	return n + 1;
}

int execute_ex(struct call *call, double seconds)
{
	struct timespec begun, now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now.tv_sec - begun.tv_sec + (now.tv_nsec - begun.tv_nsec) / 1e9 < seconds);
	return !call;
}

static const struct opline opline = { .line = LINE };
static struct string name = { .length = 5, .text = "inner" };
static struct string file = { .length = 8, .text = "fake.php" };
static struct function function = { USER_FUNCTION, &name, NULL, "", &file, LINE - 1, LINE + 1 };
static struct call calls[CALLS];

static void *guard_page(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(pages + 4096, 4096, PROT_NONE);
	return pages + 4096;
}

static void make(const char *how)
{
	size_t n = !strcmp(how, "long") ? CALLS : 10;

	for (size_t i = 0; i < n; i++)
		calls[i] = (struct call){
			.opline = &opline,
			.function = &function,
			.info = i + 1 == n ? TOP : 0,
			.previous = i + 1 < n ? &calls[i + 1] : NULL,
		};
	if (!strcmp(how, "two"))
		calls[3].info = TOP;
	if (!strcmp(how, "cycle"))
		calls[9].previous = &calls[3];
	if (!strcmp(how, "guard"))
		calls[5].function = calls[9].function = guard_page();
	if (!strcmp(how, "garbage"))
		for (size_t i = 0; i < sizeof(calls); i++)
			((char *)calls)[i] = rand();
	if (!strcmp(how, "type"))
		function.type = 9;
	*(struct call **)(executor_globals + CURRENT_CALL) = calls;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	make(argv[2]);
	return execute_ex(calls, atof(argv[1])) + zend_generator_resume(-1);
}
