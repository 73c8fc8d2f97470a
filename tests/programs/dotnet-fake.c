/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Has what .NET 9 exports, and code near itself of which only that of `good` is a method's:
 *
 *	libcoreclr.fake CPU-SECONDS good|cycle|guard|garbage|stub|other|torn
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#ifndef VERSION
#define VERSION "9.0.525.21509"
#endif

enum {
	ENTRIES = 256,
	SHIFT = 17,
	PAGE = 4096,
	CODE_SIZE = 1 << 16,
	CODE_AT = 256, /* in its heap */
	HEAP_CODE = 2,
	MAP_WORDS = CODE_SIZE / 256,
	METHOD = 3, /* its number, and those of its type and the one around that */
	TYPE = 2,
	OUTER = 1,
	TABLE_TYPES = 2,
	TABLE_METHODS = 6,
	TABLE_NESTED = 41,
	TYPE_ROW = 14,
	METHOD_ROW = 14,
	NESTED_ROW = 4,
};

typedef uint64_t level[ENTRIES];

struct fragment {
	uint64_t next, begin, end, section;
};

struct section {
	uint64_t begin, end;
	uint64_t flags, manager, module, heap, ranges;
};

struct heap {
	uint64_t next, code, begin, end, base, map;
};

struct header {
	uint64_t debug, handlers, garbage, method;
	uint32_t n_functions, functions[3];
};

struct assembly {
	uint64_t unused[3], metadata;
};

struct module {
	char unused[280];
	uint64_t assembly;
};

struct type {
	uint32_t flags, size, more_flags, unused;
	uint64_t parent, module;
};

struct methods { /* MethodDescChunk, with one */
	uint64_t type, next;
	uint8_t size, n;
	uint16_t range;
	uint32_t unused;
	uint16_t token;
	uint8_t index, reserved;
	uint16_t slot, flags;
};

struct table {
	uint64_t columns;
	uint8_t n, key;
	uint16_t row;
	uint32_t unused;
};

struct metadata {
	char unused[0x30];
	uint32_t counts[48];
	struct table tables[45];
	uint32_t mask[4];
	uint64_t rows[46];
	uint64_t names;
};

_Static_assert(offsetof(struct metadata, tables) == 0xf0 &&
		       offsetof(struct metadata, mask) == 0x3c0 &&
		       offsetof(struct metadata, rows) == 0x3d0 &&
		       offsetof(struct metadata, names) == 0x540,
	       "as .NET 9 has it");

static struct {
	level top;
	uint64_t cleanup;
	uint32_t readers;
} map;
static level levels[4];
static struct fragment fragment;
static struct section section;
static struct heap heap;
static struct header header;
static struct assembly assembly;
static struct module module;
static struct type type;
static struct methods methods;
static struct metadata metadata;
static uint32_t nibbles[MAP_WORDS];
static char names[] = "\0Space\0Outer\0Inner\0Method";
static uint16_t nested[] = { TYPE, OUTER };
static uint8_t types[2 * TYPE_ROW], rows[METHOD * METHOD_ROW];
static char contract[] =
	"{\"version\":0,\"types\":{"
	"\"Module\":{\"Path\":272},\"MethodTable\":{\"MTFlags\":0,\"MTFlags2\":8,\"Module\":24},"
	"\"MethodDesc\":{\"ChunkIndex\":2,\"Flags\":6,\"Flags3AndTokenRemainder\":0},"
	"\"MethodDescChunk\":{\"!\":24,\"MethodTable\":0,\"FlagsAndTokenRange\":18},"
	"\"DynamicMethodDesc\":{\"MethodName\":32}}}";

__attribute__((visibility("default"), used)) char version[] = "@(#)Version " VERSION " @Commit: 0";
__attribute__((visibility("default"), used))
const void *g_dacTable[] = { &map, NULL, &map.readers };
__attribute__((visibility("default"), used)) struct {
	uint64_t magic;
	uint32_t flags, size;
	const char *text;
} DotNetRuntimeContractDescriptor = { 0, 0, sizeof(contract) - 1, contract };

__attribute__((visibility("default"), used)) int coreclr_initialize(void);

static double till;

int coreclr_initialize(void)
{
	struct timespec now;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now.tv_sec + now.tv_nsec / 1e9 < till);
	return now.tv_nsec & 1;
}

