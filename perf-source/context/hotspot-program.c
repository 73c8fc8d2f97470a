/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stddef.h>
#include <string.h>

#include "common/script/hotspot-pieces.h"
#include "perf-source/context/hotspot-interpreter.h"
#include "perf-source/context/hotspot-patterns.h"
#include "perf-source/context/hotspot-program.h"
#include "perf-source/context/walk-root.h"
#include "perf-source/image/tls-variable.h"

enum {
	WORD = 8,
	FRAMES_MAX = 512,
	SHIFT_MAX = 16,
	WRAPPER_AT = -6 * 8, /* frame::entry_frame_call_wrapper_offset */
	IDENTITY_PART = 8,   /* with the number of the compilation */
	CODE_READ = 1024,    /* bytes of a ConstMethod, */
	NAME_READ = 264,     /* of a name, */
	CLASS_READ = 384,    /* and of a class */
};

static bool find_heap(const struct hotspot_vm *vm, uint64_t heap, struct walk_heap *ret)
{
	uint64_t memory = heap + hotspot_at(vm, HOTSPOT_HEAP_MEMORY);
	int32_t shift;

	if (!hotspot_read_pointer(vm, memory + hotspot_at(vm, HOTSPOT_SPACE_FROM), &ret->from) ||
	    !hotspot_read_pointer(vm, memory + hotspot_at(vm, HOTSPOT_SPACE_TO), &ret->to) ||
	    !hotspot_read_pointer(vm,
				  heap + hotspot_at(vm, HOTSPOT_HEAP_SEGMENTS) +
					  hotspot_at(vm, HOTSPOT_SPACE_LOW),
				  &ret->segments) ||
	    !hotspot_read(vm, heap + hotspot_at(vm, HOTSPOT_HEAP_SEGMENT_SHIFT), &shift,
			  sizeof(shift)) ||
	    ret->from >= ret->to || shift < 0 || shift > SHIFT_MAX)
		return false;
	ret->shift = shift;
	return true;
}

static bool find_heaps(const struct hotspot_vm *vm, struct walk_frames *frames)
{
	uint64_t list, data, heap;
	int32_t n;

	if (!hotspot_read_pointer(vm, hotspot_at(vm, HOTSPOT_HEAPS), &list) ||
	    !hotspot_read(vm, list, &n, sizeof(n)) || n < 1 || n > WALK_HEAPS_MAX ||
	    !hotspot_read_pointer(vm, list + hotspot_at(vm, HOTSPOT_ARRAY_DATA), &data))
		return false;
	for (int32_t i = 0; i < n; i++)
		if (!hotspot_read_pointer(vm, data + i * WORD, &heap) ||
		    !find_heap(vm, heap, &frames->heaps[i]))
			return false;
	return true;
}

static uint16_t offset_of(const struct hotspot_vm *vm, enum hotspot_field field)
{
	return hotspot_at(vm, field) < WALK_NOT_THERE ? hotspot_at(vm, field) : WALK_NOT_THERE;
}

static struct walk_site site(const struct hotspot_vm *vm, enum hotspot_field pointer,
			     enum hotspot_field further, enum hotspot_field number, int size)
{
	return (struct walk_site){
		.pointer = pointer == HOTSPOT_FIELDS_MAX ? WALK_NOT_THERE : offset_of(vm, pointer),
		.further = further == HOTSPOT_FIELDS_MAX ? WALK_NOT_THERE : offset_of(vm, further),
		.offset = number == HOTSPOT_FIELDS_MAX ? WALK_NOT_THERE : offset_of(vm, number),
		.offset_size = size,
	};
}

#define NONE HOTSPOT_FIELDS_MAX

/* Up to 22, what belongs to code lies behind it. */
static void find_ranges_behind(const struct hotspot_vm *vm, struct walk_frames *frames)
{
	struct walk_site(*ranges)[2] = frames->ranges;

	frames->begin = site(vm, HOTSPOT_BLOB_CODE_BEGIN, NONE, NONE, 0);
	frames->begin_known = site(vm, HOTSPOT_CODE_ENTRY, NONE, NONE, 0);
	ranges[HOTSPOT_PCS][0] = site(vm, NONE, NONE, HOTSPOT_CODE_PCS_OFFSET, 4);
	ranges[HOTSPOT_PCS][1] = site(vm, NONE, NONE, HOTSPOT_CODE_DEPENDENCIES_OFFSET, 4);
	ranges[HOTSPOT_SCOPES][0] = site(vm, HOTSPOT_CODE_SCOPES_BEGIN, NONE, NONE, 0);
	ranges[HOTSPOT_SCOPES][1] = ranges[HOTSPOT_PCS][0];
	ranges[HOTSPOT_METADATA][0] = site(vm, NONE, NONE, HOTSPOT_CODE_METADATA_OFFSET, 4);
	ranges[HOTSPOT_METADATA][1] = ranges[HOTSPOT_SCOPES][0];
}

