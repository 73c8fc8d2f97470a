/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code of the kernel that comes and goes while it runs: BPF programs, trampolines, pages of
 * kprobes. The stream is in the order of time, so what is known here is what is there now. Beside
 * it stays what kallsyms told at the start, but only where nothing has changed since: of an address
 * whose code has gone nothing is known until other code is told to be there.
 */
#pragma once

#include "common/wire/wire.h"
#include "common/stream/kallsyms.h"

enum {
	KERNEL_CODE_MAX = 1 << 16,	/* areas; see kernel_code_change() */
	KERNEL_CODE_SIZE_MAX = 1 << 26, /* bytes of one piece of code; a larger one is refused */
};

/* Where something has changed: at most one piece of code is there now. */
struct kernel_area {
	uint64_t start, end;
	uint64_t code_start, code_size;
	uint64_t version; /* no two areas ever have the same */
	char *name;	  /* of the code; NULL: it has gone */
	const char *module;
};

struct kernel_code {
	struct kernel_area *list; /* by start; no two overlap */
	size_t n, n_allocated;
	uint64_t n_versions;
	uint64_t n_refused;
};

void kernel_code_deinit(struct kernel_code *code);

/*
 * Takes in what has come or gone. 0 or -ENOMEM; what is impossible is counted. Where areas are too
 * many, neighbours that hold no code become one; if that does not help, all are given up, counted,
 * and what they cover has no names until it is told anew.
 */
int kernel_code_change(struct kernel_code *code, const struct wire_kernel_symbol *record);

/*
 * A number that stays the same as long as an address has the same name: as soon as it is another
 * one, the address is to be named again.
 */
uint64_t kernel_code_state(const struct kernel_code *code, const struct kallsyms *kallsyms,
			   uint64_t address);

struct kernel_name {
	uint64_t start, size;
	const char *name, *module; /* as of kallsyms: "bpf" for BPF programs */
};

/* What an address is called now; false: there is no name that is known to be right. */
bool kernel_code_name(const struct kernel_code *code, const struct kallsyms *kallsyms,
		      uint64_t address, struct kernel_name *ret);
