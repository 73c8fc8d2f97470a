/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/growing-list.h"
#include "common/script/script-place.h"
#include "symbolizer/script/beam-function.h"
#include "symbolizer/script/cpython-code.h"
#include "symbolizer/script/dotnet-method.h"
#include "symbolizer/script/hotspot-method.h"
#include "symbolizer/script/lua-proto.h"
#include "symbolizer/script/luajit-proto.h"
#include "symbolizer/script/perl-sub.h"
#include "symbolizer/script/php-function.h"
#include "symbolizer/script/ruby-code.h"
#include "symbolizer/script/script-names.h"
#include "symbolizer/script/v8-function.h"

struct script_code {
	UT_hash_handle hh;
	uint64_t number;
	struct script_code *next;  /* of its process */
	struct script_lines lines; /* of which the bytes are in `bytes`, */
	size_t size, file_at;	   /* of so many bytes, with the file's name from here on */
	enum script_language language;
	struct script_origin origin; /* of V8 */
	char bytes[];		     /* name, zero, file, zero, line table */
};

struct script_process {
	UT_hash_handle hh;
	uint64_t process;
	struct script_code *first;
};

static void free_code(struct script_names *names, struct script_code *code)
{
	HASH_DEL(names->by_number, code);
	names->n_bytes -= sizeof(*code) + code->size;
	free(code);
}

static void free_process(struct script_names *names, struct script_process *process)
{
	while (process->first) {
		struct script_code *code = process->first;

		process->first = code->next;
		free_code(names, code);
	}
	HASH_DEL(names->by_process, process);
	free(process);
}

void script_names_deinit(struct script_names *names)
{
	struct script_process *process, *next;

	HASH_ITER(hh, names->by_process, process, next)
	free_process(names, process);
	runtime_table_deinit(&names->runtimes);
	script_sources_deinit(&names->sources);
	free(names->late);
}

int script_names_take_process(struct script_names *names, const struct wire_process *record)
{
	return runtime_table_fork(&names->runtimes, record);
}

int script_names_take_runtime(struct script_names *names, const struct wire_runtime *record)
{
	return runtime_table_add(&names->runtimes, record);
}

static struct script_process *find_process(const struct script_names *names, uint64_t number)
{
	struct script_process *process;

	HASH_FIND(hh, names->by_process, &number, sizeof(number), process);
	return process;
}

/* NULL: no memory. */
static struct script_process *get_process(struct script_names *names, uint64_t number)
{
	struct script_process *process = find_process(names, number);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->process = number;
	HASH_ADD(hh, names->by_process, process, sizeof(process->process), process);
	if (HASH_HAS(hh, process))
		return process;
	free(process);
	return NULL;
}

/* `lines` may be all zero. */
static struct script_code *make_code(const struct script_code_text *text,
				     const struct script_lines *lines)
{
	size_t name_size = strlen(text->name) + 1, file_size = strlen(text->file) + 1;
	size_t size = name_size + file_size + lines->size;
	struct script_code *code = calloc(1, sizeof(*code) + size);

	if (!code)
		return NULL;
	code->size = size;
	code->lines = *lines;
	code->file_at = name_size;
	memcpy(code->bytes, text->name, name_size);
	memcpy(code->bytes + code->file_at, text->file, file_size);
	if (!lines->bytes)
		return code;
	code->lines.bytes =
		memcpy(code->bytes + name_size + file_size, lines->bytes, code->lines.size);
	return code;
}

static struct script_code *make_cpython(const struct runtime_fields *fields,
					const struct wire_memory *record, bool *ret_is_damaged)
{
	struct cpython_code code;

	*ret_is_damaged = !cpython_code_decode(&fields->cpython, record, &code);
	return *ret_is_damaged ? NULL : make_code(&code.text, &code.lines);
}

/* The places of PHP are lines. */
static struct script_code *make_php(const struct runtime_fields *fields,
				    const struct wire_memory *record, bool *ret_is_damaged)
{
	struct php_function function;
	struct script_lines none = { 0 };

	*ret_is_damaged = !php_function_decode(&fields->php, record, &function);
	none.first_line = function.first_line;
	return *ret_is_damaged ? NULL : make_code(&function.text, &none);
}

/* Records of V8 are also those of compiled code, which has no name. */
static struct script_code *make_v8(const struct runtime_fields *fields,
				   const struct wire_memory *record, bool *ret_is_damaged)
{
	static const struct script_lines none;
	struct script_origin origin = { 0 };
	struct script_code_text text;
	struct script_code *code;

	*ret_is_damaged = false;
	if (!v8_function_decode(&fields->v8, record, &text, &origin))
		*text.name = *text.file = 0;
	code = make_code(&text, &none);
	if (code && *text.file) /* in texts of eval() there are no lines to look at */
		code->origin = origin;
	return code;
}

