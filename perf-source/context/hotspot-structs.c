/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>
#include <unistd.h>

#include "perf-source/context/hotspot-structs.h"

enum {
	ENTRIES_MAX = 4096,
	NAME_MAX_SIZE = 80,
};

static const struct {
	const char *type, *field;
} fields[HOTSPOT_FIELDS_MAX] = {
	[HOTSPOT_MAJOR_VERSION] = { "Abstract_VM_Version", "_vm_major_version" },
	[HOTSPOT_RELEASE] = { "Abstract_VM_Version", "_s_vm_release" },
	[HOTSPOT_THREADS] = { "Threads", "_number_of_threads" },
	[HOTSPOT_HEAPS] = { "CodeCache", "_heaps" },
	[HOTSPOT_INTERPRETER] = { "AbstractInterpreter", "_code" },
	[HOTSPOT_CALL_STUB_RETURN] = { "StubRoutines", "_call_stub_return_address" },
	[HOTSPOT_OBJECT_CLASS_11] = { "SystemDictionary",
				      "_well_known_klasses[SystemDictionary::Object_klass_knum]" },
	[HOTSPOT_OBJECT_CLASS] = { "vmClasses",
				   "_klasses[static_cast<int>(vmClassID::Object_klass_knum)]" },
	[HOTSPOT_FLAGS] = { "JVMFlag", "flags" },
	[HOTSPOT_FLAGS_N] = { "JVMFlag", "numFlags" },
	[HOTSPOT_FLAG_NAME] = { "JVMFlag", "_name" },
	[HOTSPOT_FLAG_FLAGS] = { "JVMFlag", "_flags" },
	[HOTSPOT_FLAG_ADDRESS] = { "JVMFlag", "_addr" },
	[HOTSPOT_ARRAY_DATA] = { "GrowableArray<int>", "_data" },
	[HOTSPOT_HEAP_MEMORY] = { "CodeHeap", "_memory" },
	[HOTSPOT_HEAP_SEGMENTS] = { "CodeHeap", "_segmap" },
	[HOTSPOT_HEAP_SEGMENT_SHIFT] = { "CodeHeap", "_log2_segment_size" },
	[HOTSPOT_SPACE_FROM] = { "VirtualSpace", "_low_boundary" },
	[HOTSPOT_SPACE_TO] = { "VirtualSpace", "_high_boundary" },
	[HOTSPOT_SPACE_LOW] = { "VirtualSpace", "_low" },
	[HOTSPOT_QUEUE_BUFFER] = { "StubQueue", "_stub_buffer" },
	[HOTSPOT_QUEUE_END] = { "StubQueue", "_queue_end" },
	[HOTSPOT_QUEUE_N] = { "StubQueue", "_number_of_stubs" },
	[HOTSPOT_CODELET_SIZE] = { "InterpreterCodelet", "_size" },
	[HOTSPOT_CODELET_BYTECODE] = { "InterpreterCodelet", "_bytecode" },
	[HOTSPOT_CODELET_NAME] = { "InterpreterCodelet", "_description" },
	[HOTSPOT_BLOB_KIND] = { "CodeBlob", "_kind" },
	[HOTSPOT_BLOB_FRAME_SIZE] = { "CodeBlob", "_frame_size" },
	[HOTSPOT_BLOB_FRAME_COMPLETE] = { "CodeBlob", "_frame_complete_offset" },
	[HOTSPOT_BLOB_CODE_BEGIN] = { "CodeBlob", "_code_begin" },
	[HOTSPOT_BLOB_CODE_OFFSET] = { "CodeBlob", "_code_offset" },
	[HOTSPOT_BLOB_DATA_OFFSET] = { "CodeBlob", "_data_offset" },
	[HOTSPOT_BLOB_SIZE] = { "CodeBlob", "_size" },
	[HOTSPOT_BLOB_MUTABLE] = { "CodeBlob", "_mutable_data" },
	[HOTSPOT_BLOB_MUTABLE_SIZE] = { "CodeBlob", "_mutable_data_size" },
	[HOTSPOT_BLOB_RELOCATION_SIZE] = { "CodeBlob", "_relocation_size" },
	[HOTSPOT_CODE_COMPILE_ID] = { "nmethod", "_compile_id" },
	[HOTSPOT_CODE_STUB_OFFSET] = { "nmethod", "_stub_offset" },
	[HOTSPOT_CODE_ENTRY] = { "nmethod", "_verified_entry_point" },
	[HOTSPOT_CODE_ENTRY_OFFSET] = { "nmethod", "_verified_entry_offset" },
	[HOTSPOT_CODE_METHOD_11] = { "CompiledMethod", "_method" },
	[HOTSPOT_CODE_METHOD] = { "nmethod", "_method" },
	[HOTSPOT_CODE_METADATA_OFFSET] = { "nmethod", "_metadata_offset" },
	[HOTSPOT_CODE_SCOPES_BEGIN] = { "CompiledMethod", "_scopes_data_begin" },
	[HOTSPOT_CODE_SCOPES_OFFSET] = { "nmethod", "_scopes_data_offset" },
	[HOTSPOT_CODE_PCS_OFFSET] = { "nmethod", "_scopes_pcs_offset" },
	[HOTSPOT_CODE_DEPENDENCIES_OFFSET] = { "nmethod", "_dependencies_offset" },
	[HOTSPOT_CODE_IMMUTABLE] = { "nmethod", "_immutable_data" },
	[HOTSPOT_CODE_IMMUTABLE_SIZE] = { "nmethod", "_immutable_data_size" },
	[HOTSPOT_THREAD_ANCHOR] = { "JavaThread", "_anchor" },
	[HOTSPOT_WRAPPER_ANCHOR] = { "JavaCallWrapper", "_anchor" },
	[HOTSPOT_ANCHOR_SP] = { "JavaFrameAnchor", "_last_Java_sp" },
	[HOTSPOT_ANCHOR_PC] = { "JavaFrameAnchor", "_last_Java_pc" },
	[HOTSPOT_ANCHOR_FP] = { "JavaFrameAnchor", "_last_Java_fp" },
	[HOTSPOT_METHOD_CONST] = { "Method", "_constMethod" },
	[HOTSPOT_CONST_POOL] = { "ConstMethod", "_constants" },
	[HOTSPOT_CONST_CODE_SIZE] = { "ConstMethod", "_code_size" },
	[HOTSPOT_CONST_NAME_INDEX] = { "ConstMethod", "_name_index" },
	[HOTSPOT_CONST_FLAGS_11] = { "ConstMethod", "_flags" },
	[HOTSPOT_CONST_FLAGS] = { "ConstMethod", "_flags._flags" },
	[HOTSPOT_POOL_HOLDER] = { "ConstantPool", "_pool_holder" },
	[HOTSPOT_POOL_FILE_INDEX] = { "ConstantPool", "_source_file_name_index" },
	[HOTSPOT_KLASS_FILE_INDEX] = { "InstanceKlass", "_source_file_name_index" },
	[HOTSPOT_KLASS_NAME] = { "Klass", "_name" },
	[HOTSPOT_KLASS_METHODS] = { "InstanceKlass", "_methods" },
	[HOTSPOT_KLASS_POOL] = { "InstanceKlass", "_constants" },
	[HOTSPOT_METHODS_DATA] = { "Array<Method*>", "_data" },
	[HOTSPOT_SYMBOL_LENGTH] = { "Symbol", "_length" },
	[HOTSPOT_SYMBOL_BODY] = { "Symbol", "_body[0]" },
};

