/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Has the tables that HotSpot exports, and a method in made code that spins; only with `good` it is
 * where they say:
 *
 *	libjvm-fake CPU-SECONDS good|moved|called|replaced|
 *		type|segments|caller|pushed|old|foreign|garbage|guard|no-file
 *
 * With those next to `good` the code does what compilers' code does: it moves the stack pointer and
 * keeps the old one; it calls code with a frame pointer, in whose frame is an old return address;
 * or it has called code of a method which is executed by other code of that. With no-file, its
 * class has no name of a file.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
	HEAP = 1 << 16,
	SEGMENT_SHIFT = 7,
	STUB_AT = 0x1000, /* blocks, each with its object */
	COMPILED_AT = 0x2000,
	LEAF_AT = 0x3000,
	OTHER_AT = 0x4000,
	CODE_AT = 0x100, /* in a block */
	ENTRY = 0x0e,	 /* in the code of the stub, where calls return to */
	WORDS = 4,	 /* of a frame */
	VERSION = 17,
	KLASS_NAME = 24,
	BEYOND = 0x7fffffff,
};

struct symbol {
	uint32_t hash;
	uint16_t length;
	char body[26];
};

struct pool;

struct klass {
	uint64_t words[48];
	const struct symbol *name;
	const uint64_t *methods;
	const struct pool *pool;
};

struct pool {
	uint64_t vtable;
	const struct klass *holder;
	uint16_t file, unused[3];
	const struct symbol *symbols[3]; /* behind it */
};

struct constant {
	uint64_t fingerprint;
	const struct pool *pool;
	uint32_t flags;
	uint16_t code_size, name;
	uint8_t code[8], lines[1024];
};

struct method {
	const void *vtable;
	const struct constant *constant;
};

struct anchor {
	uint64_t sp, pc, fp;
};

struct compiled { /* an nmethod; other code has only the first fields */
	const void *vtable;
	uint32_t frame_size, complete;
	const uint8_t *begin, *known, *scopes;
	const struct method *method;
	uint32_t stub, metadata, pcs, dependencies, id;
};

struct header {
	uint64_t size, used;
};

struct space {
	const uint8_t *from, *to, *low;
};

struct heap {
	struct space memory, segments;
	uint32_t shift;
};

struct array {
	uint32_t n, unused;
	struct heap **data;
};

struct piece {
	uint32_t size;
	int32_t bytecode;
	const char *name;
};

struct queue {
	const struct piece *buffer;
	uint32_t end, n;
};

#define EXPORTED __attribute__((visibility("default"), used))

/* What tells objects from others. They are not exported, as HotSpot's. */
extern const void *method_table[3] __asm__("_ZTV6Method");
extern const void *compiled_table[3] __asm__("_ZTV7nmethod");
extern const void *bare_table[3] __asm__("_ZTV10VtableBlob");
extern __thread struct anchor *current __asm__("_ZN6Thread12_thr_currentE");
const void *method_table[3], *compiled_table[3], *bare_table[3];
__thread struct anchor *current;

static int32_t version = VERSION, n_threads = 2;
static const char *release = "17.0.0-fake";
static uint64_t entry, flags, n_flags;
static struct heap heap;
static struct heap *heaps[] = { &heap };
static struct array array = { 1, 0, heaps }, *heap_list = &array;
static const struct piece pieces[] = { { sizeof(struct piece), 0,
					 "nop, and thirty bytes of text behind" } };
static struct queue queue = { pieces, sizeof(pieces), 1 }, *interpreter = &queue;
static const struct symbol class_name = { 0, 4, "Fake" }, name = { 0, 5, "inner" },
			   file = { 0, 9, "Fake.java" }, nothing = { 0, 7, "Nothing" };
static struct pool class_pool = { 0, NULL, 2, { 0 }, { &nothing, &nothing, &file } };
static struct klass klass = { .name = &class_name, .pool = &class_pool }, *object_class = &klass;
/* Numbers begin with 1. The method has a pool of its own, but that of the file is its class's. */
static const struct pool pool = { 0, &klass, 2, { 0 }, { &nothing, &name, &nothing } };
static const struct constant constant = { 0, &pool, 0, 8, 1, { 0 }, { 0 } };
static struct method foreign = { method_table + 2, &constant };
static struct method method = { method_table + 2, &constant };
static uint8_t segments[HEAP >> SEGMENT_SHIFT];