static struct script_code *make_ruby(const struct runtime_fields *fields,
				     const struct wire_memory *record, bool *ret_is_damaged)
{
	struct script_code *made;
	struct ruby_code code;
	int r = ruby_code_decode(&fields->ruby, record, &code);

	*ret_is_damaged = r > 0;
	made = r == 0 ? make_code(&code.text, &code.lines) : NULL;
	free(code.bytes);
	return made;
}

/* Records of HotSpot are also those of compiled code, and of what belongs to it. */
static struct script_code *make_hotspot(const struct runtime_fields *fields,
					const struct wire_memory *record, bool *ret_is_damaged)
{
	struct hotspot_method method;

	*ret_is_damaged = false;
	hotspot_method_decode(&fields->hotspot, record, &method);
	return make_code(&method.text, &method.lines);
}

/* Of a function that was decoded, if `r` is 0. Takes its lines. */
static struct script_code *make_decoded(int r, const struct script_code_text *text,
					const struct script_lines *lines, bool *ret_is_damaged)
{
	struct script_code *made = r == 0 ? make_code(text, lines) : NULL;

	*ret_is_damaged = r > 0;
	free((void *)lines->bytes);
	return made;
}

static struct script_code *make_lua(const struct runtime_fields *fields,
				    const struct wire_memory *record, bool *ret_is_damaged)
{
	struct script_code_text text;
	struct script_lines lines;
	int r = lua_proto_decode(&fields->lua, record, &text, &lines);

	return make_decoded(r, &text, &lines, ret_is_damaged);
}

static struct script_code *make_luajit(const struct runtime_fields *fields,
				       const struct wire_memory *record, bool *ret_is_damaged)
{
	struct script_code_text text;
	struct script_lines lines;
	int r = luajit_proto_decode(&fields->luajit, record, &text, &lines);

	return make_decoded(r, &text, &lines, ret_is_damaged);
}

/* The places of BEAM are lines. */
static struct script_code *make_beam(const struct runtime_fields *fields,
				     const struct wire_memory *record, bool *ret_is_damaged)
{
	static const struct script_lines none;
	struct script_code_text text;

	*ret_is_damaged = !beam_function_decode(&fields->beam, record, &text);
	return *ret_is_damaged ? NULL : make_code(&text, &none);
}

static struct script_code *make_dotnet(const struct runtime_fields *fields,
				       const struct wire_memory *record, bool *ret_is_damaged)
{
	static const struct script_lines none;
	struct script_code_text text;

	*ret_is_damaged = !dotnet_method_decode(record, &text);
	return *ret_is_damaged ? NULL : make_code(&text, &none);
}

/* The places of Perl are lines. */
static struct script_code *make_perl(const struct runtime_fields *fields,
				     const struct wire_memory *record, bool *ret_is_damaged)
{
	static const struct script_lines none;
	struct script_code_text text;

	*ret_is_damaged = false;
	perl_sub_decode(&fields->perl, record, &text);
	return make_code(&text, &none);
}

/* By language. Each returns NULL if the record is damaged, or there is no memory. */
static struct script_code *(*const makers[SCRIPT_LANGUAGES_MAX])(
	const struct runtime_fields *fields, const struct wire_memory *record,
	bool *ret_is_damaged) = {
	[SCRIPT_CPYTHON] = make_cpython, [SCRIPT_PHP] = make_php,
	[SCRIPT_V8] = make_v8,		 [SCRIPT_RUBY] = make_ruby,
	[SCRIPT_HOTSPOT] = make_hotspot, [SCRIPT_PERL] = make_perl,
	[SCRIPT_LUA] = make_lua,	 [SCRIPT_BEAM] = make_beam,
	[SCRIPT_LUAJIT] = make_luajit,	 [SCRIPT_DOTNET] = make_dotnet,
};

/* Takes over the code. */
static int add_code(struct script_names *names, const struct wire_memory *record,
		    struct script_code *code)
{
	struct script_process *process = get_process(names, record->process);

	if (!process) {
		free(code);
		return -ENOMEM;
	}
	code->number = record->number;
	HASH_ADD(hh, names->by_number, number, sizeof(code->number), code);
	if (!HASH_HAS(hh, code)) {
		free(code);
		return -ENOMEM;
	}
	code->next = process->first;
	process->first = code;
	names->n_bytes += sizeof(*code) + code->size;
	return 0;
}

static struct script_code *find_code(const struct script_names *names, uint64_t number)
{
	struct script_code *code;

	HASH_FIND(hh, names->by_number, &number, sizeof(number), code);
	return code;
}

