/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where .NET (CoreCLR) has what its threads execute. Compiled code lies in heaps, to which a map of
 * addresses leads (RangeSectionMap in vm/codeman.h); in front of each method's code is the address
 * of its description. The program exports a table of addresses for debuggers (g_dacTable), which
 * begins with the map's, and, from .NET 9 on, a text that says how some of its structures are made
 * (docs/design/datacontracts in its sources). The rest is known by version.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/cleanup.h"
#include "common/script/dotnet-code.h"
#include "perf-source/context/runtime.h"

enum {
	WORD = 8,
	TRIES_MAX = 20, /* while it begins: then it is looked at again */
	PAUSE_NS = 5000000,
	RETURNS_MAX = 512,
	REACH = INT32_MAX, /* code is that near to the program, for its calls
			      (executableallocator.cpp) */
	/* g_dacTable (inc/dacvars.h): the map, and what lies behind it. */
	DAC_MAP = 0,
	DAC_BEHIND_MAP = 2 * WORD,
	MAP_SIZE = 256 * WORD + WORD,
	/* DotNetRuntimeContractDescriptor. */
	CONTRACT_SIZE = 12,
	CONTRACT_TEXT = 16,
	CONTRACT_MAX = 1 << 16,
	/* RangeSection, HeapList, and RealCodeHeader (vm/codeman.h). */
	SECTION_MODULE = 32,
	SECTION_HEAP = 40,
	HEAP_BASE = 32,
	HEAP_MAP = 40,
	HEADER_METHOD = 24,
	HEADER_COUNT = 32,
	HEADER_FUNCTIONS = 36,
	/* MethodDesc, and MethodDescChunk (vm/method.hpp). */
	METHOD_TOKEN = 0,
	METHOD_INDEX = 2,
	METHOD_FLAGS = 6,
	METHOD_NAME = 32, /* of one that is made as the program runs */
	BLOCK_TYPE = 0,
	BLOCK_RANGE = 18,
	BLOCK_SIZE = 24,
	/* MethodTable (vm/methodtable.h), Module (vm/ceeload.h), and PEAssembly. */
	TYPE_FLAGS = 8,
	TYPE_MODULE = 24,
	ASSEMBLY_METADATA = 24,
	/* ReadyToRunInfo (vm/readytoruninfo.h): of all files of a composite one, and its functions.
	 */
	FILE_WHOLE = 0x28,
	FILE_FUNCTIONS = 0x50,
	FILE_COUNT = 0x58,
	MAP_BUCKETS = 16, /* HashMap (vm/hash.h) */
	/* MDInternalRO (md/runtime/mdinternalro.h): its CMiniMd. */
	METADATA_COUNTS = 0x30,
	METADATA_TABLES = 0xf0,
	METADATA_MASK = 0x3c0,
	METADATA_ROWS = 0x3d0,
	METADATA_NAMES = 0x540,
};

/* What versions have differently. */
struct dotnet_layout {
	uint8_t major;
	uint16_t module_path, module_assembly, module_file;
	uint16_t file_methods; /* of ReadyToRunInfo: a HashMap's buckets */
};

static const struct dotnet_layout layouts[] = {
	{ 9, 272, 280, 984, 448 },
	{ 10, 200, 216, 704, 376 },
};

static const struct dotnet_layout *find_layout(unsigned int major)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].major == major)
			return &layouts[i];
	return NULL;
}

/*
 * The program has its version in a text: "@(#)Version 9.0.525.21509 …", of build 25 of .NET 9.0.5.
 * That of .NET Core has other numbers.
 */
static bool find_version(const struct loaded_image *image, unsigned int *ret_major,
			 char ret[RUNTIME_VERSION_SIZE])
{
	enum { BUILDS = 100, FIRST = 5, LIMIT = 1000 };
	char text[RUNTIME_VERSION_SIZE];
	unsigned int minor, build;

	if (!loaded_image_find_text(image, ".data", "@(#)Version ", text, sizeof(text)) ||
	    sscanf(text, "%3u.%3u.%5u", ret_major, &minor, &build) != 3)
		return false;
	if (*ret_major >= FIRST)
		snprintf(ret, RUNTIME_VERSION_SIZE, "%u.%u.%u", *ret_major % LIMIT, minor % LIMIT,
			 build / BUILDS % LIMIT);
	return true;
}

