/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <elfutils/libdw.h>

#include "common/base/cleanup.h"
#include "common/elf/elf-section.h"
#include "symbolizer/dwarf/debug-sections.h"
#include "symbolizer/dwarf/debug-split.h"
#include "symbolizer/dwarf/debug-units.h"

static const struct unit_limits unit_limits = {
	.n_units = DEBUG_INFO_UNITS_MAX,
	.n_ranges = DEBUG_INFO_RANGES_MAX,
};

struct debug_info *debug_info_free(struct debug_info *info)
{
	if (!info)
		return NULL;
	for (size_t i = 0; info->units && i < info->index.n_units; i++) {
		inline_table_deinit(&info->units[i].table);
		line_table_deinit(&info->units[i].lines);
	}
	scope_names_deinit(&info->scopes);
	free(info->units);
	unit_index_deinit(&info->index);
	interval_map_deinit(&info->code);
	dwarf_end(info->dwarf);
	debug_alt_deinit(&info->alt);
	free(info);
	return NULL;
}

static void cleanup_info(struct debug_info **info)
{
	debug_info_free(*info);
}

/* Refuses unlinked files, whose addresses mean nothing, and those of another byte order. */
static bool is_readable(Elf *elf)
{
	GElf_Ehdr header;

	return gelf_getehdr(elf, &header) && header.e_type != ET_REL &&
	       header.e_ident[EI_DATA] == ELFDATA2LSB;
}

int debug_info_new(Elf *elf, int fd, const char *path, const struct debug_dirs *dirs,
		   struct debug_info **ret)
{
	_cleanup_(cleanup_info) struct debug_info *info = NULL;
	int r;

	if (!is_readable(elf))
		return DEBUG_INFO_E_NONE;
	if (fd >= 0)
		debug_sections_hide_unread(elf);
	if (elf_dwarf_size(elf) > DEBUG_INFO_SECTIONS_MAX)
		return DEBUG_INFO_E_TOO_LARGE;
	info = calloc(1, sizeof(*info));
	if (!info)
		return -ENOMEM;
	info->sections_size = elf_dwarf_size(elf);
	info->fd = fd;
	info->dirs = *dirs;
	info->alt.file.fd = -1;
	scope_names_init(&info->scopes);
	info->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (!info->dwarf)
		return DEBUG_INFO_E_NONE;
	info->lines = debug_sections_lines(elf);
	r = debug_alt_attach(&info->alt, info->dwarf, path, dirs,
			     DEBUG_INFO_SECTIONS_MAX - info->sections_size);
	info->sections_size += debug_alt_size(&info->alt);
	if (r == 0)
		r = debug_sections_code(elf, &info->code);
	if (r == 0)
		r = unit_index_init(&info->index, info->dwarf, &info->code, &unit_limits);
	if (r < 0)
		return r;
	info->units = calloc(info->index.n_units + 1, sizeof(*info->units));
	if (!info->units)
		return -ENOMEM;
	info->refused.units = info->index.n_units_refused;
	info->refused.ranges = info->index.n_ranges_refused;
	*ret = take_pointer(info);
	return DEBUG_INFO_OK;
}

bool debug_info_has_room(const struct debug_info *info, uint64_t size)
{
	return info->tables_size <= DEBUG_INFO_TABLES_MAX &&
	       size <= DEBUG_INFO_TABLES_MAX - info->tables_size;
}

/*
 * Reads the lines of a unit. libdw supplies their files' names, but needs a directory: without one
 * it (0.196) may take the length of a missing name. 0 or -ENOMEM.
 */
static int read_lines(struct debug_info *info, struct unit *unit)
{
	Dwarf_Attribute attribute, dir;
	Dwarf_Word offset;
	uint64_t size;
	int r;

	if (dwarf_formudata(dwarf_attr(&unit->die, DW_AT_stmt_list, &attribute), &offset) < 0)
		return 0;
	size = debug_sections_line_program_size(info->lines, offset);
	if (!dwarf_formstring(dwarf_attr(&unit->die, DW_AT_comp_dir, &dir)) || !size ||
	    size > DEBUG_INFO_LINES_MAX - info->programs_size) {
		info->refused.lines++;
		return 0;
	}
	info->programs_size += size;
	r = line_table_init(&unit->lines, (const char *)info->lines->d_buf + offset,
			    info->lines->d_size - offset, &info->code);
	if (r == 0 && !debug_info_has_room(info, line_table_size(&unit->lines))) {
		line_table_deinit(&unit->lines);
		r = -EFBIG;
	}
	unit->has_files = r == 0;
	info->tables_size += line_table_size(&unit->lines);
	info->refused.lines += r == -EBADMSG || r == -EFBIG;
	return r == -ENOMEM ? r : 0;
}

