/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions of one image, sorted by address as linked: from .symtab, else from a separate
 * debug file or .gnu_debugdata, from .dynsym, and the linkage table's stubs (plt.h).
 */
#pragma once

#include <libelf.h>

#include "symbolizer/dwarf/debug-files.h"

enum { SYMBOL_TABLE_MAX = 1 << 22 }; /* symbols of an image; further ones are left out */

struct symbol {
	uint64_t address, size;
	const char *name;   /* points into one of the ELF files */
	const char *suffix; /* "@plt" of a stub, else empty */
	char *full_name;    /* demangled, with its suffix; NULL: not asked for yet, or as `name` */
	uint16_t n_folded;  /* other functions that are this one, too (folded-names.h) */
	uint8_t binding;    /* STB_… */
	uint8_t rank;	    /* among those of one address the highest is kept */
	bool is_sized;	    /* else it ends with its section, or where the next one begins */
	bool is_chosen;	    /* its address is that of the code that chooses it (STT_GNU_IFUNC) */
	bool is_asked;
	bool is_label; /* neither size nor type: perhaps a place within another function */
	bool is_data;  /* among code: it is not found, but what is before it ends there */
};

/* Another name of a symbol whose `n_folded` is not 0. */
struct folded_symbol {
	uint64_t address;
	const char *name;
};

struct symbol_table {
	struct symbol *list;
	size_t n, n_refused;
	struct folded_symbol *folded; /* by address */
	size_t n_folded;
	struct debug_file debug; /* that some of the names are in */
	bool is_stripped;	 /* only dynamic symbols were found */
	bool has_locals;	 /* functions that are not exported have symbols, too */
	bool has_versions;	 /* its dynamic symbols have some */
};

/* Reads the symbols of `elf`, which must stay open. 0 or -ENOMEM; without symbols it is empty. */
int symbol_table_init(struct symbol_table *table, Elf *elf, const char *path,
		      const struct debug_dirs *dirs);
void symbol_table_deinit(struct symbol_table *table);

/* The function that holds an address; NULL: none does. */
struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address);

/* The function with a size that a symbol and an address behind it lie in; NULL: none is near. */
struct symbol *symbol_table_find_around(const struct symbol_table *table,
					const struct symbol *symbol, uint64_t address);

/* Has a symbol go by the name of one of the functions that were folded into it, if it is one. */
void symbol_table_prefer(const struct symbol_table *table, struct symbol *symbol, const char *name);

/* Its name, demangled. */
const char *symbol_name(struct symbol *symbol);
