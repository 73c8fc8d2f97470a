/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture-source/locations.h"
#include "common/base/hash-table.h"
#include "common/base/hash.h"
#include "common/base/long-name.h"
#include "common/base/text.h"

/* Addresses of synthetic images, which no process and no jitmap has. */
#define SYNTHETIC_NAMES 0xD000000000000000ULL
#define SYNTHETIC_JIT 0xD100000000000000ULL
#define SYNTHETIC_SIZE (1ULL << 40)
#define SYNTHETIC_KERNEL (1ULL << 63) /* in the kernel's half, but not canonical */

enum { KEY_MAX = 4096 + 128, SYNTHETIC_STEP = 16, MAPPING_KERNEL = 1 };

struct place_image {
	UT_hash_handle hh;
	uint64_t number;
	char key[]; /* "inode:build-id:path" */
};

void locations_init(struct locations *locations, struct stage *stage)
{
	*locations = (struct locations){
		.stage = stage,
		.n_images = LOCATIONS_IMAGE_FIRST,
		.n_mappings = MAPPING_KERNEL + 1,
	};
	pair_map_init(&locations->emitted, LOCATIONS_NAMES_MAX);
	pair_map_init(&locations->synthetic, LOCATIONS_NAMES_MAX);
	pair_map_init(&locations->lines_of, LOCATIONS_IMAGES_MAX);
}

int locations_read_lines(struct locations *locations, const char *text, size_t size)
{
	return source_lines_read(&locations->lines, text, size);
}

int locations_read_images(struct locations *locations, const char *text, size_t size)
{
	return image_notes_read(&locations->notes, text, size);
}

void locations_deinit(struct locations *locations)
{
	struct place_image *image, *next;

	HASH_ITER(hh, locations->images, image, next)
	{
		HASH_DEL(locations->images, image);
		free(image);
	}
	pair_map_deinit(&locations->emitted);
	pair_map_deinit(&locations->synthetic);
	pair_map_deinit(&locations->lines_of);
	source_lines_deinit(&locations->lines);
	image_notes_deinit(&locations->notes);
}

int locations_add_process(struct locations *locations, struct location_process *process,
			  uint32_t pid, const char *name, const struct location_process *parent,
			  uint64_t time)
{
	struct wire_process record = {
		.process = ++locations->n_processes,
		.time = time,
		.pid = pid,
		.origin = parent ? WIRE_origin_FORKED : WIRE_origin_FOUND,
		.parent = parent ? parent->number : 0,
		.name = wire_string(name, 64),
	};

	*process = (struct location_process){ .number = record.process, .pid = pid };
	if (parent)
		mapping_table_share(&process->mappings, &parent->mappings);
	process->has_synthetic = parent && parent->has_synthetic;
	return stage_put(locations->stage, WIRE_RECORD_process, &record);
}

int locations_name_thread(struct locations *locations, const struct location_process *process,
			  uint32_t tid, const char *name, uint64_t time)
{
	struct wire_thread record = { process->number, time, tid, wire_string(name, 64) };

	return stage_put(locations->stage, WIRE_RECORD_thread, &record);
}

int locations_exit_process(struct locations *locations, struct location_process *process,
			   uint64_t time)
{
	struct wire_process_exit record = { process->number, time };

	mapping_table_deinit(&process->mappings);
	process->has_synthetic = false;
	return stage_put(locations->stage, WIRE_RECORD_process_exit, &record);
}

static int put_image(struct locations *locations, uint64_t number, enum wire_image_kind kind,
		     const char *path, uint64_t inode)
{
	struct wire_image record = {
		.image = number,
		.kind = kind,
		.inode = inode,
		.path = wire_string(path, 4096),
	};

	return stage_put(locations->stage, WIRE_RECORD_image, &record);
}

static int put_mapping(struct locations *locations, uint64_t process, const struct mapping *mapping,
		       uint64_t time)
{
	struct wire_mapping record = {
		.mapping = mapping->number,
		.process = process,
		.time = time,
		.start = mapping->start,
		.length = mapping->end - mapping->start,
		.offset = mapping->offset,
		.image = mapping->image,
	};

	return stage_put(locations->stage, WIRE_RECORD_mapping, &record);
}

static int add_mapping(struct locations *locations, struct location_process *process,
		       struct mapping *mapping, uint64_t time)
{
	int r;

	mapping->number = locations->n_mappings;
	r = mapping_table_add(&process->mappings, mapping);
	if (r == -EINVAL || r == -ENOSPC) {
		locations->n_refused++;
		return 0;
	}
	if (r < 0)
		return r;
	locations->n_mappings++;
	process->n_changes++;
	return put_mapping(locations, process->number, mapping, time);
}