/* Whether a unit's other part is in a verified file; a package is verified once. */
static bool is_believed(struct debug_info *info, const struct debug_split *split, Dwarf_CU *cu)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(cu);

	if (dwarf != info->believed && !debug_split_has_found(split, dwarf))
		return false;
	info->believed = dwarf;
	return true;
}

/* Finds a unit's part in another file; false: not safely available. */
static bool find_split(struct debug_info *info, struct unit *unit, Dwarf_CU *cu)
{
	_cleanup_(debug_split_deinit) struct debug_split split;
	uint64_t left = DEBUG_INFO_SECTIONS_MAX - info->sections_size;

	if (!debug_split_find(&unit->die, info->fd, &info->dirs, &split))
		return false;
	if (info->has_package) /* already open */
		split.package_size = 0;
	if (split.package_size > left || split.size > left - split.package_size)
		return false;
	info->has_package |= split.package_size > 0;
	info->sections_size += split.package_size + split.size;
	if (dwarf_cu_info(cu, NULL, NULL, NULL, &unit->described, NULL, NULL, NULL) < 0)
		return false;
	return !unit->described.addr || is_believed(info, &split, unit->described.cu);
}

int debug_unit_make_tables(struct debug_info *info, struct unit *unit, Dwarf_CU *cu)
{
	uint8_t type;
	int r;

	unit->state = UNIT_REFUSED;
	if (dwarf_cu_info(cu, NULL, &type, &unit->die, NULL, NULL, NULL, NULL) < 0 ||
	    (type == DW_UT_skeleton && !find_split(info, unit, cu))) {
		info->refused.units++;
		return 0;
	}
	if (type != DW_UT_skeleton)
		unit->described = unit->die;
	r = read_lines(info, unit);
	if (r < 0)
		return r;
	if (!unit->described.addr) { /* no .dwo, but lines */
		unit->state = UNIT_READY;
		return 0;
	}
	r = inline_table_init(&unit->table, &unit->described, &info->code, &inline_limits_usual);
	if (r < 0)
		return r;
	info->refused.functions += unit->table.n_cut;
	info->refused.dies += unit->table.n_refused;
	if (!debug_info_has_room(info, inline_table_size(&unit->table))) {
		info->refused.units++;
		inline_table_deinit(&unit->table);
		return 0;
	}
	info->tables_size += inline_table_size(&unit->table);
	unit->state = UNIT_READY;
	return 0;
}

/* Taken from the declaration or abstract origin if the DIE itself has none. */
static const char *name_by(Dwarf_Die *die, unsigned int attribute_name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr_integrate(die, attribute_name, &attribute));
}

const char *debug_unit_function_name(struct debug_info *info, struct unit *unit, Dwarf_Die *die)
{
	const char *name = name_by(die, DW_AT_linkage_name);
	size_t size;

	if (!name)
		name = name_by(die, DW_AT_MIPS_linkage_name);
	if (name)
		return name;
	name = name_by(die, DW_AT_name);
	if (!name || !debug_info_has_room(info, 0))
		return name;
	size = scope_names_size(&info->scopes);
	name = scope_names_find(&info->scopes, &unit->described, die, name);
	info->tables_size += scope_names_size(&info->scopes) - size;
	return name;
}

static uint32_t number_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	return dwarf_formudata(dwarf_attr(die, name, &attribute), &value) < 0 ? 0 : value;
}

/* A file name by its number in the list of the DIE's unit; NULL: unknown. */
static const char *file_name(const struct unit *unit, Dwarf_Die *die, size_t number)
{
	Dwarf_Files *files;
	size_t n;

	if (!unit->has_files || dwarf_getsrcfiles(die, &files, &n) != 0)
		return NULL;
	return dwarf_filesrc(files, number, NULL, NULL);
}

void debug_unit_put_line(struct unit *unit, uint64_t address, struct inline_call *call)
{
	const struct line_row *row = line_table_find(&unit->lines, address);

	if (!row)
		return;
	call->file = file_name(unit, &unit->die, row->file);
	call->line = row->line;
	call->column = row->column;
}