struct entry {
	const char *type, *field, *kind;
	int32_t is_static;
	uint64_t offset;
	const void *address;
};

#define STATIC(type, field, variable)                                                              \
	{                                                                                          \
		type, field, "", 1, 0, &(variable)                                                 \
	}
#define FIELD(type, field, structure, member)                                                      \
	{                                                                                          \
		type, field, "", 0, offsetof(structure, member), NULL                              \
	}

static const struct entry fields[] = {
	STATIC("Abstract_VM_Version", "_vm_major_version", version),
	STATIC("Abstract_VM_Version", "_s_vm_release", release),
	STATIC("Threads", "_number_of_threads", n_threads),
	STATIC("CodeCache", "_heaps", heap_list),
	STATIC("AbstractInterpreter", "_code", interpreter),
	STATIC("StubRoutines", "_call_stub_return_address", entry),
	STATIC("vmClasses", "_klasses[static_cast<int>(vmClassID::Object_klass_knum)]",
	       object_class),
	STATIC("JVMFlag", "flags", flags),
	STATIC("JVMFlag", "numFlags", n_flags),
	{ "JVMFlag", "_name", "", 0, 0, NULL },
	{ "JVMFlag", "_addr", "", 0, 8, NULL },
	{ "JVMFlag", "_flags", "", 0, 16, NULL },
	FIELD("GrowableArray<int>", "_data", struct array, data),
	FIELD("CodeHeap", "_memory", struct heap, memory),
	FIELD("CodeHeap", "_segmap", struct heap, segments),
	FIELD("CodeHeap", "_log2_segment_size", struct heap, shift),
	FIELD("VirtualSpace", "_low_boundary", struct space, from),
	FIELD("VirtualSpace", "_high_boundary", struct space, to),
	FIELD("VirtualSpace", "_low", struct space, low),
	FIELD("StubQueue", "_stub_buffer", struct queue, buffer),
	FIELD("StubQueue", "_queue_end", struct queue, end),
	FIELD("StubQueue", "_number_of_stubs", struct queue, n),
	FIELD("InterpreterCodelet", "_size", struct piece, size),
	FIELD("InterpreterCodelet", "_bytecode", struct piece, bytecode),
	FIELD("InterpreterCodelet", "_description", struct piece, name),
	FIELD("CodeBlob", "_frame_size", struct compiled, frame_size),
	FIELD("CodeBlob", "_frame_complete_offset", struct compiled, complete),
	FIELD("CodeBlob", "_code_begin", struct compiled, begin),
	FIELD("nmethod", "_compile_id", struct compiled, id),
	FIELD("nmethod", "_stub_offset", struct compiled, stub),
	FIELD("nmethod", "_verified_entry_point", struct compiled, known),
	FIELD("CompiledMethod", "_method", struct compiled, method),
	FIELD("nmethod", "_metadata_offset", struct compiled, metadata),
	FIELD("CompiledMethod", "_scopes_data_begin", struct compiled, scopes),
	FIELD("nmethod", "_scopes_pcs_offset", struct compiled, pcs),
	FIELD("nmethod", "_dependencies_offset", struct compiled, dependencies),
	{ "JavaThread", "_anchor", "", 0, 0, NULL },
	{ "JavaCallWrapper", "_anchor", "", 0, 0, NULL },
	FIELD("JavaFrameAnchor", "_last_Java_sp", struct anchor, sp),
	FIELD("JavaFrameAnchor", "_last_Java_pc", struct anchor, pc),
	FIELD("JavaFrameAnchor", "_last_Java_fp", struct anchor, fp),
	FIELD("Method", "_constMethod", struct method, constant),
	FIELD("ConstMethod", "_constants", struct constant, pool),
	FIELD("ConstMethod", "_code_size", struct constant, code_size),
	FIELD("ConstMethod", "_name_index", struct constant, name),
	FIELD("ConstMethod", "_flags", struct constant, flags),
	FIELD("ConstantPool", "_pool_holder", struct pool, holder),
	FIELD("ConstantPool", "_source_file_name_index", struct pool, file),
	FIELD("Klass", "_name", struct klass, name),
	FIELD("InstanceKlass", "_methods", struct klass, methods),
	FIELD("InstanceKlass", "_constants", struct klass, pool),
	{ "Array<Method*>", "_data", "", 0, 8, NULL },
	FIELD("Symbol", "_length", struct symbol, length),
	FIELD("Symbol", "_body[0]", struct symbol, body),
	{ NULL, NULL, NULL, 0, 0, NULL },
};

