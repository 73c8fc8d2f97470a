/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inlined calls and source lines of a Go program without DWARF, from the tables that its runtime
 * has for its own traces (Go: inlineUnwinder in src/runtime/symtabinl.go). Any byte may be hostile:
 * what contradicts itself gives only the function.
 */
#pragma once

#include <libelf.h>

#include "common/unwind/go-pclntab.h"
#include "symbolizer/dwarf/debug-info.h"

struct go_calls {
	struct go_pclntab table;
	const uint8_t *data; /* of functions; NULL: unknown, so are inlined calls */
	uint64_t data_size;
};

/* Reads the tables of `elf`, which must stay open; false: it has none that are supported. */
bool go_calls_init(struct go_calls *calls, Elf *elf);

/* Bytes that libelf keeps for them. */
uint64_t go_calls_size(const struct go_calls *calls);

/* As debug_info_find(). */
size_t go_calls_find(const struct go_calls *calls, uint64_t address, struct inline_call *list,
		     size_t n_max);
