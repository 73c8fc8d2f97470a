/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kernel code that changes at run time: BPF programs, trampolines, kprobe pages. The stream is in
 * time order, so this is the current state. kallsyms from the start is used where nothing has
 * changed since; an address whose code is gone has no name until other code is reported there.
 */
#pragma once

#include "common/stream/kallsyms.h"
#include "common/wire/wire.h"

enum {
	KERNEL_CODE_MAX = 1 << 16,	/* areas; see kernel_code_change() */
	KERNEL_CODE_SIZE_MAX = 1 << 26, /* bytes; larger pieces of code are refused */
};

/* Where code has changed: it holds at most one piece of code now. */
struct kernel_area {
	uint64_t start, end;
	uint64_t code_start, code_size;
	uint64_t version; /* unique among all areas */
	char *name;	  /* of the code; NULL: gone */
	const char *module;
};

struct kernel_code {
	struct kernel_area *list; /* by start, without overlaps */
	size_t n, n_allocated;
	uint64_t n_versions;
	uint64_t n_refused;
};

void kernel_code_deinit(struct kernel_code *code);

/*
 * Takes in a change. 0 or -ENOMEM; impossible records are counted. If there are too many areas,
 * neighbours without code are joined; if that is not enough, all are dropped and counted, and what
 * they cover has no names until it is reported anew.
 */
int kernel_code_change(struct kernel_code *code, const struct wire_kernel_symbol *record);

/* Identifies the name of an address: if it differs, the address must be named again. */
uint64_t kernel_code_state(const struct kernel_code *code, const struct kallsyms *kallsyms,
			   uint64_t address);

struct kernel_name {
	uint64_t start, size;
	const char *name, *module; /* as in kallsyms: "bpf" for BPF programs */
};

/* The current name of an address; false: none is certain. */
bool kernel_code_name(const struct kernel_code *code, const struct kallsyms *kallsyms,
		      uint64_t address, struct kernel_name *ret);