/* Also for "[vdso]", "//anon" and "". */
static enum wire_image_kind kind_of_path(const char *path)
{
	if (!strcmp(path, "[vdso]"))
		return WIRE_image_kind_VDSO;
	if (!strcmp(path, "[uprobes]"))
		return WIRE_image_kind_SPECIAL;
	if (script_language_of_path(path) < SCRIPT_LANGUAGES_MAX)
		return WIRE_image_kind_SCRIPT;
	return *path != '/' || path[1] == '/' ? WIRE_image_kind_ANONYMOUS : WIRE_image_kind_FILE;
}

static size_t parse_build_id(const char *text, uint8_t build_id[WIRE_BUILD_ID_MAX])
{
	size_t n = 0;

	for (; n < WIRE_BUILD_ID_MAX; n++) {
		int high = text_digit_value(text[2 * n]);
		int low = high < 0 ? -1 : text_digit_value(text[2 * n + 1]);

		if (low < 0)
			break;
		build_id[n] = high << 4 | low;
	}
	return n;
}

/* Emits the ids of an image, as far as the capture has them. */
static int put_ids(struct locations *locations, uint64_t image, uint64_t inode, const char *text,
		   const char *path)
{
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	struct image_note note;
	struct wire_image_id record = {
		.image = image,
		.build_id = { build_id, parse_build_id(text, build_id) },
	};

	image_notes_complete(&locations->notes, inode, text, path, &note, &record);
	if (!record.build_id.size && !record.segments.n)
		return 0;
	return stage_put(locations->stage, WIRE_RECORD_image_id, &record);
}

/* 0 or -ENOMEM */
static int find_lines(struct locations *locations, uint64_t number, uint64_t inode,
		      const char *build_id, const char *path)
{
	uint64_t image = source_lines_image(&locations->lines, inode, build_id, path);
	int r = image ? pair_map_add(&locations->lines_of, number, 0, image) : 0;

	return r == -ENOMEM ? r : 0;
}

/*
 * Anonymous memory has an image for each process, because its code is private. 0 or -errno:
 * -ENOSPC: there is no room for another image.
 */
static int find_image(struct locations *locations, const struct location_process *process,
		      const struct location_mapping *mapping, uint64_t *ret)
{
	enum wire_image_kind kind = kind_of_path(mapping->path);
	const char *build_id = mapping->build_id ? mapping->build_id : "";
	struct place_image *image;
	char key[KEY_MAX];
	int r;

	snprintf(key, sizeof(key), "%" PRIu64 ":%" PRIu64 ":%.80s:%s",
		 kind == WIRE_image_kind_ANONYMOUS ? process->number : 0, mapping->inode, build_id,
		 mapping->path);
	HASH_FIND_STR(locations->images, key, image);
	if (image) {
		*ret = image->number;
		return 0;
	}
	if (HASH_COUNT(locations->images) >= LOCATIONS_IMAGES_MAX)
		return -ENOSPC;
	image = calloc(1, sizeof(*image) + strlen(key) + 1);
	if (!image)
		return -ENOMEM;
	strcpy(image->key, key);
	*ret = image->number = locations->n_images++;
	HASH_ADD_STR(locations->images, key, image);
	if (!HASH_HAS(hh, image)) {
		free(image);
		return -ENOMEM;
	}
	r = find_lines(locations, image->number, mapping->inode, build_id, mapping->path);
	if (r == 0)
		r = put_image(locations, image->number, kind, mapping->path, mapping->inode);
	return r < 0 ? r
		     : put_ids(locations, image->number, mapping->inode, build_id, mapping->path);
}

/* Maps the code of scripts, for all processes, and at the place that it always has. */
static int map_scripts(struct locations *locations, enum script_language language, uint64_t image,
		       uint64_t time)
{
	const struct mapping scripts = {
		.start = script_start(language),
		.end = script_start(language) + SCRIPT_SIZE,
		.image = image,
		.number = locations->n_mappings,
	};

	if (locations->has_scripts[language])
		return 0;
	locations->has_scripts[language] = true;
	locations->scripts[language] = scripts;
	locations->n_mappings++;
	return put_mapping(locations, 0, &scripts, time);
}