static enum runtime_state find_map(const struct loaded_image *image, uint64_t *ret)
{
	GElf_Sym table;
	uint64_t behind;

	if (!loaded_image_find_symbol(image, "g_dacTable", &table) ||
	    !loaded_image_read(image, table.st_value + DAC_MAP, ret, sizeof(*ret)) ||
	    !loaded_image_read(image, table.st_value + DAC_BEHIND_MAP, &behind, sizeof(behind)))
		return RUNTIME_OTHER_BUILD;
	if (!*ret || !behind)
		return RUNTIME_NOT_YET;
	return behind - *ret >= MAP_SIZE && behind - *ret < MAP_SIZE + WORD ? RUNTIME_KNOWN
									    : RUNTIME_OTHER_BUILD;
}

/* The program fills in the table as it begins. */
static enum runtime_state wait_for_map(const struct loaded_image *image, uint64_t *ret)
{
	static const struct timespec pause = { 0, PAUSE_NS };
	enum runtime_state state = find_map(image, ret);

	for (size_t i = 0; i < TRIES_MAX && state == RUNTIME_NOT_YET; i++) {
		nanosleep(&pause, NULL);
		state = find_map(image, ret);
	}
	return state;
}

/* The text that describes structures. NULL: there is none, or no memory. To be freed. */
static char *read_contract(const struct loaded_image *image)
{
	_cleanup_free_ char *text = NULL;
	GElf_Sym descriptor;
	uint64_t at;
	uint32_t size;

	if (!loaded_image_find_symbol(image, "DotNetRuntimeContractDescriptor", &descriptor) ||
	    !loaded_image_read(image, descriptor.st_value + CONTRACT_SIZE, &size, sizeof(size)) ||
	    !loaded_image_read(image, descriptor.st_value + CONTRACT_TEXT, &at, sizeof(at)) ||
	    size > CONTRACT_MAX)
		return NULL;
	text = calloc(1, size + 1);
	if (!text || !loaded_image_read(image, at - image->bias, text, size))
		return NULL;
	return take_pointer(text);
}

/* A field of a structure. */
struct dotnet_field {
	const char *type, *name;
	int place;
};

static const struct dotnet_field fields[] = {
	{ "RangeSection", "HeapList", SECTION_HEAP },
	{ "RangeSection", "R2RModule", SECTION_MODULE },
	{ "CodeHeapListNode", "MapBase", HEAP_BASE },
	{ "CodeHeapListNode", "HeaderMap", HEAP_MAP },
	{ "RealCodeHeader", "MethodDesc", HEADER_METHOD },
	{ "RealCodeHeader", "NumUnwindInfos", HEADER_COUNT },
	{ "RealCodeHeader", "UnwindInfos", HEADER_FUNCTIONS },
	{ "ReadyToRunInfo", "CompositeInfo", FILE_WHOLE },
	{ "ReadyToRunInfo", "RuntimeFunctions", FILE_FUNCTIONS },
	{ "ReadyToRunInfo", "NumRuntimeFunctions", FILE_COUNT },
	{ "MethodDesc", "Flags3AndTokenRemainder", METHOD_TOKEN },
	{ "MethodDesc", "ChunkIndex", METHOD_INDEX },
	{ "MethodDesc", "Flags", METHOD_FLAGS },
	{ "DynamicMethodDesc", "MethodName", METHOD_NAME },
	{ "MethodDescChunk", "!", BLOCK_SIZE },
	{ "MethodDescChunk", "MethodTable", BLOCK_TYPE },
	{ "MethodDescChunk", "FlagsAndTokenRange", BLOCK_RANGE },
	{ "MethodTable", "MTFlags2", TYPE_FLAGS },
	{ "MethodTable", "Module", TYPE_MODULE },
};

