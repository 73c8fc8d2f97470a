/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/script/dotnet-code.h"
#include "common/script/runtime-table.h"

/* Fields are within what one record can have of an object. */
#define FIELD_MAX WIRE_MEMORY_MAX

/* What all had before builds without the GIL. */
enum { OBJECT_HEAD = 16, TEXT_KIND = 2, TEXT_KIND_MAX = 24, WORD = 8, CFRAME_MIN = 48 };

struct field_name {
	const char *name;
	size_t at;
	bool is_address;
};

static const struct field_name cpython_names[] = {
	{ "frame.code", offsetof(struct runtime_fields, cpython.frame_code), false },
	{ "frame.previous", offsetof(struct runtime_fields, cpython.frame_previous), false },
	{ "frame.instruction", offsetof(struct runtime_fields, cpython.frame_instruction), false },
	{ "frame.owner", offsetof(struct runtime_fields, cpython.frame_owner), false },
	{ "frame.entry", offsetof(struct runtime_fields, cpython.frame_entry), false },
	{ "frame.tags", offsetof(struct runtime_fields, cpython.frame_tags), false },
	{ "cframe.frame", offsetof(struct runtime_fields, cpython.cframe_frame), false },
	{ "cframe.previous", offsetof(struct runtime_fields, cpython.cframe_previous), false },
	{ "code.filename", offsetof(struct runtime_fields, cpython.code_filename), false },
	{ "code.qualname", offsetof(struct runtime_fields, cpython.code_qualname), false },
	{ "code.linetable", offsetof(struct runtime_fields, cpython.code_linetable), false },
	{ "code.firstline", offsetof(struct runtime_fields, cpython.code_firstline), false },
	{ "code.bytes", offsetof(struct runtime_fields, cpython.code_bytes), false },
	{ "code.size", offsetof(struct runtime_fields, cpython.code_size), false },
	{ "code.framesize", offsetof(struct runtime_fields, cpython.code_framesize), false },
	{ "code.stacksize", offsetof(struct runtime_fields, cpython.code_stacksize), false },
	{ "code.nlocalsplus", offsetof(struct runtime_fields, cpython.code_nlocalsplus), false },
	{ "frame.size", offsetof(struct runtime_fields, cpython.frame_size), false },
	{ "frame.index", offsetof(struct runtime_fields, cpython.frame_index), false },
	{ "frame.unit", offsetof(struct runtime_fields, cpython.frame_unit), false },
	{ "frame.state", offsetof(struct runtime_fields, cpython.frame_state), false },
	{ "frame.executing", offsetof(struct runtime_fields, cpython.frame_executing), false },
	{ "code.lines", offsetof(struct runtime_fields, cpython.code_lines), false },
	{ "code.type", offsetof(struct runtime_fields, cpython.code_type), true },
	{ "text", offsetof(struct runtime_fields, cpython.text), false },
	{ "bytes", offsetof(struct runtime_fields, cpython.bytes), false },
	{ "frame.copy", offsetof(struct runtime_fields, cpython.frame_copy), false },
	{ "object", offsetof(struct runtime_fields, cpython.object), false },
	{ "text.kind", offsetof(struct runtime_fields, cpython.text_kind), false },
	{ NULL, 0, false },
};

static const struct field_name php_names[] = {
	{ "frame.function", offsetof(struct runtime_fields, php.frame_function), false },
	{ "frame.previous", offsetof(struct runtime_fields, php.frame_previous), false },
	{ "frame.info", offsetof(struct runtime_fields, php.frame_info), false },
	{ "frame.line", offsetof(struct runtime_fields, php.frame_line), false },
	{ "function.size", offsetof(struct runtime_fields, php.function_size), false },
	{ "function.line", offsetof(struct runtime_fields, php.function_line), false },
	{ "function.name", offsetof(struct runtime_fields, php.function_name), false },
	{ "function.class", offsetof(struct runtime_fields, php.function_class), false },
	{ "text", offsetof(struct runtime_fields, php.text), false },
	{ "text.length", offsetof(struct runtime_fields, php.text_length), false },
	{ "resume.from", offsetof(struct runtime_fields, php.resume_from), true },
	{ "resume.to", offsetof(struct runtime_fields, php.resume_to), true },
	{ NULL, 0, false },
};