int script_names_take_memory(struct script_names *names, const struct wire_memory *record)
{
	const struct runtime_fields *fields = runtime_table_find(&names->runtimes, record->process);
	bool is_refused = names->n_bytes >= SCRIPT_NAMES_BYTES_MAX;
	struct script_code *code = NULL;

	if (!record->number || !fields || find_code(names, record->number))
		return 0;
	if (fields->language == SCRIPT_V8 && script_sources_is_part(record))
		return script_sources_take(&names->sources, record);
	if (!is_refused)
		code = makers[fields->language](fields, record, &is_refused);
	if (is_refused) {
		names->n_refused++;
		return 0;
	}
	if (!code)
		return -ENOMEM;
	code->language = fields->language;
	return add_code(names, record, code);
}

void script_names_forget(struct script_names *names, uint64_t number)
{
	struct script_process *process = find_process(names, number);

	if (process)
		free_process(names, process);
	if (runtime_table_find(&names->runtimes, number)) /* others have no texts */
		script_sources_forget(&names->sources, number);
	runtime_table_forget(&names->runtimes, number);
}

/* Places of PHP, Perl and BEAM are lines. */
static uint32_t find_as_place(const struct script_lines *lines, uint64_t place)
{
	return place ? place : lines->first_line;
}

static uint32_t find_none(const struct script_lines *lines, uint64_t place)
{
	return 0;
}

/* By language: the line of a place; 0: it has none. */
static uint32_t (*const line_finders[SCRIPT_LANGUAGES_MAX])(const struct script_lines *lines,
							    uint64_t place) = {
	[SCRIPT_CPYTHON] = cpython_lines_find,
	[SCRIPT_PHP] = find_as_place,
	[SCRIPT_V8] = find_none,
	[SCRIPT_RUBY] = ruby_lines_find,
	[SCRIPT_HOTSPOT] = hotspot_lines_find,
	[SCRIPT_PERL] = find_as_place,
	[SCRIPT_LUA] = lua_lines_find,
	[SCRIPT_LUAJIT] = lua_lines_find,
	[SCRIPT_BEAM] = find_as_place,
	[SCRIPT_DOTNET] = find_none,
};

/* Functions without a name are told apart by their lines. */
static void find_line(struct script_names *names, const struct script_code *code,
		      struct wire_symbol *symbol)
{
	symbol->line = script_sources_find_line(&names->sources, &code->origin);
	if (!symbol->line || strcmp(code->bytes, V8_ANONYMOUS) != 0)
		return;
	snprintf(names->anonymous, sizeof(names->anonymous), V8_ANONYMOUS_AT, symbol->line);
	symbol->name = wire_string(names->anonymous, WIRE_NAME_MAX);
}

static void find_place(struct script_names *names, const struct script_code *code,
		       struct wire_symbol *symbol)
{
	symbol->name = wire_string(code->bytes, WIRE_NAME_MAX);
	symbol->file = wire_string(code->bytes + code->file_at, WIRE_NAME_MAX);
	if (code->origin.source.owner)
		find_line(names, code, symbol);
	else if (script_place_instruction(symbol->offset) != SCRIPT_INSTRUCTION_UNKNOWN)
		symbol->line = line_finders[code->language](
			&code->lines, script_place_instruction(symbol->offset));
}

/* Notes a place whose line may come; without memory or room it is named without. */
static void note_late(struct script_names *names, const struct script_code *code,
		      const struct wire_symbol *symbol)
{
	const struct late_place place = { symbol->image, symbol->offset };

	if (code->origin.source.owner && names->n_late < SCRIPT_LATE_MAX &&
	    !script_sources_has(&names->sources, &code->origin.source))
		GROWING_LIST_ADD(names->late, names->n_late, place);
}

/* Begins a place in the image of scripts. NULL: its code is not known. */
static struct script_code *begin_place(const struct script_names *names, struct wire_symbol *symbol)
{
	symbol->start = script_place(script_place_number(symbol->offset), 0);
	symbol->size = SCRIPT_INSTRUCTIONS_MAX;
	return find_code(names, script_place_number(symbol->offset));
}

void script_names_find(struct script_names *names, struct wire_symbol *symbol)
{
	const struct script_code *code = begin_place(names, symbol);

	if (!code)
		return;
	find_place(names, code, symbol);
	note_late(names, code, symbol);
}

bool script_names_take_late(struct script_names *names, struct wire_symbol *ret)
{
	if (names->n_whole == names->sources.n_whole)
		return false;
	while (names->n_late_asked < names->n_late) {
		const struct late_place *place = &names->late[names->n_late_asked];
		const struct script_code *code;

		*ret = (struct wire_symbol){ .image = place->image, .offset = place->offset };
		code = begin_place(names, ret);
		if (code && !script_sources_has(&names->sources, &code->origin.source)) {
			names->n_late_asked++;
			continue;
		}
		names->late[names->n_late_asked] = names->late[--names->n_late];
		if (!code) /* its process has ended */
			continue;
		find_place(names, code, ret);
		return true;
	}
	names->n_late_asked = 0;
	names->n_whole = names->sources.n_whole;
	return false;
}
