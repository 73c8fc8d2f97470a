/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "perf-source/bpf/walk-program.h"
#include "perf-source/context/cpython-layout.h"

enum {
	PYTHON_3 = 3,
	FIRST_WITH_TABLE = 13,
	THREAD_STATE_MAX = 1024, /* bytes of it that may be followed */
	COOKIE = 0,		 /* words of the table, */
	VERSION,
	FREE_THREADED,
	OFFSETS, /* from here on offsets, whose order each minor version has */
};

/* What all builds with the GIL have in common. */
#define OF_GIL_BUILDS(head)                                                                        \
	.frame_copy = CPYTHON_NONE, .code_copies = CPYTHON_NONE, .object = 16, .text = head,       \
	.text_kind = 2

static const struct cpython_layout layouts[] = {
/* Up to 3.10: what differs is the place of the thread states, and of what a frame executes. */
#define LAYOUT_OF_OBJECTS(version, key_at, current_at, index, unit, state, executing, size, form)  \
	{                                                                                          \
		.minor = version, .key = key_at, .current = current_at, .current_id = 176,         \
		.cframe = CPYTHON_NONE, .current_frame = 24, .cframe_frame = CPYTHON_NONE,         \
		.cframe_previous = CPYTHON_NONE, .frame_code = 32, .frame_previous = 24,           \
		.frame_instruction = CPYTHON_NONE, .frame_owner = CPYTHON_NONE,                    \
		.frame_entry = CPYTHON_NONE, .frame_size = 120, .frame_index = index,              \
		.frame_unit = unit, .frame_state = state, .frame_executing = executing,            \
		.frame_object = size, .code_object = 176, .code_filename = 104,                    \
		.code_qualname = 112, .code_linetable = 120, .code_firstline = 40,                 \
		.code_bytes = 128, .code_version = CPYTHON_NONE, .code_framesize = CPYTHON_NONE,   \
		.code_stacksize = CPYTHON_NONE, .code_nlocalsplus = CPYTHON_NONE, .lines = form,   \
		OF_GIL_BUILDS(48),                                                                 \
	}
	LAYOUT_OF_OBJECTS(8, 1392, 1368, 104, 1, 116, 1, 368, CPYTHON_LINES_LNOTAB),
	LAYOUT_OF_OBJECTS(9, 584, 568, 104, 1, 116, 1, 368, CPYTHON_LINES_LNOTAB),
	LAYOUT_OF_OBJECTS(10, 584, 568, 96, 2, 108, 0, 360, CPYTHON_LINES_RANGES),
	{
		.minor = 11,
		.key = 592,
		.current = 576,
		.current_id = 152,
		.cframe = 56,
		.current_frame = CPYTHON_NONE,
		.cframe_frame = 8,
		.cframe_previous = 16,
		.frame_code = 32,
		.frame_previous = 48,
		.frame_instruction = 56,
		.frame_owner = 69,
		.frame_entry = 68,
		.frame_size = 72,
		.code_filename = 112,
		.code_qualname = 128,
		.code_linetable = 136,
		.code_firstline = 72,
		.code_bytes = 184,
		.code_version = CPYTHON_NONE,
		.code_framesize = CPYTHON_NONE,
		.code_stacksize = 68,
		.code_nlocalsplus = 76,
		OF_GIL_BUILDS(48),
	},
	{
		.minor = 12,
		.key = 1544,
		.current = CPYTHON_NONE,
		.current_id = CPYTHON_NONE,
		.cframe = 56,
		.current_frame = CPYTHON_NONE,
		.cframe_frame = 0,
		.cframe_previous = 8,
		.frame_code = 0,
		.frame_previous = 8,
		.frame_instruction = 56,
		.frame_owner = 70,
		.frame_entry = CPYTHON_NONE,
		.frame_size = 72,
		.code_filename = 112,
		.code_qualname = 128,
		.code_linetable = 136,
		.code_firstline = 68,
		.code_bytes = 192,
		.code_version = 92,
		.code_framesize = 76,
		.code_stacksize = 64,
		.code_nlocalsplus = 72,
		OF_GIL_BUILDS(40),
	},
/* From 3.13 on: what differs is the place of the thread states, and pointers with tags. */
#define LAYOUT_WITH_TABLE(version, key_at, owner, size, tags, code)                                \
	{                                                                                          \
		.minor = version, .key = key_at, .current = CPYTHON_NONE,                          \
		.current_id = CPYTHON_NONE, .cframe = CPYTHON_NONE, .current_frame = 72,           \
		.cframe_frame = CPYTHON_NONE, .cframe_previous = CPYTHON_NONE, .frame_code = 0,    \
		.frame_previous = 8, .frame_instruction = 56, .frame_owner = owner,                \
		.frame_entry = CPYTHON_NONE, .frame_size = size, .frame_tags = tags,               \
		.code_filename = 112, .code_qualname = 128, .code_linetable = 136,                 \
		.code_firstline = 68, .code_bytes = code, .code_framesize = 76,                    \
		.code_version = 92, .code_stacksize = 64, .code_nlocalsplus = 72,                  \
		OF_GIL_BUILDS(40),                                                                 \
	}
	LAYOUT_WITH_TABLE(13, 2160, 70, 72, 0, 200),
	LAYOUT_WITH_TABLE(14, 2336, 74, 80, 3, 208),
	LAYOUT_WITH_TABLE(15, CPYTHON_NONE, 74, 80, 3, 208),
/* Without the GIL: heads of objects are larger, and threads may have instructions of their own. */
#define LAYOUT_WITHOUT_GIL(version, key_at, owner, size, tags, copy, code, copies, kind)           \
	{                                                                                          \
		.minor = version, .is_free_threaded = true, .key = key_at,                         \
		.current = CPYTHON_NONE, .current_id = CPYTHON_NONE, .cframe = CPYTHON_NONE,       \
		.current_frame = 72, .cframe_frame = CPYTHON_NONE,                                 \
		.cframe_previous = CPYTHON_NONE, .frame_code = 0, .frame_previous = 8,             \
		.frame_instruction = 56, .frame_owner = owner, .frame_entry = CPYTHON_NONE,        \
		.frame_size = size, .frame_tags = tags, .frame_copy = copy, .code_filename = 128,  \
		.code_qualname = 144, .code_linetable = 152, .code_firstline = 84,                 \
		.code_bytes = code, .code_copies = copies, .code_framesize = 92,                   \
		.code_version = 108, .code_stacksize = 80, .code_nlocalsplus = 88, .object = 32,   \
		.text = 56, .text_kind = kind,                                                     \
	}
	LAYOUT_WITHOUT_GIL(13, 2160, 70, 72, 0, CPYTHON_NONE, 216, CPYTHON_NONE, 2),
	LAYOUT_WITHOUT_GIL(14, 2336, 78, 80, 3, 72, 232, 224, 8),
	LAYOUT_WITHOUT_GIL(15, CPYTHON_NONE, 78, 80, 3, 72, 232, 224, 8),
};

