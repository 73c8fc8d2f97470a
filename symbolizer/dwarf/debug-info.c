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

#include "common/base/binary-search.h"
#include "common/base/cleanup.h"
#include "common/elf/elf-section.h"
#include "symbolizer/dwarf/call-table.h"
#include "symbolizer/dwarf/debug-alt.h"
#include "symbolizer/dwarf/debug-flattening.h"
#include "symbolizer/dwarf/debug-info.h"
#include "symbolizer/dwarf/debug-sections.h"
#include "symbolizer/dwarf/debug-split.h"
#include "symbolizer/dwarf/inline-table.h"
#include "symbolizer/dwarf/line-table.h"
#include "symbolizer/dwarf/scope-names.h"
#include "symbolizer/dwarf/unit-index.h"

enum unit_state {
	UNIT_NEW = 0,
	UNIT_READY,
	UNIT_REFUSED,
};

/* A unit; all but `state` is unset until its first lookup. */
struct unit {
	enum unit_state state;
	bool has_files;	     /* of its lines, with readable names */
	Dwarf_Die die;	     /* names its line table */
	Dwarf_Die described; /* has its functions; in another file for split DWARF */
	struct inline_table table;
	struct line_table lines;
};

struct debug_info {
	Dwarf *dwarf;
	struct debug_dirs dirs;
	struct debug_alt alt;
	struct interval_map code;
	struct unit_index index;
	struct unit *units; /* parallel to index.units */
	struct scope_names scopes;
	const Elf_Data *lines;
	uint64_t sections_size; /* DWARF of this file and of shared ones */
	uint64_t tables_size;	/* tables of its units */
	uint64_t programs_size; /* line programs that were run */
	bool has_package;	/* `sections_size` includes the .dwp */
	Dwarf *believed;	/* the last verified file of split DWARF */
	int fd;			/* -1: in memory */
	struct debug_info_refused refused;
};

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

