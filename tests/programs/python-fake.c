/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Has what CPython 3.11 exports, and lists of frames that no interpreter has:
 *
 *	python-fake CPU-SECONDS cycle|guard|long|garbage|good|many-keys
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MANY_KEYS = 100, FRAMES = 600, KEY_AT = 592, RUNTIME_SIZE = 1024 };

struct frame {
	void *function, *globals, *builtins, *locals, *code, *object;
	struct frame *previous;
	void *instruction;
	int stack_top;
	char is_entry, owner;
};

struct cframe {
	uint64_t tracing;
	struct frame *frame;
	struct cframe *previous;
};

struct thread_state {
	void *unused[7];
	struct cframe *cframe;
};

#define EXPORTED __attribute__((visibility("default"), used))

EXPORTED char _PyRuntime[RUNTIME_SIZE];
EXPORTED char PyCode_Type[1];
EXPORTED const uint32_t Py_Version = 0x030b02f0;

struct key {
	int is_created;
	pthread_key_t key;
};

EXPORTED void *PyGILState_GetThisThreadState(void);

void *PyGILState_GetThisThreadState(void)
{
	const struct key *key = (const void *)(_PyRuntime + KEY_AT);

	return pthread_getspecific(key->key);
}

static struct frame frames[FRAMES];
static struct cframe cframe;
static struct thread_state state = { .cframe = &cframe };
static char code[4096];

static void *guard_page(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(pages + 4096, 4096, PROT_NONE);
	return pages + 4096;
}

static void make(const char *how)
{
	size_t n = !strcmp(how, "long") ? FRAMES : 10;

	for (size_t i = 0; i < n; i++) {
		frames[i].code = code + 8 * i;
		frames[i].previous = i + 1 < n ? &frames[i + 1] : NULL;
	}
	for (size_t i = 8; i <= 80; i += 8) /* the types of ten objects */
		*(void **)(code + i) = PyCode_Type;
	for (size_t i = 112; i < 144; i += 8)
		*(void **)(code + i) = code;
	if (!strcmp(how, "cycle"))
		frames[9].previous = &frames[3];
	if (!strcmp(how, "guard")) {
		frames[5].code = guard_page();
		frames[9].previous = guard_page();
		cframe.previous = guard_page();
	}
	if (!strcmp(how, "garbage"))
		for (size_t i = 0; i < sizeof(frames); i++)
			((char *)frames)[i] = rand();
	cframe.frame = frames;
}

int main(int argc, char **argv)
{
	struct key *key = (void *)(_PyRuntime + KEY_AT);
	struct timespec begun, now;

	if (argc < 3)
		return 2;
	make(argv[2]);
	for (int i = 0; i < MANY_KEYS && !strcmp(argv[2], "many-keys"); i++)
		pthread_key_create(&key->key, NULL);
	pthread_key_create(&key->key, NULL);
	pthread_setspecific(key->key, &state);
	key->is_created = 1;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now.tv_sec - begun.tv_sec + (now.tv_nsec - begun.tv_nsec) / 1e9 < atof(argv[1]));
	return PyGILState_GetThisThreadState() != &state;
}
