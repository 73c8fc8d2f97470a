/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where HotSpot's frames are. Compiled code has no frame pointers: the object in front of it (a
 * CodeBlob) says how large its frames are, and the code itself where they are made and left. The
 * interpreter's frames have frame pointers. C++ that was called by either is skipped: the thread
 * has noted where its last frame is (JavaFrameAnchor), and the code that C++ calls methods by has
 * what was noted before (JavaCallWrapper). All offsets come from the VM's own tables; what has no
 * entry in them is the same in all known versions (frame_x86.hpp, macroAssembler_x86.cpp).
 */
#include <stdio.h>

#include "perf-source/context/hotspot-program.h"

enum {
	FIRST_EXCLUDING = 19, /* version whose numbers have no byte of 0 (unsigned5.hpp) */
};

struct layout_text {
	char *text;
	size_t size, used;
	bool is_full;
};

static void say(struct layout_text *to, const char *name, uint64_t value)
{
	int n = snprintf(to->text + to->used, to->size - to->used, "%s%s=%lld", to->used ? " " : "",
			 name, (long long)value);

	if (n > 0 && (size_t)n < to->size - to->used)
		to->used += n;
	else
		to->is_full = true;
}

static uint64_t field_of(uint16_t offset)
{
	return offset == WALK_NOT_THERE ? HOTSPOT_NOT_THERE : offset;
}

static void say_site(struct layout_text *to, const char *name, const struct walk_site *site)
{
	static const char *const parts[] = { "pointer", "further", "offset", "size" };
	const uint16_t values[] = { site->pointer, site->further, site->offset, site->offset_size };
	char text[32];

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		snprintf(text, sizeof(text), "%s.%s", name, parts[i]);
		say(to, text, field_of(values[i]));
	}
}

/* False: it has no room. */
static bool describe(const struct hotspot_vm *vm, const struct walk_program *walk,
		     struct runtime *ret)
{
	char name[32];
	struct layout_text to = { ret->layout, sizeof(ret->layout), 0 };
	const struct walk_frames *frames = &walk->frames;

	for (size_t i = 0; i < vm->n_ranges; i++) {
		snprintf(name, sizeof(name), "frames.from%zu", i);
		say(&to, name, vm->ranges[i].from);
		snprintf(name, sizeof(name), "frames.to%zu", i);
		say(&to, name, vm->ranges[i].to);
	}
	say(&to, "method.type", vm->method_type);
	say(&to, "method.archived", vm->archived_type);
	say(&to, "method.size", vm->structs.sizes[HOTSPOT_METHOD]);
	say(&to, "method.const", hotspot_at(vm, HOTSPOT_METHOD_CONST));
	say(&to, "const.size", vm->structs.sizes[HOTSPOT_CONST_METHOD]);
	say(&to, "const.code", hotspot_at(vm, HOTSPOT_CONST_CODE_SIZE));
	say(&to, "const.flags",
	    hotspot_at(vm, hotspot_has(&vm->structs, HOTSPOT_CONST_FLAGS)
				   ? HOTSPOT_CONST_FLAGS
				   : HOTSPOT_CONST_FLAGS_11));
	say(&to, "text", hotspot_at(vm, HOTSPOT_SYMBOL_BODY));
	say(&to, "text.length", hotspot_at(vm, HOTSPOT_SYMBOL_LENGTH));
	say(&to, "dense", !ret->is_partly_told);
	say(&to, "excluded", vm->version >= FIRST_EXCLUDING);
	say(&to, "code.method",
	    hotspot_at(vm, hotspot_has(&vm->structs, HOTSPOT_CODE_METHOD)
				   ? HOTSPOT_CODE_METHOD
				   : HOTSPOT_CODE_METHOD_11));
	say_site(&to, "begin", &frames->begin);
	say_site(&to, "rare", &frames->rare);
	say_site(&to, "pcs", &frames->ranges[HOTSPOT_PCS][0]);
	say_site(&to, "pcs-end", &frames->ranges[HOTSPOT_PCS][1]);
	say_site(&to, "scopes", &frames->ranges[HOTSPOT_SCOPES][0]);
	say_site(&to, "scopes-end", &frames->ranges[HOTSPOT_SCOPES][1]);
	say_site(&to, "metadata", &frames->ranges[HOTSPOT_METADATA][0]);
	say_site(&to, "metadata-end", &frames->ranges[HOTSPOT_METADATA][1]);
	return !to.is_full;
}

enum runtime_state hotspot_find(const struct loaded_image *image, struct runtime *ret)
{
	struct hotspot_vm vm;
	enum runtime_state state = hotspot_vm_open(image, &vm);

	if (state == RUNTIME_NONE)
		return state;
	hotspot_vm_release(&vm, ret->version);
	if (state != RUNTIME_KNOWN)
		return state;
	if (!hotspot_program_make(&vm, &ret->walk))
		return RUNTIME_OTHER_BUILD;
	ret->is_partly_told = !hotspot_vm_describes_all(&vm);
	return describe(&vm, &ret->walk, ret) ? RUNTIME_KNOWN : RUNTIME_OTHER_BUILD;
}