struct type {
	const char *name, *super;
	int32_t kind[4];
	uint64_t size;
};

#define TYPE(name, size)                                                                           \
	{                                                                                          \
		name, "", { 0 }, size                                                              \
	}

static const struct type types[] = {
	TYPE("HeapBlock", sizeof(struct header)),
	TYPE("Method", sizeof(struct method)),
	TYPE("ConstMethod", offsetof(struct constant, code)),
	TYPE("ConstantPool", offsetof(struct pool, symbols)),
	TYPE("nmethod", (sizeof(struct compiled) + 7) / 8 * 8),
	TYPE("JVMFlag", 24),
	{ NULL, NULL, { 0 }, 0 },
};

EXPORTED const struct entry *gHotSpotVMStructs = fields;
EXPORTED const struct type *gHotSpotVMTypes = types;
EXPORTED uint64_t gHotSpotVMStructEntryArrayStride = sizeof(struct entry);
EXPORTED uint64_t gHotSpotVMTypeEntryArrayStride = sizeof(struct type);

/* Calls a function, as C++ calls methods: (argument, function, what was noted before). */
static const uint8_t stub_code[] = {
	0x55,			/* push %rbp */
	0x48, 0x89, 0xe5,	/* mov %rsp,%rbp */
	0x48, 0x83, 0xec, 0x40, /* sub $0x40,%rsp */
	0x48, 0x89, 0x55, 0xd0, /* mov %rdx,-0x30(%rbp) */
	0xff, 0xd6,		/* call *%rsi */
	0xc9, 0xc3,		/* leave; ret */
};

/* Code that counts down, in a frame with room for two words. */
static const uint8_t spin_code[] = {
	0x55,			/* push %rbp */
	0x48, 0x83, 0xec, 0x10, /* sub $0x10,%rsp */
	0x48, 0xff, 0xcf,	/* dec %rdi */
	0x75, 0xfb,		/* jne */
	0x48, 0x83, 0xc4, 0x10, /* add $0x10,%rsp */
	0x5d, 0xc3,		/* pop %rbp; ret */
};
static const uint8_t pushed_code[] = {
	0x55, 0x48, 0x83, 0xec, 0x10, 0x50, /* push %rax */
	0x48, 0xff, 0xcf, 0x75, 0xfb, 0x58, /* pop %rax */
	0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3,
};
/* The stack pointer moves, and the old one is in a register; then with an old return
 * address where the caller's would be by the new one. */
static const uint8_t moved_code[] = {
	0x55, 0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0xe1, /* mov %rsp,%rcx */
	0x48, 0x83, 0xec, 0x10, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3,
};
static const uint8_t old_code[] = {
	0x55, 0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0xe1, 0x48, 0x8b, 0x44, 0x24, 0x18, 0x48, 0x89,
	0x44, 0x24, 0x08, 0x48, 0x89, 0x2c, 0x24, /* and frame pointer */
	0x48, 0x83, 0xec, 0x10, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3,
};
/* It calls what is at LEAF_AT. */
static const uint8_t calling_code[] = {
	0x55, 0x48, 0x83, 0xec, 0x10, 0xe8, 0xf6, 0x0f,
	0x00, 0x00, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3,
};
static const uint8_t leaf_code[] = {
	0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x28, /* a frame pointer, and 40 bytes */
	0x48, 0x8b, 0x45, 0x08, 0x48, 0x89, 0x04, 0x24, /* its return address to (%rsp) */
	0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc9, 0xc3,	/* leave; ret */
};

/* It goes on at OTHER_AT. */
static const uint8_t jumping_code[] = { 0xe9, 0xfb, 0x0f, 0x00, 0x00 };