int locations_map(struct locations *locations, struct location_process *process,
		  const struct location_mapping *mapping, uint64_t time)
{
	struct mapping added = { .start = mapping->start, .end = mapping->end };
	int r = find_image(locations, process, mapping, &added.image);

	if (r == -ENOSPC) {
		locations->n_refused++;
		return 0;
	}
	if (r == 0 && kind_of_path(mapping->path) == WIRE_image_kind_SCRIPT)
		return map_scripts(locations, script_language_of_path(mapping->path), added.image,
				   time);
	added.offset = kind_of_path(mapping->path) == WIRE_image_kind_ANONYMOUS ? mapping->start
										: mapping->offset;
	return r < 0 ? r : add_mapping(locations, process, &added, time);
}

int locations_add_kernel(struct locations *locations, uint64_t time)
{
	const struct mapping kernel = {
		.start = 1ULL << 63,
		.end = UINT64_MAX,
		.offset = 1ULL << 63, /* so that the offset of a location is its address */
		.image = LOCATIONS_IMAGE_KERNEL,
		.number = MAPPING_KERNEL,
	};
	int r;

	if (locations->has_kernel)
		return 0;
	locations->has_kernel = true;
	r = put_image(locations, LOCATIONS_IMAGE_KERNEL, WIRE_image_kind_KERNEL, "[kernel]", 0);
	return r < 0 ? r : put_mapping(locations, 0, &kernel, time);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return hash_part(hash, text, text ? strlen(text) : 0);
}

static uint64_t hash_name(const struct location_name *name)
{
	uint64_t hash = hash_text(hash_text(HASH_BYTES, name->name), name->module);

	for (size_t i = 0; i < name->n_inlined; i++)
		hash = hash_text(hash, name->inlined[i]);
	return hash ^ name->start ^ name->size << 32;
}

/* The lines of a location. Returns their number; 0: none, or the note has other calls there. */
static size_t lines_of_place(const struct locations *locations, uint64_t image, uint64_t offset,
			     const struct location_name *name,
			     struct capture_line ret[static SOURCE_LINES_AT_PLACE_MAX])
{
	const uint64_t *number = pair_map_find(&locations->lines_of, image, 0);
	size_t n = number ? source_lines_find(&locations->lines, *number, offset, ret) : 0;

	return n == name->n_inlined + 1 ? n : 0;
}

static int put_name(struct locations *locations, uint64_t image, uint64_t offset,
		    const struct location_name *name)
{
	struct capture_line lines[SOURCE_LINES_AT_PLACE_MAX];
	size_t n_lines = lines_of_place(locations, image, offset, name, lines);
	char room[LONG_NAME_MAX + 1];
	struct wire_symbol symbol = {
		.image = image,
		.offset = offset,
		.start = name->size ? name->start : offset,
		.size = name->size,
		.name = wire_string(name->name ? long_name_fit(name->name, 0, room) : NULL,
				    WIRE_NAME_MAX),
		.module = wire_string(name->module, 255),
	};
	int r = 0;

	if (n_lines) {
		symbol.file = lines[0].file;
		symbol.line = lines[0].line;
	}
	for (size_t i = 0; i < name->n_inlined && r == 0; i++) {
		char room_of_inlined[LONG_NAME_MAX + 1];
		struct wire_inlined inlined = {
			.image = image,
			.offset = offset,
			.name = wire_string(long_name_fit(name->inlined[i], 0, room_of_inlined),
					    WIRE_NAME_MAX),
		};

		if (n_lines) { /* in the note they go from the function inwards */
			inlined.file = lines[n_lines - 1 - i].file;
			inlined.line = lines[n_lines - 1 - i].line;
		}
		r = stage_put(locations->stage, WIRE_RECORD_inlined, &inlined);
	}
	return r < 0 ? r : stage_put(locations->stage, WIRE_RECORD_symbol, &symbol);
}

/* Emits the name of a location if it is new or has changed. */
static int emit(struct locations *locations, uint64_t image, uint64_t offset,
		const struct location_name *name)
{
	uint64_t hash = hash_name(name), *known = pair_map_find(&locations->emitted, image, offset);
	int r = 0;

	if (known && *known == hash)
		return 0;
	if (known) {
		*known = hash;
		locations->n_retold++;
	} else
		r = pair_map_add(&locations->emitted, image, offset, hash);
	if (r == -ENOSPC) /* emitted again the next time */
		r = 0;
	return r < 0 ? r : put_name(locations, image, offset, name);
}

static const struct mapping *find_scripts(const struct locations *locations, uint64_t address)
{
	enum script_language language = script_language_of(address);

	return locations->has_scripts[language] ? &locations->scripts[language] : NULL;
}

int locations_make_frame(struct locations *locations, const struct location_process *process,
			 uint64_t address, uint32_t flags, const struct location_name *name,
			 struct wire_frame *ret)
{
	uint64_t code = address - !(flags & WIRE_frame_flags_EXACT);
	const struct mapping *mapping = NULL;