bool cpython_layout_is_free_threaded(uint32_t version, const uint64_t *table)
{
	return (version >> 16 & 0xff) >= FIRST_WITH_TABLE && table[FREE_THREADED];
}

const struct cpython_layout *cpython_layout_find(uint32_t version, const uint64_t *table)
{
	bool is_free_threaded = cpython_layout_is_free_threaded(version, table);

	if (version >> 24 != PYTHON_3)
		return NULL;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].minor == (version >> 16 & 0xff) &&
		    layouts[i].is_free_threaded == is_free_threaded)
			return &layouts[i];
	return NULL;
}

/* Where the table of a minor version has each offset: a number of words. */
struct offset_places {
	uint8_t minor;
	uint8_t current_frame;
	uint8_t frame_previous, frame_code, frame_instruction, frame_size, frame_owner;
	uint8_t code_filename, code_qualname, code_linetable, code_firstline, code_bytes;
	uint8_t frame_copy, code_copies; /* of builds without the GIL */
};

static const struct offset_places places[] = {
	{ 13, 23, 29, 30, 31, 32, 33, 35, 37, 38, 39, 43, 0, 0 },
	{ 14, 26, 32, 33, 34, 35, 36, 40, 42, 43, 44, 48, 38, 49 },
	{ 15, 26, 40, 41, 42, 43, 44, 48, 50, 51, 52, 56, 46, 57 },
};

static const struct offset_places *find_places(uint8_t minor)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (places[i].minor == minor)
			return &places[i];
	return NULL;
}

/* Takes an offset of `size` bytes in a structure of at most `max`. False: it is outside. */
static bool take(const uint64_t *table, uint8_t place, size_t size, size_t max, int *ret)
{
	if (place < OFFSETS || place >= CPYTHON_OFFSETS_SIZE / sizeof(*table) ||
	    table[place] > max - size)
		return false;
	*ret = table[place];
	return true;
}

static bool take_frame(struct cpython_layout *layout, const struct offset_places *of,
		       const uint64_t *table)
{
	size_t pointer = sizeof(uint64_t);

	return take(table, of->frame_size, 0, WALK_WINDOW_MAX, &layout->frame_size) &&
	       take(table, of->frame_previous, pointer, WALK_WINDOW_MAX, &layout->frame_previous) &&
	       take(table, of->frame_code, pointer, WALK_WINDOW_MAX, &layout->frame_code) &&
	       take(table, of->frame_instruction, pointer, WALK_WINDOW_MAX,
		    &layout->frame_instruction) &&
	       take(table, of->frame_owner, 1, WALK_WINDOW_MAX, &layout->frame_owner);
}

static bool take_code(struct cpython_layout *layout, const struct offset_places *of,
		      const uint64_t *table)
{
	size_t pointer = sizeof(uint64_t);

	return take(table, of->code_filename, pointer, WALK_OBJECT_MAX, &layout->code_filename) &&
	       take(table, of->code_qualname, pointer, WALK_OBJECT_MAX, &layout->code_qualname) &&
	       take(table, of->code_linetable, pointer, WALK_OBJECT_MAX, &layout->code_linetable) &&
	       take(table, of->code_firstline, sizeof(uint32_t), WALK_OBJECT_MAX,
		    &layout->code_firstline) &&
	       take(table, of->code_bytes, 0, WALK_OBJECT_MAX, &layout->code_bytes);
}

static bool take_copies(struct cpython_layout *layout, const struct offset_places *of,
			const uint64_t *table)
{
	return layout->frame_copy == CPYTHON_NONE || (take(table, of->frame_copy, sizeof(uint32_t),
							   WALK_WINDOW_MAX, &layout->frame_copy) &&
						      take(table, of->code_copies, sizeof(uint64_t),
							   WALK_OBJECT_MAX, &layout->code_copies));
}

bool cpython_layout_take(struct cpython_layout *layout, uint32_t version, const uint64_t *table)
{
	const struct offset_places *of = find_places(layout->minor);

	if (layout->minor < FIRST_WITH_TABLE)
		return true;
	return of && memcmp(&table[COOKIE], "xdebugpy", sizeof(*table)) == 0 &&
	       table[VERSION] == version &&
	       take(table, of->current_frame, sizeof(uint64_t), THREAD_STATE_MAX,
		    &layout->current_frame) &&
	       take_frame(layout, of, table) && take_code(layout, of, table) &&
	       take_copies(layout, of, table);
}