static const struct field_name v8_names[] = {
	{ "frame.function", offsetof(struct runtime_fields, v8.frame_function), false },
	{ "frame.bytecode", offsetof(struct runtime_fields, v8.frame_bytecode), false },
	{ "frame.instruction", offsetof(struct runtime_fields, v8.frame_instruction), false },
	{ "frame.code", offsetof(struct runtime_fields, v8.frame_code), false },
	{ "function.size", offsetof(struct runtime_fields, v8.function_size), false },
	{ "function.data", offsetof(struct runtime_fields, v8.function_data), false },
	{ "function.script", offsetof(struct runtime_fields, v8.function_script), false },
	{ "script.line", offsetof(struct runtime_fields, v8.script_line), false },
	{ "scope.position", offsetof(struct runtime_fields, v8.scope_position), false },
	{ "scope.flags", offsetof(struct runtime_fields, v8.scope_flags), false },
	{ "scope.function", offsetof(struct runtime_fields, v8.scope_function), false },
	{ "map.type", offsetof(struct runtime_fields, v8.map_type), false },
	{ "function.type", offsetof(struct runtime_fields, v8.function_type), false },
	{ "code.size", offsetof(struct runtime_fields, v8.code_size), false },
	{ "code.start", offsetof(struct runtime_fields, v8.code_start), false },
	{ "code.within", offsetof(struct runtime_fields, v8.code_within), false },
	{ "code.length", offsetof(struct runtime_fields, v8.code_length), false },
	{ "code.kind", offsetof(struct runtime_fields, v8.code_kind), false },
	{ "code.data", offsetof(struct runtime_fields, v8.code_data), false },
	{ "code.type", offsetof(struct runtime_fields, v8.code_type), false },
	{ "code.steps", offsetof(struct runtime_fields, v8.code_steps), false },
	{ "code.baseline", offsetof(struct runtime_fields, v8.code_baseline), false },
	{ "data.count", offsetof(struct runtime_fields, v8.data_count), false },
	{ "data.own", offsetof(struct runtime_fields, v8.data_own), false },
	{ "items", offsetof(struct runtime_fields, v8.items), false },
	{ NULL, 0, false },
};

static const struct field_name ruby_names[] = {
	{ "frame.pc", offsetof(struct runtime_fields, ruby.frame_pc), false },
	{ "frame.sp", offsetof(struct runtime_fields, ruby.frame_sp), false },
	{ "frame.iseq", offsetof(struct runtime_fields, ruby.frame_iseq), false },
	{ "frame.flags", offsetof(struct runtime_fields, ruby.frame_flags), false },
	{ "body.size", offsetof(struct runtime_fields, ruby.body_size), false },
	{ "body.count", offsetof(struct runtime_fields, ruby.body_count), false },
	{ "body.code", offsetof(struct runtime_fields, ruby.body_code), false },
	{ "body.line", offsetof(struct runtime_fields, ruby.body_line), false },
	{ "body.entries", offsetof(struct runtime_fields, ruby.body_entries), false },
	{ "line.shift", offsetof(struct runtime_fields, ruby.line_shift), false },
	{ "text", offsetof(struct runtime_fields, ruby.text), false },
	{ "text.length", offsetof(struct runtime_fields, ruby.text_length), false },
	{ "text.short", offsetof(struct runtime_fields, ruby.text_short), false },
	{ "made.words", offsetof(struct runtime_fields, ruby.made_words), false },
	{ NULL, 0, false },
};