	*ret = (struct wire_frame){ .address = address, .flags = flags };
	if (flags & WIRE_frame_flags_KERNEL) {
		ret->mapping = MAPPING_KERNEL;
		return name->name ? emit(locations, LOCATIONS_IMAGE_KERNEL, code, name) : 0;
	}
	if (flags & WIRE_frame_flags_SCRIPT)
		mapping = find_scripts(locations, address);
	else
		mapping = mapping_table_find(&process->mappings, code);
	if (!mapping)
		return 0;
	ret->mapping = mapping->number;
	return name->name ? emit(locations, mapping->image, code - mapping->start + mapping->offset,
				 name)
			  : 0;
}

/* Emits the synthetic images once, and maps them into a process. */
static int map_synthetic(struct locations *locations, struct location_process *process,
			 uint64_t time)
{
	struct mapping names = { SYNTHETIC_NAMES, SYNTHETIC_NAMES + SYNTHETIC_SIZE, 0,
				 LOCATIONS_IMAGE_NAMES };
	struct mapping jit = { SYNTHETIC_JIT, SYNTHETIC_JIT + SYNTHETIC_SIZE, 0,
			       LOCATIONS_IMAGE_JIT };
	int r = 0;

	if (process->has_synthetic)
		return 0;
	process->has_synthetic = true;
	if (!locations->has_names) {
		locations->has_names = true;
		r = put_image(locations, LOCATIONS_IMAGE_NAMES, WIRE_image_kind_FILE, "", 0);
		if (r == 0)
			r = put_image(locations, LOCATIONS_IMAGE_JIT, WIRE_image_kind_ANONYMOUS,
				      "//anon", 0);
	}
	if (r == 0)
		r = add_mapping(locations, process, &names, time);
	return r < 0 ? r : add_mapping(locations, process, &jit, time);
}

static uint64_t base_of(enum location_kind kind)
{
	switch (kind) {
	case LOCATION_KERNEL:
		return SYNTHETIC_KERNEL;
	case LOCATION_JIT:
		return SYNTHETIC_JIT;
	default:
		return SYNTHETIC_NAMES;
	}
}

int locations_make_synthetic_frame(struct locations *locations, struct location_process *process,
				   enum location_kind kind, const struct location_name *name,
				   uint64_t time, struct wire_frame *ret)
{
	uint64_t hash = hash_name(name), *known = pair_map_find(&locations->synthetic, hash, kind);
	uint64_t number = known ? *known : locations->n_synthetic + 1;
	uint32_t flags = WIRE_frame_flags_EXACT;
	int r = 0;

	if (!known)
		r = pair_map_add(&locations->synthetic, hash, kind, number);
	if (r == -ENOSPC) { /* the frame has no name then */
		locations->n_refused++;
		*ret = (struct wire_frame){ .flags = flags };
		return 0;
	}
	if (!known)
		locations->n_synthetic++;
	if (r == 0)
		r = kind == LOCATION_KERNEL ? locations_add_kernel(locations, time)
					    : map_synthetic(locations, process, time);
	if (kind == LOCATION_KERNEL)
		flags |= WIRE_frame_flags_KERNEL;
	return r < 0 ? r
		     : locations_make_frame(locations, process,
					    base_of(kind) + number * SYNTHETIC_STEP, flags, name,
					    ret);
}

bool locations_find_end(const char *text, uint32_t *ret_end)
{
	size_t size = strlen(text);

	if (size < 2 || text[0] != '[' || text[size - 1] != ']')
		return false;
	/* Some numbers are unassigned. */
	for (uint32_t end = WIRE_stack_end_COMPLETE + 1; end < WIRE_STACK_ENDS_MAX; end++) {
		const char *name = wire_name_text(&wire_names_stack_end, end);

		if (name && strlen(name) == size - 2 && !strncmp(text + 1, name, size - 2)) {
			*ret_end = end;
			return true;
		}
	}
	return false;
}

bool locations_cut_mark(const char *name, const char *mark, char *ret, size_t size)
{
	size_t n = strlen(name), mark_size = strlen(mark);

	if (n <= mark_size || n - mark_size >= size || strcmp(name + n - mark_size, mark))
		return false;
	memcpy(ret, name, n - mark_size);
	ret[n - mark_size] = 0;
	return true;
}

const char *locations_cut_step_mark(const char *name, char *room, size_t size, uint32_t *flags)
{
	if (!locations_cut_mark(name, "_[f]", room, size))
		return name;
	*flags |= WIRE_frame_flags_FRAME_POINTER;
	return room;
}
