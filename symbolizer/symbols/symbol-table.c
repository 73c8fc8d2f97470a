/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/binary-search.h"
#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/unwind/go-elf.h"
#include "symbolizer/symbols/demangle.h"
#include "symbolizer/symbols/folded-names.h"
#include "symbolizer/symbols/plt.h"
#include "symbolizer/symbols/symbol-table.h"

enum {
	VERSION_HIDDEN = 0x8000, /* flag of a version: only old programs link to it */
	LOOK_BACK_MAX = 64,	 /* symbols within another one that a lookup passes */
};

static Elf_Scn *find_section(Elf *elf, GElf_Word type, GElf_Shdr *ret)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, ret) && ret->sh_type == type)
			return section;
	return NULL;
}

/* The versions of the dynamic symbols; NULL: none. */
static Elf_Data *find_versions(Elf *elf)
{
	GElf_Shdr header;
	Elf_Scn *section = find_section(elf, SHT_GNU_versym, &header);

	return section ? elf_getdata(section, NULL) : NULL;
}

static bool is_executable_section(Elf *elf, size_t index)
{
	Elf_Scn *section = index < SHN_LORESERVE ? elf_getscn(elf, index) : NULL;
	GElf_Shdr header;

	return section && gelf_getshdr(section, &header) && header.sh_flags & SHF_EXECINSTR;
}

/*
 * A sizeless symbol (of an assembler) extends to the next symbol, but not into another section:
 * _init does not name the PLT behind it.
 */
static uint64_t size_of(Elf *elf, const GElf_Sym *symbol)
{
	Elf_Scn *section =
		symbol->st_shndx < SHN_LORESERVE ? elf_getscn(elf, symbol->st_shndx) : NULL;
	GElf_Shdr header;

	if (symbol->st_size || !section || !gelf_getshdr(section, &header))
		return symbol->st_size;
	if (symbol->st_value - header.sh_addr >= header.sh_size)
		return 0;
	return header.sh_addr + header.sh_size - symbol->st_value;
}

/* Names left by assemblers and compilers ("$x", ".L5"; Fedora's compilers mark each unit). */
static bool is_mark(const char *name)
{
	static const char *const marks[] = { "$", ".L", ".annobin_" };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (!strncmp(name, marks[i], strlen(marks[i])))
			return true;
	return false;
}

/* Functions, labels in code, and data among code; not undefined or absolute symbols. */
static bool is_wanted(Elf *elf, const GElf_Sym *symbol, const char *name)
{
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS && *name;
	case STT_NOTYPE:
		return *name && !is_mark(name) && is_executable_section(elf, symbol->st_shndx);
	case STT_OBJECT:
		return symbol->st_size && is_executable_section(elf, symbol->st_shndx);
	default:
		return false;
	}
}

/*
 * Ranks the names of one address as people expect, in perf's order; of two versions, the one that
 * is linked to today wins (free, not cfree).
 */
static uint8_t rank(const GElf_Sym *symbol, const char *name, GElf_Versym version)
{
	size_t n_underscores = strspn(name, "_");
	uint8_t rank = n_underscores < 7 ? 7 - n_underscores : 0;

	if (GELF_ST_TYPE(symbol->st_info) == STT_OBJECT)
		return 0;
	if (!(version & VERSION_HIDDEN))
		rank += 8;
	if (GELF_ST_BIND(symbol->st_info) == STB_GLOBAL)
		rank += 16;
	if (GELF_ST_BIND(symbol->st_info) != STB_WEAK)
		rank += 32;
	if (symbol->st_size)
		rank += 64;
	return rank;
}

/* Makes room for up to `n` more symbols; those beyond the limit are refused. */
static int make_room(struct symbol_table *table, size_t *n)
{
	if (*n > SYMBOL_TABLE_MAX - table->n) {
		table->n_refused += *n - (SYMBOL_TABLE_MAX - table->n);
		*n = SYMBOL_TABLE_MAX - table->n;
	}
	return GROWING_LIST_RESIZE(table->list, table->n + *n + 1);
}

static void add_symbol(struct symbol_table *table, Elf *elf, const GElf_Sym *symbol,
		       const char *name, GElf_Versym version)
{
	uint8_t type = GELF_ST_TYPE(symbol->st_info), binding = GELF_ST_BIND(symbol->st_info);
	uint64_t size = size_of(elf, symbol);

	if (!size) /* marks the end of its section */
		return;
	table->has_versions |= (version & ~VERSION_HIDDEN) > VER_NDX_GLOBAL;
	table->has_locals |= type != STT_OBJECT && binding == STB_LOCAL;
	table->list[table->n++] = (struct symbol){
		.address = symbol->st_value,
		.size = size,
		.is_sized = symbol->st_size > 0 && type != STT_OBJECT,
		.is_label = !symbol->st_size && type == STT_NOTYPE,
		.is_data = type == STT_OBJECT,
		.binding = binding,
		.name = name,
		.suffix = "",
		.is_chosen = type == STT_GNU_IFUNC,
		.rank = rank(symbol, name, version),
	};
}

