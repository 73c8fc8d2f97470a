/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/elf/static-symbol.h"
#include "perf-source/context/hotspot-vm.h"

enum {
	WORD = 8,
	TRIES_MAX = 20, /* while the VM starts: then it is looked at again */
	PAUSE_NS = 10000000,
	OFFSETS_MAX = 4096,
	VTABLE_HEAD = 16,  /* in front of what an object leads to */
	KIND_COMPILED = 1, /* CodeBlobKind::Nmethod, */
	KIND_BARE = 4,	   /* and Vtable */
	FLAGS_MAX = 8192,
	FLAG_NAME_MAX = 32,
	/* JVMFlagOrigin: of those that are set as the VM starts: by command line, environment or
	 * file. */
	ORIGIN_MASK = 15,
	ORIGIN_FIRST = 1,
	ORIGIN_LAST = 3,
};

static const uint8_t known_versions[] = { 11, 17, 21, 24, 25, 26, 27 };

bool hotspot_read(const struct hotspot_vm *vm, uint64_t address, void *ret, size_t size)
{
	return pread(vm->image->memory, ret, size, address) == (ssize_t)size;
}

bool hotspot_read_number(const struct hotspot_vm *vm, enum hotspot_field field, int32_t *ret)
{
	return hotspot_has(&vm->structs, field) &&
	       hotspot_read(vm, hotspot_at(vm, field), ret, sizeof(*ret));
}

bool hotspot_read_pointer(const struct hotspot_vm *vm, uint64_t address, uint64_t *ret)
{
	return hotspot_read(vm, address, ret, sizeof(*ret)) && *ret;
}

/*
 * Waits until the VM has begun a second thread: that of references, as the first one does in Java.
 * So the interpreter is there.
 */