static const struct field_name perl_names[] = {
	{ "stack.array", offsetof(struct runtime_fields, perl.stack_array), false },
	{ "stack.previous", offsetof(struct runtime_fields, perl.stack_previous), false },
	{ "stack.last", offsetof(struct runtime_fields, perl.stack_last), false },
	{ "stack.type", offsetof(struct runtime_fields, perl.stack_type), false },
	{ "context.size", offsetof(struct runtime_fields, perl.context_size), false },
	{ "context.cop", offsetof(struct runtime_fields, perl.context_cop), false },
	{ "context.return", offsetof(struct runtime_fields, perl.context_return), false },
	{ "context.sub", offsetof(struct runtime_fields, perl.context_sub), false },
	{ "context.position", offsetof(struct runtime_fields, perl.context_position), false },
	{ "interpreter.cop", offsetof(struct runtime_fields, perl.interpreter_cop), false },
	{ "sub.size", offsetof(struct runtime_fields, perl.sub_size), false },
	{ "sub.body", offsetof(struct runtime_fields, perl.sub_body), false },
	{ "sub.name", offsetof(struct runtime_fields, perl.sub_name), false },
	{ "sub.flags", offsetof(struct runtime_fields, perl.sub_flags), false },
	{ "sub.count", offsetof(struct runtime_fields, perl.sub_count), false },
	{ "cop.size", offsetof(struct runtime_fields, perl.cop_size), false },
	{ "cop.line", offsetof(struct runtime_fields, perl.cop_line), false },
	{ "catch.from", offsetof(struct runtime_fields, perl.catch_from), true },
	{ "catch.to", offsetof(struct runtime_fields, perl.catch_to), true },
	{ "main.from", offsetof(struct runtime_fields, perl.main_from), true },
	{ "main.to", offsetof(struct runtime_fields, perl.main_to), true },
	{ NULL, 0, false },
};

static const struct field_name lua_names[] = {
	{ "call.proto", offsetof(struct runtime_fields, lua.call_proto), false },
	{ "call.next", offsetof(struct runtime_fields, lua.call_next), false },
	{ "call.pc", offsetof(struct runtime_fields, lua.call_pc), false },
	{ "call.status", offsetof(struct runtime_fields, lua.call_status), false },
	{ "proto.size", offsetof(struct runtime_fields, lua.proto_size), false },
	{ "proto.code", offsetof(struct runtime_fields, lua.proto_code), false },
	{ "proto.count", offsetof(struct runtime_fields, lua.proto_count), false },
	{ "proto.line", offsetof(struct runtime_fields, lua.proto_line), false },
	{ "text", offsetof(struct runtime_fields, lua.text), false },
	{ "text.short", offsetof(struct runtime_fields, lua.text_short), false },
	{ "text.long", offsetof(struct runtime_fields, lua.text_long), false },
	{ "text.far", offsetof(struct runtime_fields, lua.text_far), false },
	{ "call.c", offsetof(struct runtime_fields, lua.call_c), false },
	{ "call.fresh", offsetof(struct runtime_fields, lua.call_fresh), false },
	{ NULL, 0, false },
};

static const struct field_name beam_names[] = {
	{ "process.top", offsetof(struct runtime_fields, beam.process_top), false },
	{ "stack.end", offsetof(struct runtime_fields, beam.stack_end), true },
	{ "function.size", offsetof(struct runtime_fields, beam.function_size), false },
	{ "function.arity", offsetof(struct runtime_fields, beam.function_arity), false },
	{ "atom.size", offsetof(struct runtime_fields, beam.atom_size), false },
	{ "atom.length", offsetof(struct runtime_fields, beam.atom_length), false },
	{ NULL, 0, false },
};

static const struct field_name dotnet_names[] = {
	{ "code.size", offsetof(struct runtime_fields, dotnet.code_size), false },
	{ NULL, 0, false },
};

#define RANGE_NAMES(number)                                                                        \
	{ "frames.from" #number, offsetof(struct runtime_fields, hotspot.frame_from[number]),      \
	  true },                                                                                  \
	{                                                                                          \
		"frames.to" #number, offsetof(struct runtime_fields, hotspot.frame_to[number]),    \
			true                                                                       \
	}

/* The four parts of a site. */
#define SITE_NAMES(name, site)                                                                     \
	{ name ".pointer", offsetof(struct runtime_fields, hotspot.site.pointer), false },         \
		{ name ".further", offsetof(struct runtime_fields, hotspot.site.further), false }, \
		{ name ".offset", offsetof(struct runtime_fields, hotspot.site.offset), false },   \
	{                                                                                          \
		name ".size", offsetof(struct runtime_fields, hotspot.site.offset_size), false     \
	}