static const struct code {
	const char *how;
	const void *bytes;
	size_t size;
} codes[] = {
	{ "pushed", pushed_code, sizeof(pushed_code) },
	{ "moved", moved_code, sizeof(moved_code) },
	{ "old", old_code, sizeof(old_code) },
	{ "called", calling_code, sizeof(calling_code) },
	{ "replaced", calling_code, sizeof(calling_code) },
	{ "foreign", calling_code, sizeof(calling_code) },
	{ NULL, spin_code, sizeof(spin_code) },
};

static uint8_t *memory;

static void put_block(uint32_t at, const void *code, size_t size)
{
	memset(segments + (at >> SEGMENT_SHIFT), 1, 16);
	segments[at >> SEGMENT_SHIFT] = 0;
	memcpy(memory + at + CODE_AT, code, size);
}

static struct compiled *object_at(uint32_t at)
{
	return (struct compiled *)(memory + at + sizeof(struct header));
}

static void make_compiled(uint32_t at, const void *code, size_t size)
{
	put_block(at, code, size);
	*object_at(at) = (struct compiled){
		.vtable = compiled_table + 2,
		.frame_size = WORDS,
		.complete = 5,
		.begin = memory + at + CODE_AT,
		.known = memory + at + CODE_AT,
		.scopes = memory + at + 0x208,
		.method = &method,
		.stub = CODE_AT + 0x80,
		.metadata = 0x1f8,
		.pcs = 0x200,
		.dependencies = 0x200,
		.id = at,
	};
}

static void make(const struct code *code)
{
	memory = mmap(NULL, HEAP, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (memory == MAP_FAILED)
		abort();
	memset(segments, 0xff, sizeof(segments));
	put_block(STUB_AT, stub_code, sizeof(stub_code));
	make_compiled(COMPILED_AT, code->bytes, code->size);
	put_block(LEAF_AT, leaf_code, sizeof(leaf_code));
	entry = (uint64_t)(memory + STUB_AT + CODE_AT + ENTRY);
	heap = (struct heap){ { memory, memory + HEAP, memory },
			      { segments, segments + sizeof(segments), segments },
			      SEGMENT_SHIFT };
}

/* What is called goes on in other code, of which it is said whether it is of the same method. */
static void replace(const struct method *of)
{
	make_compiled(LEAF_AT, jumping_code, sizeof(jumping_code));
	make_compiled(OTHER_AT, spin_code, sizeof(spin_code));
	object_at(LEAF_AT)->method = of;
}

/* What is not as it should be. */
static void spoil(const char *how)
{
	struct compiled *compiled = object_at(COMPILED_AT);

	if (!strcmp(how, "type"))
		method.vtable = &method;
	else if (!strcmp(how, "segments"))
		memset(segments, 1, sizeof(segments));
	else if (!strcmp(how, "caller"))
		compiled->frame_size = BEYOND;
	else if (!strcmp(how, "garbage"))
		memset(&compiled->scopes, 0xa5,
		       sizeof(*compiled) - offsetof(struct compiled, scopes));
	else if (!strcmp(how, "no-file"))
		class_pool.file = 0;
	else if (!strcmp(how, "guard"))
		method.constant = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(int argc, char **argv)
{
	struct anchor none = { 0, 0, 0 };
	void (*stub)(uint64_t n, const void *function, struct anchor *noted);
	const struct code *code = codes;
	double seconds = argc > 2 ? strtod(argv[1], NULL) : 0;
	struct timespec begun, now;

	if (argc < 3)
		return 2;
	while (code->how && strcmp(code->how, argv[2]))
		code++;
	make(code);
	if (!strcmp(argv[2], "replaced"))
		replace(&method);
	else if (!strcmp(argv[2], "foreign"))
		replace(&foreign);
	spoil(argv[2]);
	current = &none;
	stub = (void (*)(uint64_t, const void *, struct anchor *))(memory + STUB_AT + CODE_AT);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
	do {
		struct anchor *noted = &none;

		stub(1000000, memory + COMPILED_AT + CODE_AT, noted);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_sec - begun.tv_sec + (now.tv_nsec - begun.tv_nsec) / 1e9 < seconds);
	return 0;
}
