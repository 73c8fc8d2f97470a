/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/elf/elf-section.h"
#include "common/unwind/go-elf.h"
#include "common/unwind/go-module.h"
#include "symbolizer/symbols/go-calls.h"

/* An inlined call (struct inlinedCall): the places of its name and of its caller's instruction. */
struct go_call_layout {
	size_t size, name_at, caller_at;
};

static const struct go_call_layout layout_1_18 = { 20, 12, 16 }, layout_1_20 = { 16, 4, 8 };

/* The bytes from an address up to the end of its section. */
static void read_data(struct go_calls *calls, Elf *elf, uint64_t address)
{
	struct elf_section section = elf_section_before_first(elf);

	while (elf_section_next(&section)) {
		uint64_t offset = address - section.header.sh_addr;
		const Elf_Data *data;

		if (!(section.header.sh_flags & SHF_ALLOC) || address < section.header.sh_addr ||
		    offset >= section.header.sh_size)
			continue;
		data = elf_section_read(&section);
		if (!data || data->d_size <= offset)
			return;
		calls->data = (const uint8_t *)data->d_buf + offset;
		calls->data_size = data->d_size - offset;
	}
}

bool go_calls_init(struct go_calls *calls, Elf *elf)
{
	struct go_module module;

	*calls = (struct go_calls){ 0 };
	if (go_elf_read(elf, &calls->table) != GO_PCLNTAB_OK)
		return false;
	if (go_module_find(elf, &calls->table, &module) && module.data)
		read_data(calls, elf, module.data);
	return true;
}

uint64_t go_calls_size(const struct go_calls *calls)
{
	return calls->table.size + calls->data_size;
}

/* Sets the source line of an instruction; none if anything contradicts itself. */
static void put_line(const struct go_calls *calls, const struct go_function *function, uint64_t pc,
		     struct inline_call *call)
{
	int64_t file, line;

	if (!go_value_at(&calls->table, function, function->file_at, pc, &file) || file < 0 ||
	    !go_value_at(&calls->table, function, function->line_at, pc, &line) || line <= 0)
		return;
	call->file = go_file_name(&calls->table, function, file);
	call->line = call->file ? line : 0;
}

/* The number of the innermost call inlined at an instruction, -1: none; false: unknown. */
static bool find_inlined(const struct go_calls *calls, const struct go_function *function,
			 uint64_t pc, int64_t *ret)
{
	return go_value_at(&calls->table, function,
			   go_function_table(&calls->table, function, GO_TABLE_INLINED), pc, ret);
}

/* Reads an inlined call: its name, and the instruction that stands for its caller's place. */
static bool read_call(const struct go_calls *calls, const struct go_function *function,
		      uint64_t number, const char **ret_name, uint64_t *ret_caller)
{
	const struct go_call_layout *layout = calls->table.is_1_18 ? &layout_1_18 : &layout_1_20;
	uint32_t begin, name, caller;
	uint64_t at;

	if (!go_function_data(&calls->table, function, GO_DATA_INLINED, &begin))
		return false;
	at = begin + number * layout->size;
	if (at > calls->data_size || calls->data_size - at < layout->size)
		return false;
	memcpy(&name, calls->data + at + layout->name_at, sizeof(name));
	memcpy(&caller, calls->data + at + layout->caller_at, sizeof(caller));
	*ret_name = go_name(&calls->table, name);
	*ret_caller = function->start + caller;
	return *ret_name && **ret_name && *ret_caller < function->end;
}

size_t go_calls_find(const struct go_calls *calls, uint64_t address, struct inline_call *list,
		     size_t n_max)
{
	struct go_function function;
	uint64_t pc = address;

	if (!go_pclntab_find(&calls->table, address, &function))
		return 0;
	for (size_t n = 0; n < n_max; n++) {
		int64_t number;

		list[n] = (struct inline_call){ .name = function.name };
		if (!find_inlined(calls, &function, pc, &number))
			break;
		put_line(calls, &function, pc, &list[n]);
		if (number < 0)
			return n + 1;
		if (!read_call(calls, &function, number, &list[n].name, &pc))
			break;
	}
	list[0] = (struct inline_call){ .name = function.name };
	return 1;
}
