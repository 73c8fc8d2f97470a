/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile DWARF. An input is an ELF file; lookups cover every address where an answer may change
 * and some others. libdw processes the sections as well, so a finding may be its own.
 */
#include <dwarf.h>
#include <stdbool.h>

#include "common/base/cleanup.h"
#include "common/elf/elf-section.h"
#include "symbolizer/dwarf/debug-info.h"
#include "symbolizer/dwarf/debug-sections.h"
#include "symbolizer/dwarf/inline-table.h"
#include "tests/fuzz/fuzz.h"

enum {
	SIZE_MAX_OF_SECTIONS = 1 << 20, /* bounds the time for compressed sections */
	ADDRESSES_MAX = 4096,
	UNITS_MAX = 64,
};

/* Small enough for inputs to reach them. */
static const struct inline_limits small_limits = { .n_dies = 64, .n_ranges = 16, .depth = 4 };

static void check_call(const struct inline_call *call)
{
	/* Strings are terminated and in our memory. */
	if (call->name)
		fuzz_check(strlen(call->name) < SIZE_MAX_OF_SECTIONS);
	if (call->file)
		fuzz_check(strlen(call->file) < 2 * SIZE_MAX_OF_SECTIONS);
}

static void look_up(struct debug_info *info, uint64_t address)
{
	struct inline_call calls[DEBUG_INFO_CALLS_MAX], again[DEBUG_INFO_CALLS_MAX], alone;
	int n = debug_info_find(info, address, calls, DEBUG_INFO_CALLS_MAX);

	fuzz_check(n >= 0 && n <= DEBUG_INFO_CALLS_MAX);
	for (int i = 0; i < n; i++)
		check_call(&calls[i]);
	fuzz_check(debug_info_find(info, address, again, DEBUG_INFO_CALLS_MAX) == n);
	for (int i = 0; i < n; i++)
		fuzz_check(!memcmp(&calls[i], &again[i], sizeof(*calls)));
	fuzz_check(debug_info_find(info, address, &alone, 1) <= 1);
}

/* A parent entry precedes its children, and a cut function has none. */
static void check_table(const struct inline_table *table)
{
	for (size_t i = 0; i < table->n_entries; i++) {
		const struct inline_entry *outer = inline_table_outer(table, &table->entries[i]);

		fuzz_check(!outer || outer < &table->entries[i]);
		fuzz_check(!outer || !outer->is_cut);
	}
	for (size_t i = 0; i < table->map.n; i++) {
		fuzz_check(i == 0 || table->map.starts[i] > table->map.starts[i - 1]);
		fuzz_check(table->map.numbers[i] == INTERVAL_NONE ||
			   table->map.numbers[i] < table->n_entries);
	}
}

static bool has_entry(const struct inline_table *table, const struct inline_entry *wanted)
{
	for (size_t i = 0; i < table->n_entries; i++)
		if (table->entries[i].die == wanted->die &&
		    (table->entries[i].parent == INTERVAL_NONE) ==
			    (wanted->parent == INTERVAL_NONE))
			return true;
	return false;
}

/*
 * Whether any DIE of a unit may have DW_AT_sibling. In a contradictory file a walk that follows it
 * finds other DIEs than a walk through all DIEs in between.
 */
static bool has_sibling_attribute(Dwarf_Die *unit)
{
	Dwarf_Abbrev *abbreviation;
	Dwarf_Off offset = 0;
	size_t length, n;

	while ((abbreviation = dwarf_getabbrev(unit, offset, &length)) &&
	       abbreviation != DWARF_END_ABBREV) {
		unsigned int name;

		if (dwarf_getattrcnt(abbreviation, &n) < 0)
			return true;
		for (size_t i = 0; i < n; i++)
			if (dwarf_getabbrevattr(abbreviation, i, &name, NULL, NULL) == 0 &&
			    name == DW_AT_sibling)
				return true;
		offset += length;
	}
	return false;
}

/*
 * A smaller limit must not add entries. (An entry may be found at other addresses: a call that
 * overlaps another function is left out together with its calls.)
 */
static void check_against_whole(const struct inline_table *whole, const struct inline_table *table)
{
	for (size_t i = 0; i < table->n_entries; i++) {
		fuzz_check(has_entry(whole, &table->entries[i]));
		fuzz_check(!table->entries[i].is_cut || table->entries[i].parent == INTERVAL_NONE);
	}
}

static void look_at_unit(struct debug_info *info, Dwarf_Die *unit, const struct interval_map *code)
{
	_cleanup_(inline_table_deinit) struct inline_table whole, table;

	fuzz_check(inline_table_init(&whole, unit, code, &inline_limits_usual) == 0);
	check_table(&whole);
	fuzz_check(inline_table_init(&table, unit, code, &small_limits) == 0);
	check_table(&table);
	if (!whole.n_cut && !whole.n_refused && !has_sibling_attribute(unit))
		check_against_whole(&whole, &table);
	for (size_t i = 0; i < whole.map.n && i < ADDRESSES_MAX; i++) {
		look_up(info, whole.map.starts[i] - 1);
		look_up(info, whole.map.starts[i]);
	}
}

static void look_at_units(struct debug_info *info, Elf *elf)
{
	Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	_cleanup_(interval_map_deinit) struct interval_map code = { 0 };
	Dwarf_CU *unit = NULL;
	uint8_t type;
	Dwarf_Die die;

	fuzz_check(debug_sections_code(elf, &code) == 0);
	/* Split units would be looked for among this machine's files. */
	for (int i = 0; i < UNITS_MAX && dwarf &&
			dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, NULL) == 0;
	     i++)
		if (type == DW_UT_compile || type == DW_UT_partial)
			look_at_unit(info, &die, &code);
	for (size_t i = 0; i < code.n; i++)
		for (uint64_t j = 0; j < 256; j++)
			look_up(info, code.starts[i] + j);
	dwarf_end(dwarf);
}

static void look_at_file(Elf *elf)
{
	struct debug_dirs dirs = { .n = 0 };
	struct debug_info *info;

	if (elf_dwarf_size(elf) > SIZE_MAX_OF_SECTIONS ||
	    debug_info_new(elf, -1, "", &dirs, &info) != DEBUG_INFO_OK)
		return;
	look_at_units(info, elf);
	look_up(info, 0);
	look_up(info, UINT64_MAX);
	debug_info_free(info);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = { bytes, size };
	_cleanup_free_ char *block = fuzz_take_block(&input, SIZE_MAX, &size);
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_memory(block, size);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		look_at_file(elf);
	elf_end(elf);
	return 0;
}
