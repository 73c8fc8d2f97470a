/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A virtual machine in a process, and what it has said where it is. */
#pragma once

#include "common/script/runtime-table.h"
#include "perf-source/bpf/walk-program.h"
#include "perf-source/context/hotspot-structs.h"
#include "perf-source/context/runtime.h"

struct hotspot_vm {
	const struct loaded_image *image;
	struct hotspot_structs structs;
	int32_t version;
	uint64_t method_type, archived_type; /* what the first word of a Method is, */
	uint64_t code_type, bare_type;	     /* a word of the object of compiled code, and of what
					      * has no frames: stubs that find a method in a table */
	uint64_t code_mask;
	struct {
		uint64_t from, to;
	} ranges[HOTSPOT_RANGES_MAX]; /* of the interpreter, where it has its frame */
	size_t n_ranges;
};

/* Waits until it runs, and fills in all but `ranges`. What cannot be had is its state's reason. */
enum runtime_state hotspot_vm_open(const struct loaded_image *image, struct hotspot_vm *ret);

/* The number of its version up to the first sign that is none; "": not known. */
void hotspot_vm_release(const struct hotspot_vm *vm, char ret[RUNTIME_VERSION_SIZE]);

/* Whether code describes all of its instructions, and not only calls (DebugNonSafepoints). */
bool hotspot_vm_describes_all(const struct hotspot_vm *vm);

/* Each reads memory at an address; false: not all is there, or a pointer is 0. */
bool hotspot_read(const struct hotspot_vm *vm, uint64_t address, void *ret, size_t size);
bool hotspot_read_pointer(const struct hotspot_vm *vm, uint64_t address, uint64_t *ret);

/* The same for a static field of four bytes. */
bool hotspot_read_number(const struct hotspot_vm *vm, enum hotspot_field field, int32_t *ret);

/* The offset of a field, or the address of a static one. */
static inline uint64_t hotspot_at(const struct hotspot_vm *vm, enum hotspot_field field)
{
	return vm->structs.fields[field];
}