/* push %rbp; mov %rsp,%rbp; mov FUNCTION,%rax; call *%rax; pop %rbp; ret; and its UNWIND_INFO. */
static int (*make_code(uint8_t *code))(void)
{
	static const uint8_t bytes[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0,	   0,	 0,
					 0,    0,    0,	   0,	 0,    0xff, 0xd0, 0x5d, 0xc3 },
			     info[] = { 1, 1, 1, 0, 1, 0x50, 0, 0 };
	int (*function)(void) = coreclr_initialize;
	uint64_t begin = CODE_AT, *to_header = (uint64_t *)(code + CODE_AT) - 1;
	int (*ret)(void);

	memcpy(code + CODE_AT, bytes, sizeof(bytes));
	memcpy(code + CODE_AT + 6, &function, sizeof(function));
	memcpy(code + CODE_AT + 64, info, sizeof(info));
	*to_header = (uintptr_t)&header;
	header = (struct header){
		.method = (uintptr_t)&methods.token,
		.n_functions = 1,
		.functions = { begin, begin + sizeof(bytes), begin + 64 },
	};
	begin += (uintptr_t)code;
	memcpy(&ret, &begin, sizeof(ret));
	return ret;
}

static void make_map(uint64_t code)
{
	uint64_t *at = map.top;

	for (int i = 0; i < 4; i++) {
		at[code >> (SHIFT + (4 - i) * 8) & (ENTRIES - 1)] = (uintptr_t)levels[i];
		at = levels[i];
	}
	at[code >> SHIFT & (ENTRIES - 1)] = (uintptr_t)&fragment;
	fragment = (struct fragment){ 0, code, code + CODE_SIZE, (uintptr_t)&section };
	section = (struct section){
		.begin = code,
		.end = code + CODE_SIZE,
		.flags = HEAP_CODE,
		.heap = (uintptr_t)&heap,
	};
	heap.base = heap.begin = code;
	heap.end = code + CODE_SIZE;
	heap.map = (uintptr_t)nibbles;
	nibbles[CODE_AT / 256] = 1U << 28;
}

static void put_number(uint8_t *row, size_t at, uint16_t number)
{
	memcpy(row + at, &number, sizeof(number));
}

static void make_names(void)
{
	methods.type = (uintptr_t)&type;
	methods.token = METHOD;
	type.more_flags = TYPE << 8;
	type.module = (uintptr_t)&module;
	module.assembly = (uintptr_t)&assembly;
	assembly.metadata = (uintptr_t)&metadata;
	metadata.names = (uintptr_t)names;
	metadata.mask[0] = UINT16_MAX;
	metadata.tables[TABLE_TYPES].row = TYPE_ROW;
	metadata.tables[TABLE_METHODS].row = METHOD_ROW;
	metadata.tables[TABLE_NESTED].row = NESTED_ROW;
	metadata.counts[TABLE_NESTED] = 1;
	metadata.rows[TABLE_TYPES] = (uintptr_t)types;
	metadata.rows[TABLE_METHODS] = (uintptr_t)rows;
	metadata.rows[TABLE_NESTED] = (uintptr_t)nested;
	put_number(types, 4, 7);
	put_number(types, 6, 1);
	put_number(types + TYPE_ROW, 4, 13);
	put_number(rows + (METHOD - 1) * METHOD_ROW, 8, 19);
}

/* Memory between pages that cannot be read. */
static uint64_t guarded(void)
{
	char *pages = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE);
	return (uintptr_t)pages + 2 * PAGE - 8;
}

static void spoil(const char *how)
{
	if (!strcmp(how, "cycle")) {
		fragment.begin = fragment.end;
		fragment.next = (uintptr_t)&fragment;
	} else if (!strcmp(how, "guard")) {
		heap.map = guarded();
	} else if (!strcmp(how, "garbage")) {
		memset(nibbles, 0xff, sizeof(nibbles));
		memset(levels, 0x5a, sizeof(levels));
	} else if (!strcmp(how, "stub")) {
		((uint64_t *)(fragment.begin + CODE_AT))[-1] = 3;
	} else if (!strcmp(how, "other")) {
		nibbles[CODE_AT / 256] = 0;
	} else if (!strcmp(how, "torn")) {
		header.functions[1] = header.functions[0] + 8;
	}
}

int main(int argc, char **argv)
{
	uint64_t near = ((uintptr_t)main + (1 << 28)) & ~(uint64_t)(PAGE - 1);
	uint8_t *code = mmap((void *)near, CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*method)(void);

	if (argc < 3 || code == MAP_FAILED)
		return 2;
	till = atof(argv[1]);
	method = make_code(code);
	make_map((uintptr_t)code);
	make_names();
	spoil(argv[2]);
	return method() < 0;
}