static const struct field_name hotspot_names[] = {
	RANGE_NAMES(0),
	RANGE_NAMES(1),
	RANGE_NAMES(2),
	RANGE_NAMES(3),
	RANGE_NAMES(4),
	RANGE_NAMES(5),
	RANGE_NAMES(6),
	RANGE_NAMES(7),
	RANGE_NAMES(8),
	RANGE_NAMES(9),
	RANGE_NAMES(10),
	RANGE_NAMES(11),
	RANGE_NAMES(12),
	RANGE_NAMES(13),
	RANGE_NAMES(14),
	RANGE_NAMES(15),
	{ "method.type", offsetof(struct runtime_fields, hotspot.method_type), true },
	{ "method.archived", offsetof(struct runtime_fields, hotspot.method_archived), true },
	{ "method.size", offsetof(struct runtime_fields, hotspot.method_size), false },
	{ "method.const", offsetof(struct runtime_fields, hotspot.method_const), false },
	{ "const.size", offsetof(struct runtime_fields, hotspot.const_size), false },
	{ "const.code", offsetof(struct runtime_fields, hotspot.const_code), false },
	{ "const.flags", offsetof(struct runtime_fields, hotspot.const_flags), false },
	{ "text", offsetof(struct runtime_fields, hotspot.text), false },
	{ "text.length", offsetof(struct runtime_fields, hotspot.text_length), false },
	{ "code.method", offsetof(struct runtime_fields, hotspot.code_method), false },
	{ "dense", offsetof(struct runtime_fields, hotspot.dense), false },
	{ "excluded", offsetof(struct runtime_fields, hotspot.excluded), false },
	SITE_NAMES("begin", code_begin),
	SITE_NAMES("rare", rare),
	SITE_NAMES("pcs", pcs),
	SITE_NAMES("pcs-end", pcs_end),
	SITE_NAMES("scopes", scopes),
	SITE_NAMES("scopes-end", scopes_end),
	SITE_NAMES("metadata", metadata),
	SITE_NAMES("metadata-end", metadata_end),
	{ NULL, 0, false },
};

/* Of all languages. */
static const struct field_name luajit_names[] = {
	{ "frame.function", offsetof(struct runtime_fields, luajit.frame_function), false },
	{ "frame.proto", offsetof(struct runtime_fields, luajit.frame_proto), false },
	{ "frame.continuation", offsetof(struct runtime_fields, luajit.frame_continuation), false },
	{ "frame.continuation.pc", offsetof(struct runtime_fields, luajit.frame_continuation_pc),
	  false },
	{ "frame.link", offsetof(struct runtime_fields, luajit.frame_link), false },
	{ "thread.stack", offsetof(struct runtime_fields, luajit.thread_stack), false },
	{ "thread.cframe", offsetof(struct runtime_fields, luajit.thread_cframe), false },
	{ "global.jit_base", offsetof(struct runtime_fields, luajit.global_jit_base), false },
	{ "cframe.size", offsetof(struct runtime_fields, luajit.cframe_size), false },
	{ "proto.size", offsetof(struct runtime_fields, luajit.proto_size), false },
	{ "proto.count", offsetof(struct runtime_fields, luajit.proto_count), false },
	{ "proto.line", offsetof(struct runtime_fields, luajit.proto_line), false },
	{ "proto.lines", offsetof(struct runtime_fields, luajit.proto_lines), false },
	{ "proto.total", offsetof(struct runtime_fields, luajit.proto_total), false },
	{ "proto.constants", offsetof(struct runtime_fields, luajit.proto_constants), false },
	{ "text", offsetof(struct runtime_fields, luajit.text), false },
	{ "text.length", offsetof(struct runtime_fields, luajit.text_length), false },
	{ "left", offsetof(struct runtime_fields, luajit.left), true },
	{ "torn0", offsetof(struct runtime_fields, luajit.torn[0]), true },
	{ "torn1", offsetof(struct runtime_fields, luajit.torn[1]), true },
	{ "torn2", offsetof(struct runtime_fields, luajit.torn[2]), true },
	{ "torn3", offsetof(struct runtime_fields, luajit.torn[3]), true },
	{ "torn4", offsetof(struct runtime_fields, luajit.torn[4]), true },
	{ "torn5", offsetof(struct runtime_fields, luajit.torn[5]), true },
	{ "torn6", offsetof(struct runtime_fields, luajit.torn[6]), true },
	{ "torn7", offsetof(struct runtime_fields, luajit.torn[7]), true },
	{ NULL, 0, false },
};