static bool wait_for(struct hotspot_vm *vm)
{
	static const struct timespec pause = { 0, PAUSE_NS };
	int32_t n = 0;

	for (size_t i = 0; i < TRIES_MAX; i++) {
		if ((hotspot_has(&vm->structs, HOTSPOT_THREADS) ||
		     hotspot_structs_read(vm->image, &vm->structs)) &&
		    hotspot_read_number(vm, HOTSPOT_THREADS, &n) && n > 1)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static bool find_vtable(const struct hotspot_vm *vm, const char *name, uint64_t *ret)
{
	GElf_Sym symbol;

	if (!static_symbol_find(vm->image->elf->elf, name, &symbol))
		return false;
	*ret = vm->image->bias + symbol.st_value + VTABLE_HEAD;
	return true;
}

/* Methods of classes from an archive (CDS) have a table of their own: as java.lang.Object's. */
static void find_archived(struct hotspot_vm *vm)
{
	enum hotspot_field object = hotspot_has(&vm->structs, HOTSPOT_OBJECT_CLASS)
					    ? HOTSPOT_OBJECT_CLASS
					    : HOTSPOT_OBJECT_CLASS_11;
	uint64_t at_class, methods, method;

	if (hotspot_has(&vm->structs, object) &&
	    hotspot_read_pointer(vm, hotspot_at(vm, object), &at_class) &&
	    hotspot_read_pointer(vm, at_class + hotspot_at(vm, HOTSPOT_KLASS_METHODS), &methods) &&
	    hotspot_read_pointer(vm, methods + hotspot_at(vm, HOTSPOT_METHODS_DATA), &method) &&
	    hotspot_read_pointer(vm, method, &vm->archived_type) &&
	    vm->archived_type == vm->method_type)
		vm->archived_type = 0;
}

/* What tells methods and compiled code from others. */
static bool find_types(struct hotspot_vm *vm)
{
	if (!find_vtable(vm, "_ZTV6Method", &vm->method_type))
		return false;
	find_archived(vm);
	vm->code_type = KIND_COMPILED;
	vm->bare_type = KIND_BARE;
	vm->code_mask = UINT8_MAX;
	if (hotspot_has(&vm->structs, HOTSPOT_BLOB_KIND))
		return true;
	vm->code_mask = UINT64_MAX;
	return find_vtable(vm, "_ZTV7nmethod", &vm->code_type) &&
	       find_vtable(vm, "_ZTV10VtableBlob", &vm->bare_type);
}

/* Finds a flag of the VM by its name, which has `size` bytes with the zero. */
static bool find_flag(const struct hotspot_vm *vm, const char *name, size_t size, uint64_t *ret)
{
	uint64_t flags, n, text;
	char found[FLAG_NAME_MAX];

	if (!hotspot_has(&vm->structs, HOTSPOT_FLAGS) ||
	    !hotspot_read_pointer(vm, hotspot_at(vm, HOTSPOT_FLAGS), &flags) ||
	    !hotspot_read_pointer(vm, hotspot_at(vm, HOTSPOT_FLAGS_N), &n))
		return false;
	for (uint64_t i = 0; i < n && i < FLAGS_MAX; i++) {
		*ret = flags + i * vm->structs.sizes[HOTSPOT_FLAG];
		if (hotspot_read_pointer(vm, *ret + hotspot_at(vm, HOTSPOT_FLAG_NAME), &text) &&
		    hotspot_read(vm, text, found, size) && !memcmp(found, name, size))
			return true;
	}
	return false;
}

/* An agent may set it later: code that was compiled before describes only calls. */
bool hotspot_vm_describes_all(const struct hotspot_vm *vm)
{
	static const char name[] = "DebugNonSafepoints";
	uint64_t flag, at;
	uint32_t origin;
	uint8_t value;

	_Static_assert(sizeof(name) <= FLAG_NAME_MAX, "room for the name");
	return find_flag(vm, name, sizeof(name), &flag) &&
	       hotspot_read_pointer(vm, flag + hotspot_at(vm, HOTSPOT_FLAG_ADDRESS), &at) &&
	       hotspot_read(vm, at, &value, sizeof(value)) && value &&
	       hotspot_read(vm, flag + hotspot_at(vm, HOTSPOT_FLAG_FLAGS), &origin,
			    sizeof(origin)) &&
	       (origin & ORIGIN_MASK) >= ORIGIN_FIRST && (origin & ORIGIN_MASK) <= ORIGIN_LAST;
}

static bool is_known(int32_t version)
{
	for (size_t i = 0; i < sizeof(known_versions); i++)
		if (known_versions[i] == version)
			return true;
	return false;
}

void hotspot_vm_release(const struct hotspot_vm *vm, char ret[RUNTIME_VERSION_SIZE])
{
	uint64_t text;

	if (!hotspot_has(&vm->structs, HOTSPOT_RELEASE) ||
	    !hotspot_read_pointer(vm, hotspot_at(vm, HOTSPOT_RELEASE), &text) ||
	    !hotspot_read(vm, text, ret, RUNTIME_VERSION_SIZE - 1))
		*ret = 0;
	ret[RUNTIME_VERSION_SIZE - 1] = 0;
	ret[strspn(ret, "0123456789.")] = 0;
}

/*
 * Fields that only some versions have: code has what belongs to it behind it, or elsewhere, in one
 * block of memory or two: without the second one objects are still behind it (24).
 */
static const enum hotspot_field of_some[] = {
	HOTSPOT_OBJECT_CLASS_11, HOTSPOT_OBJECT_CLASS,	  HOTSPOT_BLOB_KIND,
	HOTSPOT_CODE_METHOD_11,	 HOTSPOT_CODE_METHOD,	  HOTSPOT_CONST_FLAGS_11,
	HOTSPOT_CONST_FLAGS,	 HOTSPOT_POOL_FILE_INDEX, HOTSPOT_KLASS_FILE_INDEX,
};
static const enum hotspot_field of_behind[] = {
	HOTSPOT_BLOB_CODE_BEGIN,
	HOTSPOT_CODE_ENTRY,
	HOTSPOT_CODE_SCOPES_BEGIN,
	HOTSPOT_CODE_DEPENDENCIES_OFFSET,
};
static const enum hotspot_field of_elsewhere[] = {
	HOTSPOT_BLOB_CODE_OFFSET, HOTSPOT_CODE_ENTRY_OFFSET,   HOTSPOT_CODE_SCOPES_OFFSET,
	HOTSPOT_CODE_IMMUTABLE,	  HOTSPOT_CODE_IMMUTABLE_SIZE,
};
static const enum hotspot_field of_one_block[] = {
	HOTSPOT_BLOB_DATA_OFFSET,
	HOTSPOT_BLOB_SIZE,
};
static const enum hotspot_field of_two_blocks[] = {
	HOTSPOT_BLOB_MUTABLE,
	HOTSPOT_BLOB_MUTABLE_SIZE,
	HOTSPOT_BLOB_RELOCATION_SIZE,
};

static bool is_in(enum hotspot_field field, const enum hotspot_field *fields, size_t n)
{
	while (n--)
		if (fields[n] == field)
			return true;
	return false;
}

static bool has_one(const struct hotspot_structs *structs, enum hotspot_field a,
		    enum hotspot_field b)
{
	return hotspot_has(structs, a) || hotspot_has(structs, b);
}

#define IS_IN(field, fields) is_in(field, fields, sizeof(fields) / sizeof(*(fields)))

/* Whether a version must have a field. */
static bool is_needed(const struct hotspot_structs *structs, enum hotspot_field field)
{
	bool is_elsewhere = hotspot_has(structs, HOTSPOT_CODE_IMMUTABLE),
	     has_two = hotspot_has(structs, HOTSPOT_BLOB_MUTABLE);

	if (IS_IN(field, of_some))
		return false;
	if (IS_IN(field, of_behind))
		return !is_elsewhere;
	if (IS_IN(field, of_elsewhere))
		return is_elsewhere;
	if (IS_IN(field, of_two_blocks))
		return has_two;
	if (field == HOTSPOT_CODE_METADATA_OFFSET)
		return !has_two;
	return !IS_IN(field, of_one_block) || (is_elsewhere && !has_two);
}

/* Whether each field is there that this version should have, and each offset is one. */
static bool has_all_fields(const struct hotspot_structs *structs)
{
	for (enum hotspot_field i = 0; i < HOTSPOT_FIELDS_MAX; i++) {
		if (hotspot_has(structs, i) && i >= HOTSPOT_FIRST_OFFSET &&
		    structs->fields[i] >= OFFSETS_MAX)
			return false;
		if (!hotspot_has(structs, i) && is_needed(structs, i))
			return false;
	}
	for (size_t i = 0; i < HOTSPOT_TYPES_MAX; i++)
		if (!structs->sizes[i] || structs->sizes[i] >= OFFSETS_MAX)
			return false;
	return has_one(structs, HOTSPOT_OBJECT_CLASS_11, HOTSPOT_OBJECT_CLASS) &&
	       has_one(structs, HOTSPOT_CODE_METHOD_11, HOTSPOT_CODE_METHOD) &&
	       has_one(structs, HOTSPOT_CONST_FLAGS_11, HOTSPOT_CONST_FLAGS) &&
	       has_one(structs, HOTSPOT_POOL_FILE_INDEX, HOTSPOT_KLASS_FILE_INDEX);
}

enum runtime_state hotspot_vm_open(const struct loaded_image *image, struct hotspot_vm *ret)
{
	GElf_Sym symbol;

	*ret = (struct hotspot_vm){ .image = image };
	ret->structs.fields[HOTSPOT_THREADS] = HOTSPOT_NOT_THERE;
	if (!loaded_image_find_symbol(image, "gHotSpotVMStructs", &symbol))
		return RUNTIME_NONE;
	if (!wait_for(ret))
		return RUNTIME_NOT_YET;
	if (!hotspot_read_number(ret, HOTSPOT_MAJOR_VERSION, &ret->version) ||
	    !is_known(ret->version))
		return RUNTIME_OTHER_VERSION;
	return has_all_fields(&ret->structs) && find_types(ret) ? RUNTIME_KNOWN
								: RUNTIME_OTHER_BUILD;
}