static const char *const types[HOTSPOT_TYPES_MAX] = {
	[HOTSPOT_HEAP_BLOCK] = "HeapBlock",
	[HOTSPOT_METHOD] = "Method",
	[HOTSPOT_CONST_METHOD] = "ConstMethod",
	[HOTSPOT_CONSTANT_POOL] = "ConstantPool",
	[HOTSPOT_CODE] = "nmethod",
	[HOTSPOT_FLAG] = "JVMFlag",
};

/* Entries of the tables, of which each version says how large they are (vmStructs.hpp). */
struct field_entry {
	uint64_t type, field, kind;
	int32_t is_static, reserved;
	uint64_t offset, address;
};

struct type_entry {
	uint64_t type, super;
	int32_t is_oop, is_integer, is_unsigned, reserved;
	uint64_t size;
};

/* A longer text is cut, and is none that is looked for. */
static void read_name(const struct loaded_image *image, uint64_t address,
		      char ret[NAME_MAX_SIZE + 1])
{
	ssize_t n = address ? pread(image->memory, ret, NAME_MAX_SIZE, address) : 0;

	ret[n > 0 ? n : 0] = 0;
}

static bool read_exported(const struct loaded_image *image, const char *name, uint64_t *ret)
{
	GElf_Sym symbol;

	return loaded_image_find_symbol(image, name, &symbol) &&
	       loaded_image_read(image, symbol.st_value, ret, sizeof(*ret)) && *ret;
}