static const struct field_name loop_names[] = {
	{ "loop.from", offsetof(struct runtime_fields, loop.from), true },
	{ "loop.to", offsetof(struct runtime_fields, loop.to), true },
	{ "loop.other.from", offsetof(struct runtime_fields, loop.other_from), true },
	{ "loop.other.to", offsetof(struct runtime_fields, loop.other_to), true },
	{ NULL, 0, false },
};

static bool has_loop(const struct script_loop *loop)
{
	return loop->from >= 0 && loop->from < loop->to;
}

static bool has_cpython_frames(const struct cpython_fields *fields)
{
	return fields->frame_instruction >= 0 && fields->frame_owner >= 0 &&
	       fields->frame_size >= 0 && fields->code_bytes >= 0;
}

static bool has_cpython_objects(const struct runtime_fields *fields)
{
	const struct cpython_fields *cpython = &fields->cpython;

	return cpython->frame_index >= 0 && cpython->frame_unit > 0 && cpython->frame_state >= 0 &&
	       has_loop(&fields->loop);
}

static bool complete_cpython(struct runtime_fields *fields)
{
	struct cpython_fields *cpython = &fields->cpython;

	cpython->object = cpython->object < 0 ? OBJECT_HEAD : cpython->object;
	cpython->text_kind = cpython->text_kind < 0 ? TEXT_KIND : cpython->text_kind;
	return cpython->frame_code >= 0 && cpython->frame_previous >= 0 &&
	       cpython->code_filename >= 0 && cpython->code_qualname >= 0 &&
	       cpython->code_linetable >= 0 && cpython->code_firstline >= 0 &&
	       cpython->code_size >= 0 && cpython->code_type >= 0 && cpython->text >= 0 &&
	       cpython->bytes >= 0 && cpython->object >= WORD &&
	       cpython->text_kind <= TEXT_KIND_MAX &&
	       (cpython->frame_unit >= 0 ? has_cpython_objects(fields)
					 : has_cpython_frames(cpython));
}

static bool complete_php(struct runtime_fields *fields)
{
	const struct php_fields *php = &fields->php;

	return php->frame_function >= 0 && php->frame_previous >= 0 && php->frame_info >= 0 &&
	       php->frame_line >= 0 && php->function_size >= 0 && php->function_line >= 0 &&
	       php->function_name >= 0 && php->function_class >= 0 && php->text >= 0 &&
	       php->text_length >= 0 && php->resume_from >= 0 &&
	       php->resume_from < php->resume_to && has_loop(&fields->loop);
}

static bool complete_v8(struct runtime_fields *fields)
{
	const struct v8_fields *v8 = &fields->v8;

	return v8->frame_function >= 0 && v8->frame_bytecode >= 0 && v8->frame_instruction >= 0 &&
	       v8->frame_code >= 0 && v8->function_size >= 0 && v8->function_data >= 0 &&
	       v8->map_type >= 0 && v8->function_type >= 0 && v8->code_size >= 0 &&
	       (v8->code_start >= 0) != (v8->code_within >= 0) && v8->code_length >= 0 &&
	       v8->code_kind >= 0 && v8->code_data >= 0 && v8->code_type >= 0 &&
	       v8->code_baseline >= 0 && v8->data_count >= 0 && v8->items >= 0;
}

static bool complete_luajit(struct runtime_fields *fields)
{
	const struct luajit_fields *luajit = &fields->luajit;

	return luajit->frame_function >= 0 && luajit->frame_proto >= 0 &&
	       luajit->frame_continuation >= 0 && luajit->frame_continuation_pc >= 0 &&
	       luajit->frame_link >= 0 && luajit->thread_stack >= 0 && luajit->thread_cframe >= 0 &&
	       luajit->global_jit_base >= 0 && luajit->cframe_size >= CFRAME_MIN &&
	       luajit->proto_size >= 0 && luajit->proto_count >= 0 && luajit->proto_line >= 0 &&
	       luajit->proto_lines >= 0 && luajit->proto_total >= 0 &&
	       luajit->proto_constants >= 0 && luajit->text >= 0 && luajit->text_length >= 0 &&
	       has_loop(&fields->loop);
}