static int add_section(struct symbol_table *table, Elf *elf, GElf_Word type)
{
	GElf_Shdr header;
	Elf_Scn *section = find_section(elf, type, &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	size_t n = data && header.sh_entsize ? data->d_size / header.sh_entsize : 0;
	Elf_Data *versions = type == SHT_DYNSYM ? find_versions(elf) : NULL;
	int r;

	r = make_room(table, &n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		GElf_Versym version = 0;
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(data, i, &symbol))
			continue;
		name = elf_strptr(elf, header.sh_link, symbol.st_name);
		if (!name || !is_wanted(elf, &symbol, name))
			continue;
		if (versions)
			gelf_getversym(versions, i, &version);
		add_symbol(table, elf, &symbol, name, version);
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct symbol *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	if (left->rank != right->rank)
		return left->rank > right->rank ? -1 : 1;
	return strcmp(left->name, right->name);
}

/* Adds the names folded into the first of `n` symbols at one address. 0 or -ENOMEM. */
static int add_folded(struct symbol_table *table, struct symbol *symbols, size_t n)
{
	const char *names[FOLDED_NAMES_MAX];
	size_t n_names = folded_names_find(symbols, n, table->has_versions, names);

	symbols->n_folded = n_names;
	for (size_t i = 0; i < n_names; i++) {
		if (GROWING_LIST_ADD(table->folded, table->n_folded,
				     (struct folded_symbol){ symbols->address, names[i] }) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Keeps the best name of each address. 0 or -ENOMEM. */
static int keep_best(struct symbol_table *table)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0, end; i < table->n && r == 0; i = end) {
		end = i + 1;
		while (end < table->n && table->list[end].address == table->list[i].address)
			end++;
		r = add_folded(table, &table->list[i], end - i);
		table->list[n++] = table->list[i];
	}
	table->n = n;
	return r;
}

/* Ends a sizeless function where the next one begins, or where a function around it ends. */
static void cut_sizeless(struct symbol_table *table)
{
	uint64_t end_of_sized = 0;

	for (size_t i = 0; i < table->n; i++) {
		struct symbol *symbol = &table->list[i];
		uint64_t end = symbol->address + symbol->size;

		if (symbol->is_sized) {
			end_of_sized = end > end_of_sized ? end : end_of_sized;
			continue;
		}
		if (i + 1 < table->n && symbol[1].address < end)
			end = symbol[1].address;
		if (symbol->address < end_of_sized && end_of_sized < end)
			end = end_of_sized;
		symbol->size = end - symbol->address;
	}
}

static void drop_data(struct symbol_table *table)
{
	size_t n = 0;

	for (size_t i = 0; i < table->n; i++)
		if (!table->list[i].is_data)
			table->list[n++] = table->list[i];
	table->n = n;
}

/* Sorts by address, keeps each address's best name, and ends sizeless symbols. */
static int sort(struct symbol_table *table)
{
	int r;

	if (table->n)
		qsort(table->list, table->n, sizeof(*table->list), compare);
	r = keep_best(table);
	cut_sizeless(table);
	drop_data(table);
	return r;
}

/* For a stripped Go program: adds the functions in its runtime's table. */
static int add_go(struct symbol_table *table, Elf *elf)
{
	struct go_pclntab go;
	enum go_pclntab_outcome outcome = go_elf_read(elf, &go);
	size_t n = outcome == GO_PCLNTAB_OK ? go.n : 0;
	int r;

	if (outcome != GO_PCLNTAB_OK && outcome != GO_PCLNTAB_E_NONE)
		table->n_refused++;
	r = make_room(table, &n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		struct go_function function;

		if (!go_pclntab_function(&go, i, &function) || !*function.name) {
			table->n_refused++;
			continue;
		}
		table->list[table->n++] = (struct symbol){
			.address = function.start,
			.size = go_function_code_end(&go, &function) - function.start,
			.is_sized = true,
			.name = function.name,
			.suffix = "",
		};
	}
	return 0;
}

/* Functions chosen by a resolver, sorted like all others. Owns `list`. */
struct chosen {
	struct symbol *list;
	size_t n;
};

static void chosen_deinit(struct chosen *chosen)
{
	free(chosen->list);
}

static int find_chosen(const struct symbol_table *table, struct chosen *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < table->n; i++)
		n += table->list[i].is_chosen;
	ret->list = calloc(n + 1, sizeof(*ret->list));
	if (!ret->list)
		return -ENOMEM;
	for (size_t i = 0; i < table->n; i++)
		if (table->list[i].is_chosen)
			ret->list[ret->n++] = table->list[i];
	qsort(ret->list, ret->n, sizeof(*ret->list), compare);
	return 0;
}

/* The best name of what the resolver at an address chooses; NULL: none. */
static const char *name_of_chosen(const struct chosen *chosen, uint64_t resolver)
{
	size_t low = BINARY_SEARCH(i, 0, chosen->n, chosen->list[i].address < resolver);

	return low < chosen->n && chosen->list[low].address == resolver ? chosen->list[low].name
									: NULL;
}

/* Names PLT stubs; these names take precedence over mold's. */
static int name_stubs(struct symbol_table *table, const struct plt_stub *stubs, size_t n)
{
	_cleanup_(chosen_deinit) struct chosen chosen = { 0 };
	int r = find_chosen(table, &chosen);

	for (size_t i = 0; i < n && r == 0; i++) {
		const char *name = stubs[i].target ?: name_of_chosen(&chosen, stubs[i].resolver);

		if (name)
			table->list[table->n++] = (struct symbol){
				.address = stubs[i].address,
				.size = stubs[i].size,
				.is_sized = true,
				.name = name,
				.suffix = SYMBOL_STUB_SUFFIX,
				.rank = UINT8_MAX,
			};
	}
	return r;
}

static int add_stubs(struct symbol_table *table, Elf *elf)
{
	_cleanup_free_ struct plt_stub *stubs = NULL;
	size_t n, n_refused;
	int r = plt_find_stubs(elf, &stubs, &n, &n_refused);

	table->n_refused += n_refused;
	if (r < 0 || !n)
		return r;
	if (GROWING_LIST_RESIZE(table->list, table->n + n) < 0)
		return -ENOMEM;
	return name_stubs(table, stubs, n);
}

bool symbol_table_is_in(Elf *elf)
{
	GElf_Shdr header;

	return find_section(elf, SHT_SYMTAB, &header);
}

int symbol_table_init(struct symbol_table *table, Elf *elf, const char *path,
		      const struct debug_dirs *dirs)
{
	int r = 0;

	*table = (struct symbol_table){ .debug.fd = -1 };
	if (symbol_table_is_in(elf))
		r = add_section(table, elf, SHT_SYMTAB);
	else if (debug_file_find(elf, path, dirs, DEBUG_FILE_SYMBOLS, &table->debug))
		r = add_section(table, table->debug.elf, SHT_SYMTAB);
	else
		table->is_stripped = true;
	if (r == 0)
		r = add_section(table, elf, SHT_DYNSYM);
	if (r == 0 && table->is_stripped)
		r = add_go(table, elf);
	if (r == 0)
		r = add_stubs(table, elf);
	if (r == 0)
		r = sort(table);
	if (r < 0)
		symbol_table_deinit(table);
	return r;
}

void symbol_table_deinit(struct symbol_table *table)
{
	for (size_t i = 0; i < table->n; i++)
		free(table->list[i].full_name);
	free(table->list);
	free(table->folded);
	debug_file_close(&table->debug);
	*table = (struct symbol_table){ .debug.fd = -1 };
}

/* Index of the last symbol that begins at or before an address; n: none. */
static size_t last_before(const struct symbol_table *table, uint64_t address)
{
	size_t low = BINARY_SEARCH(i, 0, table->n, table->list[i].address <= address);

	return low ? low - 1 : table->n;
}

struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address)
{
	size_t i = last_before(table, address);

	if (i == table->n)
		return NULL;
	for (size_t back = 0; back < LOOK_BACK_MAX; back++, i--) {
		struct symbol *symbol = &table->list[i];

		if (address - symbol->address < symbol->size)
			return symbol;
		if (i == 0)
			break;
	}
	return NULL;
}