static void take_field(const struct loaded_image *image, const void *from,
		       struct hotspot_structs *structs)
{
	char type[NAME_MAX_SIZE + 1], field[NAME_MAX_SIZE + 1] = "";
	const struct field_entry *entry = from;

	read_name(image, entry->type, type);
	for (size_t i = 0; i < HOTSPOT_FIELDS_MAX; i++) {
		if (strcmp(fields[i].type, type) != 0)
			continue;
		if (!*field)
			read_name(image, entry->field, field);
		if (!strcmp(fields[i].field, field))
			structs->fields[i] = entry->is_static ? entry->address : entry->offset;
	}
}

static void take_type(const struct loaded_image *image, const void *from,
		      struct hotspot_structs *structs)
{
	const struct type_entry *entry = from;
	char name[NAME_MAX_SIZE + 1];

	read_name(image, entry->type, name);
	for (size_t i = 0; i < HOTSPOT_TYPES_MAX; i++)
		if (!strcmp(types[i], name))
			structs->sizes[i] = entry->size;
}

/* An exported table, whose entries begin with a pointer that only the end does not have. */
struct table {
	const char *name, *stride; /* what has its address, and the size of its entries */
	size_t size;		   /* as it should be */
	void (*take)(const struct loaded_image *image, const void *from,
		     struct hotspot_structs *structs);
};

/* False: there is none, or it is of another form. */
static bool read_table(const struct loaded_image *image, const struct table *table,
		       struct hotspot_structs *structs)
{
	uint64_t address, size;
	union {
		uint64_t type;
		struct field_entry field;
		struct type_entry of_type;
	} entry;

	if (!read_exported(image, table->name, &address) ||
	    !read_exported(image, table->stride, &size) || size != table->size)
		return false;
	for (size_t i = 0; i < ENTRIES_MAX; i++, address += size) {
		if (pread(image->memory, &entry, size, address) != (ssize_t)size)
			return false;
		if (!entry.type)
			return true;
		table->take(image, &entry, structs);
	}
	return false;
}

bool hotspot_structs_read(const struct loaded_image *image, struct hotspot_structs *ret)
{
	static const struct table tables[] = {
		{ "gHotSpotVMStructs", "gHotSpotVMStructEntryArrayStride",
		  sizeof(struct field_entry), take_field },
		{ "gHotSpotVMTypes", "gHotSpotVMTypeEntryArrayStride", sizeof(struct type_entry),
		  take_type },
	};

	memset(ret, 0xff, sizeof(*ret));
	return read_table(image, &tables[0], ret) && read_table(image, &tables[1], ret);
}