/* Whether a structure has a field there, or is not described. .NET 10 describes more than 9. */
static bool agrees(const char *contract, const struct dotnet_field *field)
{
	char begin[64], wanted[64];
	const char *at, *end, *found;

	snprintf(begin, sizeof(begin), "\"%s\":{", field->type);
	snprintf(wanted, sizeof(wanted), "\"%s\":%d", field->name, field->place);
	at = strstr(contract, begin);
	end = at ? strchr(at, '}') : NULL;
	found = end ? strstr(at, wanted) : NULL;
	return !at || (found && found < end && !strchr("0123456789", found[strlen(wanted)]));
}

static bool is_as_laid_out(const char *contract, const struct dotnet_layout *layout)
{
	const struct dotnet_field of_module[] = {
		{ "Module", "Path", layout->module_path },
		{ "ReadyToRunInfo", "EntryPointToMethodDescMap",
		  layout->file_methods - MAP_BUCKETS },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (!agrees(contract, &fields[i]))
			return false;
	return strstr(contract, "\"MethodDesc\":{") && strstr(contract, "\"Module\":{") &&
	       agrees(contract, &of_module[0]) && agrees(contract, &of_module[1]);
}

static struct walk_program make_walk(const struct loaded_image *image,
				     const struct dotnet_layout *layout, uint64_t map)
{
	uint64_t program = image->bias + image->elf->low;

	return (struct walk_program){
		.lists = { { .window = sizeof(struct walk_return),
			     .stride = WORD,
			     .limit = RETURNS_MAX } },
		.managed = { .map = map,
			     .from = program > REACH ? program - REACH : 0,
			     .to = program + REACH,
			     .not_from = program,
			     .not_to = image->bias + image->elf->high,
			     .section_module = SECTION_MODULE,
			     .module_file = layout->module_file,
			     .file_whole = FILE_WHOLE,
			     .file_functions = FILE_FUNCTIONS,
			     .file_count = FILE_COUNT,
			     .file_methods = layout->file_methods,
			     .section_heap = SECTION_HEAP,
			     .heap_base = HEAP_BASE,
			     .heap_map = HEAP_MAP,
			     .header_method = HEADER_METHOD,
			     .header_count = HEADER_COUNT,
			     .header_functions = HEADER_FUNCTIONS,
			     .method_token = METHOD_TOKEN,
			     .method_index = METHOD_INDEX,
			     .method_flags = METHOD_FLAGS,
			     .method_name = METHOD_NAME,
			     .block_size = BLOCK_SIZE,
			     .block_type = BLOCK_TYPE,
			     .block_range = BLOCK_RANGE,
			     .type_flags = TYPE_FLAGS,
			     .type_module = TYPE_MODULE,
			     .module_assembly = layout->module_assembly,
			     .assembly_metadata = ASSEMBLY_METADATA,
			     .metadata_counts = METADATA_COUNTS,
			     .metadata_tables = METADATA_TABLES,
			     .metadata_rows = METADATA_ROWS,
			     .metadata_names = METADATA_NAMES,
			     .metadata_mask = METADATA_MASK },
	};
}

enum runtime_state dotnet_find(const struct loaded_image *image, struct runtime *ret)
{
	_cleanup_free_ char *contract = NULL;
	const struct dotnet_layout *layout;
	enum runtime_state state;
	GElf_Sym native;
	unsigned int major;
	uint64_t map;

	if (!loaded_image_find_symbol(image, "g_dacTable", &native))
		return RUNTIME_NONE;
	if (!find_version(image, &major, ret->version))
		return RUNTIME_OTHER_BUILD;
	layout = find_layout(major);
	if (!layout)
		return RUNTIME_OTHER_VERSION;
	state = wait_for_map(image, &map);
	if (state != RUNTIME_KNOWN)
		return state;
	contract = read_contract(image);
	if (!contract || !is_as_laid_out(contract, layout))
		return RUNTIME_OTHER_BUILD;
	ret->walk = make_walk(image, layout, map);
	snprintf(ret->layout, sizeof(ret->layout), "code.size=%zu", sizeof(struct dotnet_code));
	return RUNTIME_KNOWN;
}
