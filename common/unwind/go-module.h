/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds what a Go program's table of functions refers to, and does not have itself: its code and
 * its functions' data. Both addresses are in runtime.firstmoduledata (Go: struct moduledata in
 * src/runtime/symtab.go). It has no symbol in a stripped program, and is recognized by its
 * addresses of the parts of the table.
 */
#pragma once

#include <libelf.h>

#include "common/unwind/go-pclntab.h"

struct go_module {
	uint64_t text; /* address of the code that functions are relative to */
	uint64_t data; /* address that GO_DATA_… is relative to; 0: unknown in this version */
};

/* Finds the module of a table that was read from `elf`; false: none. */
bool go_module_find(Elf *elf, const struct go_pclntab *table, struct go_module *ret);