/* Since then, in memory of its own; but the objects that it refers to, only from 25 on. */
static void find_ranges_elsewhere(const struct hotspot_vm *vm, struct walk_frames *frames)
{
	struct walk_site(*ranges)[2] = frames->ranges;

	frames->begin = site(vm, NONE, HOTSPOT_BLOB_CODE_OFFSET, NONE, 0);
	frames->begin_known =
		site(vm, NONE, HOTSPOT_BLOB_CODE_OFFSET, HOTSPOT_CODE_ENTRY_OFFSET, 2);
	ranges[HOTSPOT_PCS][0] = site(vm, HOTSPOT_CODE_IMMUTABLE, NONE, HOTSPOT_CODE_PCS_OFFSET, 4);
	ranges[HOTSPOT_PCS][1] =
		site(vm, HOTSPOT_CODE_IMMUTABLE, NONE, HOTSPOT_CODE_SCOPES_OFFSET, 4);
	ranges[HOTSPOT_SCOPES][0] = ranges[HOTSPOT_PCS][1];
	ranges[HOTSPOT_SCOPES][1] =
		site(vm, HOTSPOT_CODE_IMMUTABLE, NONE, HOTSPOT_CODE_IMMUTABLE_SIZE, 4);
	if (!hotspot_has(&vm->structs, HOTSPOT_BLOB_MUTABLE)) {
		ranges[HOTSPOT_METADATA][0] =
			site(vm, NONE, HOTSPOT_BLOB_DATA_OFFSET, HOTSPOT_CODE_METADATA_OFFSET, 2);
		ranges[HOTSPOT_METADATA][1] = site(vm, NONE, NONE, HOTSPOT_BLOB_SIZE, 4);
		return;
	}
	ranges[HOTSPOT_METADATA][0] =
		site(vm, HOTSPOT_BLOB_MUTABLE, NONE, HOTSPOT_BLOB_RELOCATION_SIZE, 4);
	ranges[HOTSPOT_METADATA][1] =
		site(vm, HOTSPOT_BLOB_MUTABLE, NONE, HOTSPOT_BLOB_MUTABLE_SIZE, 4);
}

static bool make_frames(struct hotspot_vm *vm, struct walk_frames *frames)
{
	uint64_t entry;

	if (!find_heaps(vm, frames) || !hotspot_interpreter_find(vm, frames) ||
	    !hotspot_read_pointer(vm, hotspot_at(vm, HOTSPOT_CALL_STUB_RETURN), &entry))
		return false;
	frames->entry = entry;
	frames->bare_type = vm->bare_type;
	hotspot_patterns_make(frames->patterns);
	frames->header = vm->structs.sizes[HOTSPOT_HEAP_BLOCK];
	frames->frame_size = offset_of(vm, HOTSPOT_BLOB_FRAME_SIZE);
	frames->made = offset_of(vm, HOTSPOT_BLOB_FRAME_COMPLETE);
	frames->entry_noted = WRAPPER_AT;
	frames->entry_noted_at = offset_of(vm, HOTSPOT_WRAPPER_ANCHOR);
	frames->noted_sp = offset_of(vm, HOTSPOT_ANCHOR_SP);
	frames->noted_pc = offset_of(vm, HOTSPOT_ANCHOR_PC);
	frames->noted_fp = offset_of(vm, HOTSPOT_ANCHOR_FP);
	frames->own = offset_of(vm, hotspot_has(&vm->structs, HOTSPOT_CODE_METHOD)
					    ? HOTSPOT_CODE_METHOD
					    : HOTSPOT_CODE_METHOD_11);
	frames->place_from = offset_of(vm, HOTSPOT_METHOD_CONST);
	frames->rare = site(vm, NONE, NONE, HOTSPOT_CODE_STUB_OFFSET, 4);
	if (hotspot_has(&vm->structs, HOTSPOT_CODE_IMMUTABLE)) {
		frames->made_size = 2;
		find_ranges_elsewhere(vm, frames);
	} else {
		frames->made_size = 4;
		find_ranges_behind(vm, frames);
	}
	memcpy(frames->callees, frames->ranges[HOTSPOT_METADATA], sizeof(frames->callees));
	return true;
}

/* The bit of a word; those far behind have none, and forged tables may say so. */
static uint32_t word(uint64_t offset)
{
	return offset / WORD < WALK_OBJECT_WORDS ? 1U << (offset / WORD) : 0;
}

/* A name (Symbol): two bytes of length, and the text behind. */
static struct walk_text name(const struct hotspot_vm *vm, int of, uint64_t pointer)
{
	return (struct walk_text){
		.of = of,
		.pointer = pointer,
		.size = NAME_READ,
		.skip = hotspot_at(vm, HOTSPOT_SYMBOL_BODY),
		.length_at = 1 + hotspot_at(vm, HOTSPOT_SYMBOL_LENGTH),
	};
}

