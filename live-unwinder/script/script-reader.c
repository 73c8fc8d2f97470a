/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "live-unwinder/script/script-reader.h"
#include "live-unwinder/script/beam-walk.h"
#include "live-unwinder/script/cpython-objects.h"
#include "live-unwinder/script/cpython-trait.h"
#include "live-unwinder/script/cpython-walk.h"
#include "live-unwinder/script/dotnet-walk.h"
#include "live-unwinder/script/hotspot-walk.h"
#include "live-unwinder/script/lua-walk.h"
#include "live-unwinder/script/luajit-walk.h"
#include "live-unwinder/script/perl-walk.h"
#include "live-unwinder/script/php-walk.h"
#include "live-unwinder/script/ruby-walk.h"
#include "live-unwinder/script/v8-walk.h"

static uint64_t trait_of_cpython(const struct runtime_fields *fields,
				 const struct wire_memory *record)
{
	return cpython_code_words(&fields->cpython, record);
}

/* Up to 3.10 frames are objects. */
static enum script_outcome read_cpython(const struct runtime_fields *fields,
					const struct code_table *codes,
					const struct script_thread *thread,
					struct script_stack *ret)
{
	return (fields->cpython.frame_unit > 0 ? cpython_objects_read : cpython_walk_read)(
		&fields->cpython, codes, thread->sample, ret);
}

static uint64_t trait_of_php(const struct runtime_fields *fields, const struct wire_memory *record)
{
	return php_function_kind(&fields->php, record);
}

static enum script_outcome read_php(const struct runtime_fields *fields,
				    const struct code_table *codes,
				    const struct script_thread *thread, struct script_stack *ret)
{
	return php_walk_read(&fields->php, codes, thread->sample, ret);
}

static uint64_t trait_of_v8(const struct runtime_fields *fields, const struct wire_memory *record)
{
	return v8_object_of(&fields->v8, record);
}

static enum script_outcome read_v8(const struct runtime_fields *fields,
				   const struct code_table *codes,
				   const struct script_thread *thread, struct script_stack *ret)
{
	return v8_walk_read(&fields->v8, codes, thread->sample, ret);
}

static uint64_t trait_of_ruby(const struct runtime_fields *fields, const struct wire_memory *record)
{
	return ruby_code_begin(&fields->ruby, record);
}

static enum script_outcome read_ruby(const struct runtime_fields *fields,
				     const struct code_table *codes,
				     const struct script_thread *thread, struct script_stack *ret)
{
	return ruby_walk_read(&fields->ruby, codes, thread->sample, ret);
}

static uint64_t trait_of_lua(const struct runtime_fields *fields, const struct wire_memory *record)
{
	return lua_code_begin(&fields->lua, record);
}

static enum script_outcome read_lua(const struct runtime_fields *fields,
				    const struct code_table *codes,
				    const struct script_thread *thread, struct script_stack *ret)
{
	return lua_walk_read(&fields->lua, codes, thread->sample, ret);
}

static uint64_t trait_of_luajit(const struct runtime_fields *fields,
				const struct wire_memory *record)
{
	return luajit_code_size(&fields->luajit, record);
}

static enum script_outcome read_luajit(const struct runtime_fields *fields,
				       const struct code_table *codes,
				       const struct script_thread *thread, struct script_stack *ret)
{
	return luajit_walk_read(fields, codes, thread, ret);
}

/* All records of BEAM are of functions. */
static uint64_t trait_of_beam(const struct runtime_fields *fields, const struct wire_memory *record)
{
	return 1;
}

static enum script_outcome read_beam(const struct runtime_fields *fields,
				     const struct code_table *codes,
				     const struct script_thread *thread, struct script_stack *ret)
{
	return beam_walk_read(&fields->beam, codes, thread, ret);
}

static uint64_t trait_of_dotnet(const struct runtime_fields *fields,
				const struct wire_memory *record)
{
	return dotnet_code_trait(record);
}

static enum script_outcome read_dotnet(const struct runtime_fields *fields,
				       const struct code_table *codes,
				       const struct script_thread *thread, struct script_stack *ret)
{
	return dotnet_walk_read(codes, thread->sample, ret);
}

static uint64_t trait_of_perl(const struct runtime_fields *fields, const struct wire_memory *record)
{
	return perl_object_of(&fields->perl, record);
}

static enum script_outcome read_perl(const struct runtime_fields *fields,
				     const struct code_table *codes,
				     const struct script_thread *thread, struct script_stack *ret)
{
	return perl_walk_read(&fields->perl, codes, thread->sample, ret);
}

static uint64_t trait_of_hotspot(const struct runtime_fields *fields,
				 const struct wire_memory *record)
{
	return hotspot_object_of(&fields->hotspot, record);
}

static enum script_outcome read_hotspot(const struct runtime_fields *fields,
					const struct code_table *codes,
					const struct script_thread *thread,
					struct script_stack *ret)
{
	return hotspot_walk_read(&fields->hotspot, codes, thread->sample, ret);
}

const struct script_reader script_readers[SCRIPT_LANGUAGES_MAX] = {
	[SCRIPT_CPYTHON] = { trait_of_cpython, 0, read_cpython },
	[SCRIPT_PHP] = { trait_of_php, 0, read_php },
	[SCRIPT_V8] = { trait_of_v8, V8_CODE, read_v8 },
	[SCRIPT_RUBY] = { trait_of_ruby, 0, read_ruby },
	[SCRIPT_LUA] = { trait_of_lua, 0, read_lua },
	[SCRIPT_LUAJIT] = { trait_of_luajit, 0, read_luajit },
	[SCRIPT_BEAM] = { trait_of_beam, 0, read_beam },
	[SCRIPT_DOTNET] = { trait_of_dotnet, 1, read_dotnet },
	[SCRIPT_PERL] = { trait_of_perl, 0, read_perl },
	[SCRIPT_HOTSPOT] = { trait_of_hotspot, HOTSPOT_OBJECT_CODE, read_hotspot },
};