static bool has_room(const struct debug_info *info, uint64_t size)
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
	if (r == 0 && !has_room(info, line_table_size(&unit->lines))) {
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

/* Makes the table of a unit at its first lookup. 0 or -ENOMEM. */
static int make_table(struct debug_info *info, struct unit *unit, Dwarf_CU *cu)
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
	if (!has_room(info, inline_table_size(&unit->table))) {
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

static const char *function_name(struct debug_info *info, struct unit *unit, Dwarf_Die *die)
{
	const char *name = name_by(die, DW_AT_linkage_name);
	size_t size;

	if (!name)
		name = name_by(die, DW_AT_MIPS_linkage_name);
	if (name)
		return name;
	name = name_by(die, DW_AT_name);
	if (!name || !has_room(info, 0))
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

/* Sets the source line of an address, from the line table. */
static void put_line(struct unit *unit, uint64_t address, struct inline_call *call)
{
	const struct line_row *row = line_table_find(&unit->lines, address);

	if (!row)
		return;
	call->file = file_name(unit, &unit->die, row->file);
	call->line = row->line;
	call->column = row->column;
}

/* Sets where an inlined call was made. */
static void put_call_place(struct unit *unit, Dwarf_Die *die, struct inline_call *call)
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
	list[0] = (struct inline_call){ .name = function_name(info, unit, &die) };
	return 1;
}

static int put_calls(struct debug_info *info, struct unit *unit, const struct inline_entry *entry,
		     uint64_t address, struct inline_call *list, size_t n)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(unit->described.cu);

	list[0] = (struct inline_call){ 0 };
	put_line(unit, address, &list[0]);
	for (size_t i = 0; i < n; i++, entry = inline_table_outer(&unit->table, entry)) {
		Dwarf_Die die;

		if (!dwarf_offdie(dwarf, entry->die, &die))
			return 0;
		list[i].name = function_name(info, unit, &die);
		if (i + 1 == n)
			break;
		list[i + 1] = (struct inline_call){ 0 };
		put_call_place(unit, &die, &list[i + 1]);
	}
	return n;
}

/* For code outside functions, as in assembler; with refused DIEs its function is uncertain. */
static int put_line_alone(struct unit *unit, uint64_t address, struct inline_call *list)
{
	if (unit->table.n_refused)
		return 0;
	list[0] = (struct inline_call){ 0 };
	put_line(unit, address, &list[0]);
	return list[0].file ? 1 : 0;
}

/* Finds the unit of an address, with its table; NULL: unknown. 0 or -ENOMEM. */
static int find_unit(struct debug_info *info, uint64_t address, struct unit **ret)
{
	uint32_t number = interval_map_find(&info->index.map, address);
	struct unit *unit = number == INTERVAL_NONE ? NULL : &info->units[number];
	int r = 0;

	if (unit && unit->state == UNIT_NEW)
		r = make_table(info, unit, info->index.units[number]);
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

/* Indices of the index's places by their units. */
struct unit_place {
	uint32_t unit, place;
};

static int compare_units(const void *a, const void *b)
{
	const struct unit_place *left = a, *right = b;

	if (left->unit != right->unit)
		return left->unit < right->unit ? -1 : 1;
	return left->place < right->place ? -1 : left->place > right->place;
}

/* Whether all of a file's DWARF is in that file. */
static bool is_alone(const struct debug_info *info)
{
	return !info->alt.file.elf && !dwarf_getalt(info->dwarf);
}

int debug_flattening_init(struct debug_flattening *flattening, struct debug_info *info)
{
	const struct interval_map *map = &info->index.map;

	*flattening = (struct debug_flattening){ .info = info };
	if (!is_alone(info) || map->n > UINT32_MAX)
		return DEBUG_FLATTENING_E_PARTLY;
	flattening->places = calloc(map->n + 1, sizeof(*flattening->places));
	if (!flattening->places)
		return -ENOMEM;
	for (size_t i = 0; i < map->n; i++)
		flattening->places[i] = (struct unit_place){ map->numbers[i], i };
	qsort(flattening->places, map->n, sizeof(*flattening->places), compare_units);
	return DEBUG_FLATTENING_MORE;
}

void debug_flattening_deinit(struct debug_flattening *flattening)
{
	free(flattening->places);
	*flattening = (struct debug_flattening){ 0 };
}

/* Adds the functions and inlined calls of a unit. 0 or -errno. */
static int flatten_entries(struct debug_info *info, struct unit *unit, struct call_builder *builder)
{
	size_t n_before = builder->n_entries;
	int r = 0;

	for (size_t i = 0; i < unit->table.n_entries && r == 0; i++) {
		const struct inline_entry *entry = &unit->table.entries[i];
		struct inline_call place = { 0 };
		struct call_entry flat = { .parent = INTERVAL_NONE };
		Dwarf_Die die;

		if (entry->is_cut ||
		    !dwarf_offdie(dwarf_cu_getdwarf(unit->described.cu), entry->die, &die))
			return -EBADMSG;
		flat.name = string_pool_add(&builder->strings, function_name(info, unit, &die));
		if (entry->parent != INTERVAL_NONE) {
			put_call_place(unit, &die, &place);
			flat.parent = n_before + entry->parent;
			flat.file = string_pool_add(&builder->strings, place.file);
			flat.line = place.line;
			flat.column = place.column;
		}
		r = call_builder_add_entry(builder, &flat);
	}
	return r < 0 ? r : builder->strings.error;
}

/* Adds the calls from an address on; `number` counts the unit's entries. */
static int flatten_span(struct call_builder *builder, size_t n_before, uint64_t address,
			uint32_t number)
{
	const struct built_place place = {
		.address = address,
		.number = number == INTERVAL_NONE ? number : n_before + number,
	};

	return call_builder_add_span(builder, &place);
}

/* Adds the line of an address. */
static int flatten_row(struct unit *unit, struct call_builder *builder, uint64_t address)
{
	struct inline_call line = { 0 };
	struct built_place place = { .address = address };

	put_line(unit, address, &line);
	place.row.file = string_pool_add(&builder->strings, line.file);
	place.row.line = line.line;
	place.row.column = line.column;
	return call_builder_add_row(builder, &place);
}

/* Adds what is known of a unit's addresses from one on, up to another one. 0 or -errno. */
static int flatten_range(struct unit *unit, struct call_builder *builder, size_t n_before,
			 uint64_t from, uint64_t to)
{
	const struct interval_map *map = &unit->table.map;
	const struct built_place end = { .address = to, .is_end = true, .number = INTERVAL_NONE },
				 end_of_line = { .address = to, .is_end = true };
	const struct line_table *lines = &unit->lines;
	size_t next = BINARY_SEARCH(i, 0, map->n, map->starts[i] <= from),
	       row = BINARY_SEARCH(i, 0, lines->n, lines->base + lines->rows[i].offset <= from);
	int r = flatten_span(builder, n_before, from, interval_map_find(map, from));

	for (; next < map->n && map->starts[next] < to && r == 0; next++)
		r = flatten_span(builder, n_before, map->starts[next], map->numbers[next]);
	if (r == 0)
		r = flatten_row(unit, builder, from);
	for (; row < lines->n && lines->base + lines->rows[row].offset < to && r == 0; row++)
		r = flatten_row(unit, builder, lines->base + lines->rows[row].offset);
	if (r == 0)
		r = call_builder_add_span(builder, &end);
	return r < 0 ? r : call_builder_add_row(builder, &end_of_line);
}

/* Frees a unit's tables, as if it had not been looked up. */
static void forget_unit(struct debug_info *info, struct unit *unit)
{
	info->tables_size -= inline_table_size(&unit->table) + line_table_size(&unit->lines);
	inline_table_deinit(&unit->table);
	line_table_deinit(&unit->lines);
	*unit = (struct unit){ .state = UNIT_NEW };
}

/* Adds all of the next unit, which is ready, and passes its places. 0 or -errno. */
static int flatten_unit(struct debug_flattening *flattening, struct unit *unit,
			struct call_builder *builder)
{
	struct debug_info *info = flattening->info;
	const struct interval_map *map = &info->index.map;
	uint32_t number = flattening->places[flattening->next].unit;
	size_t n_before = builder->n_entries;
	int r = flatten_entries(info, unit, builder);

	for (; flattening->next < map->n && flattening->places[flattening->next].unit == number;
	     flattening->next++) {
		uint32_t place = flattening->places[flattening->next].place;

		if (r == 0)
			r = flatten_range(unit, builder, n_before, map->starts[place],
					  place + 1 < map->n ? map->starts[place + 1] : UINT64_MAX);
	}
	return r;
}

int debug_flattening_step(struct debug_flattening *flattening, struct call_builder *builder)
{
	struct debug_info *info = flattening->info;
	struct debug_info_refused refused = info->refused;
	uint64_t programs_size = info->programs_size;
	uint32_t number = flattening->next < info->index.map.n
				  ? flattening->places[flattening->next].unit
				  : INTERVAL_NONE; /* they come last */
	struct unit *unit;
	bool was_new;
	int r = 0;

	if (number == INTERVAL_NONE)
		return DEBUG_FLATTENING_DONE;
	unit = &info->units[number];
	was_new = unit->state == UNIT_NEW;
	if (was_new)
		r = make_table(info, unit, info->index.units[number]);
	if (r == 0 && (unit->state != UNIT_READY || unit->die.cu != unit->described.cu))
		r = DEBUG_FLATTENING_E_PARTLY;
	if (r == 0)
		r = flatten_unit(flattening, unit, builder);
	if (memcmp(&refused, &info->refused, sizeof(refused)) || !has_room(info, 0))
		r = DEBUG_FLATTENING_E_PARTLY;
	if (was_new) {
		forget_unit(info, unit);
		info->programs_size = programs_size;
		info->refused = refused;
	}
	return r == 0 ? DEBUG_FLATTENING_MORE : r;
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