static bool complete_ruby(struct runtime_fields *fields)
{
	const struct ruby_fields *ruby = &fields->ruby;

	return ruby->frame_pc >= 0 && ruby->frame_sp >= 0 && ruby->frame_iseq >= 0 &&
	       ruby->frame_flags >= 0 && ruby->body_size >= 0 && ruby->body_count >= 0 &&
	       ruby->body_code >= 0 && ruby->body_line >= 0 && ruby->body_entries >= 0 &&
	       ruby->line_shift >= 0 && ruby->line_shift < 32 && ruby->text >= 0 &&
	       ruby->text_length >= 0 && ruby->text_short < 32 && has_loop(&fields->loop);
}

static bool is_site(const struct script_site *site)
{
	return site->offset_size >= 0 && site->offset_size <= (int64_t)sizeof(uint32_t);
}

static bool complete_hotspot(struct runtime_fields *fields)
{
	const struct hotspot_fields *hotspot = &fields->hotspot;

	return hotspot->method_type > 0 && hotspot->method_size >= 0 &&
	       hotspot->method_const >= 0 && hotspot->const_size >= 0 && hotspot->const_code >= 0 &&
	       hotspot->const_flags >= 0 && hotspot->text >= 0 && hotspot->text_length >= 0 &&
	       hotspot->code_method >= 0 && hotspot->excluded >= 0 &&
	       is_site(&hotspot->code_begin) && is_site(&hotspot->rare) && is_site(&hotspot->pcs) &&
	       is_site(&hotspot->pcs_end) && is_site(&hotspot->scopes) &&
	       is_site(&hotspot->scopes_end) && is_site(&hotspot->metadata) &&
	       is_site(&hotspot->metadata_end);
}

static bool complete_perl(struct runtime_fields *fields)
{
	const struct perl_fields *perl = &fields->perl;

	return perl->stack_array >= 0 && perl->stack_previous >= 0 && perl->stack_last >= 0 &&
	       perl->stack_type >= 0 && perl->context_size > 0 && perl->context_cop >= 0 &&
	       perl->context_return >= 0 && perl->context_sub >= 0 && perl->context_position >= 0 &&
	       perl->sub_size >= 0 && perl->sub_body >= 0 && perl->sub_name >= 0 &&
	       perl->sub_flags >= 0 && perl->sub_count >= 0 && perl->cop_size >= 0 &&
	       perl->cop_line >= 0 && has_loop(&fields->loop);
}

static bool complete_lua(struct runtime_fields *fields)
{
	const struct lua_fields *lua = &fields->lua;

	return lua->call_proto >= 0 && lua->call_next >= 0 && lua->call_pc >= 0 &&
	       lua->call_status >= 0 && lua->proto_size >= 0 && lua->proto_code >= 0 &&
	       lua->proto_count >= 0 && lua->proto_line >= 0 && lua->text >= 0 &&
	       lua->text_short >= 0 && lua->text_long >= 0 && lua->text_far >= 0 &&
	       lua->call_c >= 0 && lua->call_c < 32 && lua->call_fresh >= 0 &&
	       lua->call_fresh < 32 && has_loop(&fields->loop);
}

static bool complete_beam(struct runtime_fields *fields)
{
	const struct beam_fields *beam = &fields->beam;

	return beam->process_top >= 0 && beam->stack_end >= 0 && beam->function_size >= 0 &&
	       beam->function_arity >= 0 && beam->atom_size >= 0 && beam->atom_length >= 0 &&
	       has_loop(&fields->loop);
}

/* A later form of records has another size. */
static bool complete_dotnet(struct runtime_fields *fields)
{
	return fields->dotnet.code_size == sizeof(struct dotnet_code);
}

struct language {
	const struct field_name *names;
	/* Fills in what a runtime need not say. False: something is missing. */
	bool (*complete)(struct runtime_fields *fields);
};

static const struct language languages[SCRIPT_LANGUAGES_MAX] = {
	[SCRIPT_CPYTHON] = { cpython_names, complete_cpython },
	[SCRIPT_PHP] = { php_names, complete_php },
	[SCRIPT_V8] = { v8_names, complete_v8 },
	[SCRIPT_RUBY] = { ruby_names, complete_ruby },
	[SCRIPT_HOTSPOT] = { hotspot_names, complete_hotspot },
	[SCRIPT_PERL] = { perl_names, complete_perl },
	[SCRIPT_LUA] = { lua_names, complete_lua },
	[SCRIPT_LUAJIT] = { luajit_names, complete_luajit },
	[SCRIPT_BEAM] = { beam_names, complete_beam },
	[SCRIPT_DOTNET] = { dotnet_names, complete_dotnet },
};

