/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions of an image, sorted by linked address: from .symtab, else from a separate debug
 * file or .gnu_debugdata, from .dynsym, and PLT stubs (plt.h).
 */
#pragma once

#include <libelf.h>

#include "symbolizer/dwarf/debug-files.h"

#define SYMBOL_STUB_SUFFIX "@plt"

enum { SYMBOL_TABLE_MAX = 1 << 22 }; /* per image; further ones are left out */

struct symbol {
	uint64_t address, size;
	const char *name;   /* points into one of the ELF files */
	const char *suffix; /* SYMBOL_STUB_SUFFIX, or empty */
	char *full_name;    /* demangled, with suffix; NULL: not made yet, or same as `name` */
	uint16_t n_folded;  /* other functions folded into this one (folded-names.h) */
	uint8_t binding;    /* STB_… */
	uint8_t rank;	    /* the highest at an address is kept */
	bool is_sized;	    /* else it ends with its section, or at the next one */
	bool is_chosen;	    /* its address is that of its resolver (STT_GNU_IFUNC) */
	bool is_asked;
	bool is_label; /* no size or type: perhaps a label within a function */
	bool is_data;  /* data in code: only ends the function before it */
};

/* Another name of a symbol with nonzero `n_folded`. */
struct folded_symbol {
	uint64_t address;
	const char *name;
};

struct symbol_table {
	struct symbol *list;
	size_t n, n_refused;
	struct folded_symbol *folded; /* by address */
	size_t n_folded;
	struct debug_file debug; /* source of some of the names */
	bool is_stripped;	 /* only dynamic symbols were found */
	bool has_locals;	 /* has symbols of local functions */
	bool has_versions;	 /* has versioned dynamic symbols */
};

/* Whether a file has symbols that are not for dynamic linking; else another one may have them. */
bool symbol_table_is_in(Elf *elf);

/* Reads the symbols of `elf`, which must stay open. 0 or -ENOMEM; empty without symbols. */
int symbol_table_init(struct symbol_table *table, Elf *elf, const char *path,
		      const struct debug_dirs *dirs);
void symbol_table_deinit(struct symbol_table *table);

/* The function at an address; NULL: none. */
struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address);

/* A nearby sized function around a symbol and an address behind it; NULL: none. */
struct symbol *symbol_table_find_around(const struct symbol_table *table,
					const struct symbol *symbol, uint64_t address);

/* Renames a symbol to `name`, if that is one of the functions folded into it. */
void symbol_table_prefer(const struct symbol_table *table, struct symbol *symbol, const char *name);

/* The demangled name. */
const char *symbol_name(struct symbol *symbol);