static struct walk_object method_object(const struct hotspot_vm *vm)
{
	uint64_t pool_size = vm->structs.sizes[HOTSPOT_CONSTANT_POOL],
		 name_index = hotspot_at(vm, HOTSPOT_CONST_NAME_INDEX);
	struct walk_object object = {
		.pointer_mask = UINT64_MAX,
		.words = word(0) | word(hotspot_at(vm, HOTSPOT_METHOD_CONST)),
		.pointer = offsetof(struct walk_call, what),
		.size = vm->structs.sizes[HOTSPOT_METHOD],
		.type = vm->method_type,
		.other_type = vm->archived_type,
	};
	struct walk_text *texts = object.texts;

	texts[HOTSPOT_METHOD_CODE] = (struct walk_text){
		.pointer = hotspot_at(vm, HOTSPOT_METHOD_CONST),
		.size = CODE_READ,
		.words = word(hotspot_at(vm, HOTSPOT_CONST_POOL)) | word(name_index),
	};
	texts[HOTSPOT_METHOD_POOL] = (struct walk_text){
		.of = 1 + HOTSPOT_METHOD_CODE,
		.pointer = hotspot_at(vm, HOTSPOT_CONST_POOL),
		.size = pool_size,
		.words = word(hotspot_at(vm, HOTSPOT_POOL_HOLDER)),
	};
	texts[HOTSPOT_METHOD_NAME] = name(vm, 1 + HOTSPOT_METHOD_POOL, pool_size);
	texts[HOTSPOT_METHOD_NAME].index_of = 1 + HOTSPOT_METHOD_CODE;
	texts[HOTSPOT_METHOD_NAME].index_at = name_index;
	texts[HOTSPOT_METHOD_CLASS] = (struct walk_text){
		.of = 1 + HOTSPOT_METHOD_POOL,
		.pointer = hotspot_at(vm, HOTSPOT_POOL_HOLDER),
		.size = CLASS_READ,
		.words = word(hotspot_at(vm, HOTSPOT_KLASS_NAME)),
	};
	texts[HOTSPOT_METHOD_CLASS_NAME] =
		name(vm, 1 + HOTSPOT_METHOD_CLASS, hotspot_at(vm, HOTSPOT_KLASS_NAME));
	/* A method that HotSpot has made has a pool of its own, with the number of a name that is
	 * only in its class's: Method::make_method_handle_intrinsic(). */
	texts[HOTSPOT_METHOD_CLASS_POOL] = (struct walk_text){
		.of = 1 + HOTSPOT_METHOD_CLASS,
		.pointer = hotspot_at(vm, HOTSPOT_KLASS_POOL),
		.size = WORD,
	};
	texts[HOTSPOT_METHOD_FILE] = name(vm, 1 + HOTSPOT_METHOD_CLASS_POOL, pool_size);
	texts[HOTSPOT_METHOD_FILE].index_of = 1 + HOTSPOT_METHOD_CLASS_POOL;
	texts[HOTSPOT_METHOD_FILE].index_at = hotspot_at(vm, HOTSPOT_POOL_FILE_INDEX);
	if (!hotspot_has(&vm->structs, HOTSPOT_POOL_FILE_INDEX)) {
		texts[HOTSPOT_METHOD_FILE].index_of = 1 + HOTSPOT_METHOD_CLASS;
		texts[HOTSPOT_METHOD_FILE].index_at = hotspot_at(vm, HOTSPOT_KLASS_FILE_INDEX);
	}
	return object;
}

static struct walk_object code_object(const struct hotspot_vm *vm)
{
	uint64_t id = hotspot_at(vm, HOTSPOT_CODE_COMPILE_ID);

	return (struct walk_object){
		.pointer_mask = UINT64_MAX,
		.size = vm->structs.sizes[HOTSPOT_CODE],
		.part = id & ~7ULL,
		.part_size = IDENTITY_PART,
		.unique = id & 7,
		.type = vm->code_type,
		.type_mask = vm->code_mask,
		.type_at = hotspot_has(&vm->structs, HOTSPOT_BLOB_KIND)
				   ? hotspot_at(vm, HOTSPOT_BLOB_KIND)
				   : 0,
	};
}

/* What a thread has noted is in its JavaThread. False: it is not known where that is. */
static bool find_noted(const struct hotspot_vm *vm, struct walk_root *ret)
{
	struct context_place place;

	if (tls_variable_find_local(vm->image->elf, vm->image->bias, vm->image->memory,
				    "_ZN6Thread12_thr_currentE", &place))
		return false;
	*ret = walk_root_of_variable(&place);
	walk_root_add(ret, hotspot_at(vm, HOTSPOT_THREAD_ANCHOR));
	return true;
}

bool hotspot_program_make(struct hotspot_vm *vm, struct walk_program *ret)
{
	*ret = (struct walk_program){
		.lists = { { .window = sizeof(struct walk_call), .limit = FRAMES_MAX } },
		.object = method_object(vm),
		.code = { .object = code_object(vm) },
	};
	return find_noted(vm, &ret->lists[0].roots[0]) && make_frames(vm, &ret->frames);
}