void runtime_table_deinit(struct runtime_table *table)
{
	struct process_runtime *runtime, *next;

	HASH_ITER(hh, table->by_process, runtime, next)
	{
		HASH_DEL(table->by_process, runtime);
		free(runtime);
	}
}

static const struct field_name *find_in(const struct field_name *names, const char *text,
					size_t size)
{
	while (names->name && (strlen(names->name) != size || memcmp(names->name, text, size) != 0))
		names++;
	return names->name ? names : NULL;
}

static const struct field_name *find_name(enum script_language language, const char *text,
					  size_t size)
{
	const struct field_name *name = find_in(languages[language].names, text, size);

	return name ? name : find_in(loop_names, text, size);
}

/* Reads NAME=NUMBER. False: it is known, and damaged. */
static bool read_field(const char *text, size_t size, struct runtime_fields *fields)
{
	const char *equals = memchr(text, '=', size);
	const struct field_name *name =
		equals ? find_name(fields->language, text, equals - text) : NULL;
	char number[24], *end;
	int64_t value;

	if (!name)
		return equals;
	size -= equals + 1 - text;
	if (!size || size >= sizeof(number))
		return false;
	memcpy(number, equals + 1, size);
	number[size] = 0;
	errno = 0;
	value = strtoll(number, &end, 10);
	if (*end || errno || value < -1 || (!name->is_address && value > FIELD_MAX))
		return false;
	*(int64_t *)((char *)fields + name->at) = value;
	return true;
}

static bool read_fields(const struct wire_string *layout, struct runtime_fields *ret)
{
	const char *at = layout->data, *end = at + layout->size;
	enum script_language language = ret->language;

	memset(ret, -1, sizeof(*ret));
	ret->language = language;
	while (at < end) {
		const char *space = memchr(at, ' ', end - at);
		size_t size = space ? (size_t)(space - at) : (size_t)(end - at);

		if (!read_field(at, size, ret))
			return false;
		at += size + !!space;
	}
	return languages[language].complete(ret);
}

static int set(struct runtime_table *table, uint64_t process, const struct runtime_fields *fields)
{
	struct process_runtime *runtime;

	HASH_FIND(hh, table->by_process, &process, sizeof(process), runtime);
	if (!runtime && HASH_COUNT(table->by_process) >= RUNTIME_TABLE_MAX) {
		table->n_refused++;
		return 0;
	}
	if (!runtime) {
		runtime = calloc(1, sizeof(*runtime));
		if (!runtime)
			return -ENOMEM;
		runtime->process = process;
		HASH_ADD(hh, table->by_process, process, sizeof(process), runtime);
		if (!HASH_HAS(hh, runtime)) {
			free(runtime);
			return -ENOMEM;
		}
	}
	runtime->fields = *fields;
	return 0;
}

int runtime_table_add(struct runtime_table *table, const struct wire_runtime *record)
{
	struct runtime_fields fields = { .language = script_language_of_name(record->kind.data,
									     record->kind.size) };

	if (fields.language == SCRIPT_LANGUAGES_MAX)
		return 0; /* a later version's */
	if (!read_fields(&record->layout, &fields)) {
		table->n_refused++;
		return 0;
	}
	fields.image = record->image;
	return set(table, record->process, &fields);
}

int runtime_table_fork(struct runtime_table *table, const struct wire_process *record)
{
	const struct runtime_fields *fields = record->origin == WIRE_origin_FORKED
						      ? runtime_table_find(table, record->parent)
						      : NULL;

	return fields ? set(table, record->process, fields) : 0;
}

void runtime_table_forget(struct runtime_table *table, uint64_t process)
{
	struct process_runtime *runtime;

	HASH_FIND(hh, table->by_process, &process, sizeof(process), runtime);
	if (!runtime)
		return;
	HASH_DEL(table->by_process, runtime);
	free(runtime);
}

const struct runtime_fields *runtime_table_find(const struct runtime_table *table, uint64_t process)
{
	const struct process_runtime *runtime;

	HASH_FIND(hh, table->by_process, &process, sizeof(process), runtime);
	return runtime ? &runtime->fields : NULL;
}