struct symbol *symbol_table_find_around(const struct symbol_table *table,
					const struct symbol *symbol, uint64_t address)
{
	for (size_t back = 1; back < LOOK_BACK_MAX && symbol - table->list >= (ptrdiff_t)back;
	     back++) {
		const struct symbol *outer = symbol - back;

		if (outer->is_sized && address - outer->address < outer->size)
			return &table->list[outer - table->list];
	}
	return NULL;
}

void symbol_table_prefer(const struct symbol_table *table, struct symbol *symbol, const char *name)
{
	size_t low =
		BINARY_SEARCH(i, 0, table->n_folded, table->folded[i].address < symbol->address);

	for (; low < table->n_folded && table->folded[low].address == symbol->address; low++)
		if (folded_names_are_same(table->folded[low].name, name))
			symbol->name = table->folded[low].name;
}

/* NULL: same as in the file. */
static char *make_name(const struct symbol *symbol)
{
	_cleanup_free_ char *demangled = demangle(symbol->name);
	const char *name = demangled ? demangled : symbol->name;
	char *full = NULL;

	if (symbol->n_folded)
		return asprintf(&full, "%s%s (+%u)", name, symbol->suffix, symbol->n_folded) < 0
			       ? NULL
			       : full;
	if (!*symbol->suffix)
		return take_pointer(demangled);
	return asprintf(&full, "%s%s", name, symbol->suffix) < 0 ? NULL : full;
}

const char *symbol_name(struct symbol *symbol)
{
	if (!symbol->is_asked)
		symbol->full_name = make_name(symbol);
	symbol->is_asked = true;
	return symbol->full_name ? symbol->full_name : symbol->name;
}