void debug_unit_put_call_place(struct unit *unit, Dwarf_Die *die, struct inline_call *call)
{
	if (dwarf_hasattr(die, DW_AT_call_file))
		call->file = file_name(unit, &unit->described, number_of(die, DW_AT_call_file));
	call->line = number_of(die, DW_AT_call_line);
	call->column = number_of(die, DW_AT_call_column);
}

/* Puts only the function of an address, not the location in it. */
static int put_function(struct debug_info *info, struct unit *unit,
			const struct inline_entry *entry, struct inline_call *list)
{
	const struct inline_entry *outer;
	Dwarf_Die die;

	while ((outer = inline_table_outer(&unit->table, entry)))
		entry = outer;
	if (!dwarf_offdie(dwarf_cu_getdwarf(unit->described.cu), entry->die, &die))
		return 0;
	list[0] = (struct inline_call){ .name = debug_unit_function_name(info, unit, &die) };
	return 1;
}

static int put_calls(struct debug_info *info, struct unit *unit, const struct inline_entry *entry,
		     uint64_t address, struct inline_call *list, size_t n)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(unit->described.cu);

	list[0] = (struct inline_call){ 0 };
	debug_unit_put_line(unit, address, &list[0]);
	for (size_t i = 0; i < n; i++, entry = inline_table_outer(&unit->table, entry)) {
		Dwarf_Die die;

		if (!dwarf_offdie(dwarf, entry->die, &die))
			return 0;
		list[i].name = debug_unit_function_name(info, unit, &die);
		if (i + 1 == n)
			break;
		list[i + 1] = (struct inline_call){ 0 };
		debug_unit_put_call_place(unit, &die, &list[i + 1]);
	}
	return n;
}

/* For code outside functions, as in assembler; with refused DIEs its function is uncertain. */
static int put_line_alone(struct unit *unit, uint64_t address, struct inline_call *list)
{
	if (unit->table.n_refused)
		return 0;
	list[0] = (struct inline_call){ 0 };
	debug_unit_put_line(unit, address, &list[0]);
	return list[0].file ? 1 : 0;
}

/* Finds the unit of an address, with its table; NULL: unknown. 0 or -ENOMEM. */
static int find_unit(struct debug_info *info, uint64_t address, struct unit **ret)
{
	uint32_t number = interval_map_find(&info->index.map, address);
	struct unit *unit = number == INTERVAL_NONE ? NULL : &info->units[number];
	int r = 0;

	if (unit && unit->state == UNIT_NEW)
		r = debug_unit_make_tables(info, unit, info->index.units[number]);
	*ret = r == 0 && unit && unit->state == UNIT_READY ? unit : NULL;
	return r;
}

static bool is_shared(const struct debug_info *info, const struct unit *unit, uint64_t address)
{
	return unit->table.n_refused || info->refused.units || info->refused.ranges ||
	       interval_map_find(&info->index.shared, address) != INTERVAL_NONE ||
	       interval_map_find(&unit->table.shared, address) != INTERVAL_NONE;
}

int debug_info_find_only_function(struct debug_info *info, uint64_t address, const char **ret)
{
	const struct inline_entry *entry;
	struct inline_call function;
	struct unit *unit;
	int r = find_unit(info, address, &unit);

	*ret = NULL;
	if (!unit || is_shared(info, unit, address))
		return r;
	entry = inline_table_find(&unit->table, address);
	if (entry && put_function(info, unit, entry, &function) == 1)
		*ret = function.name;
	return 0;
}

int debug_info_find(struct debug_info *info, uint64_t address, struct inline_call *list,
		    size_t n_max)
{
	const struct inline_entry *entry, *outer;
	struct unit *unit;
	size_t n = 0;
	int r = find_unit(info, address, &unit);

	assert(n_max > 0);
	if (!unit)
		return r;
	entry = inline_table_find(&unit->table, address);
	if (!entry)
		return put_line_alone(unit, address, list);
	for (outer = entry; outer && n <= n_max; outer = inline_table_outer(&unit->table, outer))
		n++;
	info->refused.calls += n > n_max;
	return n > n_max || entry->is_cut ? put_function(info, unit, entry, list)
					  : put_calls(info, unit, entry, address, list, n);
}

uint64_t debug_info_size(const struct debug_info *info)
{
	return info->sections_size + (info->index.n_units + 1) * sizeof(*info->units) +
	       interval_map_size(&info->index.map) + interval_map_size(&info->index.shared) +
	       info->tables_size;
}

const struct debug_info_refused *debug_info_refused(const struct debug_info *info)
{
	return &info->refused;
}
