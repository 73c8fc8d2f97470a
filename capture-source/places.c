/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "capture-source/places.h"
#include "common/base/hash-table.h"
#include "common/base/long-name.h"
#include "common/base/text.h"

/* Where the images that are made up are mapped: no addresses of any process, nor of a jitmap. */
#define MADE_UP_NAMES 0xD000000000000000ULL
#define MADE_UP_JIT 0xD100000000000000ULL
#define MADE_UP_SIZE (1ULL << 40)
#define MADE_UP_KERNEL (1ULL << 63) /* in the kernel's half, but where no address is canonical */

enum { KEY_MAX = 4096 + 128, MADE_UP_STEP = 16, MAPPING_KERNEL = 1 };

struct place_image {
	UT_hash_handle hh;
	uint64_t number;
	char key[]; /* "inode:build-id:path" */
};

void places_init(struct places *places, struct stage *stage)
{
	*places = (struct places){
		.stage = stage,
		.n_images = PLACES_IMAGE_FIRST,
		.n_mappings = MAPPING_KERNEL + 1,
	};
	pair_map_init(&places->told, PLACES_NAMES_MAX);
	pair_map_init(&places->made_up, PLACES_NAMES_MAX);
	pair_map_init(&places->lines_of, PLACES_IMAGES_MAX);
}

int places_read_lines(struct places *places, const char *text, size_t size)
{
	return source_lines_read(&places->lines, text, size);
}

void places_deinit(struct places *places)
{
	struct place_image *image, *next;

	HASH_ITER(hh, places->images, image, next)
	{
		HASH_DEL(places->images, image);
		free(image);
	}
	pair_map_deinit(&places->told);
	pair_map_deinit(&places->made_up);
	pair_map_deinit(&places->lines_of);
	source_lines_deinit(&places->lines);
}

int places_add_process(struct places *places, struct place_process *process, uint32_t pid,
		       const char *name, const struct place_process *parent, uint64_t time)
{
	struct wire_process record = {
		.process = ++places->n_processes,
		.time = time,
		.pid = pid,
		.origin = parent ? WIRE_origin_FORKED : WIRE_origin_FOUND,
		.parent = parent ? parent->number : 0,
		.name = wire_string(name, 64),
	};

	*process = (struct place_process){ .number = record.process, .pid = pid };
	if (parent)
		mapping_table_share(&process->mappings, &parent->mappings);
	process->has_made_up = parent && parent->has_made_up;
	return stage_put(places->stage, WIRE_RECORD_process, &record);
}

int places_name_thread(struct places *places, const struct place_process *process, uint32_t tid,
		       const char *name, uint64_t time)
{
	struct wire_thread record = { process->number, time, tid, wire_string(name, 64) };

	return stage_put(places->stage, WIRE_RECORD_thread, &record);
}

int places_exit_process(struct places *places, struct place_process *process, uint64_t time)
{
	struct wire_process_exit record = { process->number, time };

	mapping_table_deinit(&process->mappings);
	process->has_made_up = false;
	return stage_put(places->stage, WIRE_RECORD_process_exit, &record);
}

static int put_image(struct places *places, uint64_t number, enum wire_image_kind kind,
		     const char *path, uint64_t inode)
{
	struct wire_image record = {
		.image = number,
		.kind = kind,
		.inode = inode,
		.path = wire_string(path, 4096),
	};

	return stage_put(places->stage, WIRE_RECORD_image, &record);
}

static int put_mapping(struct places *places, uint64_t process, const struct mapping *mapping,
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

	return stage_put(places->stage, WIRE_RECORD_mapping, &record);
}

static int add_mapping(struct places *places, struct place_process *process,
		       struct mapping *mapping, uint64_t time)
{
	int r;

	mapping->number = places->n_mappings;
	r = mapping_table_add(&process->mappings, mapping);
	if (r == -EINVAL || r == -ENOSPC) {
		places->n_refused++;
		return 0;
	}
	if (r < 0)
		return r;
	places->n_mappings++;
	process->n_changes++;
	return put_mapping(places, process->number, mapping, time);
}

/* "[vdso]", "//anon", "", … */
static enum wire_image_kind kind_of_path(const char *path)
{
	if (!strcmp(path, "[vdso]"))
		return WIRE_image_kind_VDSO;
	if (!strcmp(path, "[uprobes]"))
		return WIRE_image_kind_SPECIAL;
	return *path != '/' || path[1] == '/' ? WIRE_image_kind_ANONYMOUS : WIRE_image_kind_FILE;
}

static int put_build_id(struct places *places, uint64_t image, const char *text)
{
	uint8_t build_id[WIRE_BUILD_ID_MAX];
	size_t n = 0;

	for (; n < WIRE_BUILD_ID_MAX; n++) {
		int high = text_digit_value(text[2 * n]);
		int low = high < 0 ? -1 : text_digit_value(text[2 * n + 1]);

		if (low < 0)
			break;
		build_id[n] = high << 4 | low;
	}
	return n ? stage_put(places->stage, WIRE_RECORD_image_id,
			     &(struct wire_image_id){ image, { build_id, n } })
		 : 0;
}

/* 0 or -ENOMEM */
static int find_lines(struct places *places, uint64_t number, uint64_t inode, const char *build_id,
		      const char *path)
{
	uint64_t image = source_lines_image(&places->lines, inode, build_id, path);
	int r = image ? pair_map_add(&places->lines_of, number, 0, image) : 0;

	return r == -ENOMEM ? r : 0;
}

/* Anonymous memory is an image for each process: its code is its own. */
static int find_image(struct places *places, const struct place_process *process,
		      const struct place_mapping *mapping, uint64_t *ret)
{
	enum wire_image_kind kind = kind_of_path(mapping->path);
	const char *build_id = mapping->build_id ? mapping->build_id : "";
	struct place_image *image;
	char key[KEY_MAX];
	int r;

	snprintf(key, sizeof(key), "%" PRIu64 ":%" PRIu64 ":%.80s:%s",
		 kind == WIRE_image_kind_ANONYMOUS ? process->number : 0, mapping->inode, build_id,
		 mapping->path);
	HASH_FIND_STR(places->images, key, image);
	if (image) {
		*ret = image->number;
		return 0;
	}
	image = calloc(1, sizeof(*image) + strlen(key) + 1);
	if (!image)
		return -ENOMEM;
	strcpy(image->key, key);
	*ret = image->number = places->n_images++;
	HASH_ADD_STR(places->images, key, image);
	if (!HASH_HAS(hh, image)) {
		free(image);
		return -ENOMEM;
	}
	r = find_lines(places, image->number, mapping->inode, build_id, mapping->path);
	if (r == 0)
		r = put_image(places, image->number, kind, mapping->path, mapping->inode);
	return r < 0 ? r : put_build_id(places, image->number, build_id);
}

int places_map(struct places *places, struct place_process *process,
	       const struct place_mapping *mapping, uint64_t time)
{
	struct mapping added = { .start = mapping->start, .end = mapping->end };
	int r;

	if (HASH_COUNT(places->images) >= PLACES_IMAGES_MAX) {
		places->n_refused++;
		return 0;
	}
	r = find_image(places, process, mapping, &added.image);
	added.offset = kind_of_path(mapping->path) == WIRE_image_kind_ANONYMOUS ? mapping->start
										: mapping->offset;
	return r < 0 ? r : add_mapping(places, process, &added, time);
}

int places_add_kernel(struct places *places, uint64_t time)
{
	const struct mapping kernel = {
		.start = 1ULL << 63,
		.end = UINT64_MAX,
		.offset = 1ULL << 63, /* so that a place in the kernel is its address */
		.image = PLACES_IMAGE_KERNEL,
		.number = MAPPING_KERNEL,
	};
	int r;

	if (places->has_kernel)
		return 0;
	places->has_kernel = true;
	r = put_image(places, PLACES_IMAGE_KERNEL, WIRE_image_kind_KERNEL, "[kernel]", 0);
	return r < 0 ? r : put_mapping(places, 0, &kernel, time);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return hash_part(hash, text, text ? strlen(text) : 0);
}

static uint64_t hash_name(const struct place_name *name)
{
	uint64_t hash = hash_text(hash_text(HASH_BYTES, name->name), name->module);

	for (size_t i = 0; i < name->n_inlined; i++)
		hash = hash_text(hash, name->inlined[i]);
	return hash ^ name->start ^ name->size << 32;
}

/* Of a place with other calls than these nothing is known. How many. */
static size_t lines_of_place(const struct places *places, uint64_t image, uint64_t offset,
			     const struct place_name *name,
			     struct capture_line ret[static SOURCE_LINES_AT_PLACE_MAX])
{
	const uint64_t *number = pair_map_find(&places->lines_of, image, 0);
	size_t n = number ? source_lines_find(&places->lines, *number, offset, ret) : 0;

	return n == name->n_inlined + 1 ? n : 0;
}

static int put_name(struct places *places, uint64_t image, uint64_t offset,
		    const struct place_name *name)
{
	struct capture_line lines[SOURCE_LINES_AT_PLACE_MAX];
	size_t n_lines = lines_of_place(places, image, offset, name, lines);
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

		if (n_lines) { /* theirs are told from the function inwards */
			inlined.file = lines[n_lines - 1 - i].file;
			inlined.line = lines[n_lines - 1 - i].line;
		}
		r = stage_put(places->stage, WIRE_RECORD_inlined, &inlined);
	}
	return r < 0 ? r : stage_put(places->stage, WIRE_RECORD_symbol, &symbol);
}

/* Tells how a place is called, if it was not called that before. */
static int tell(struct places *places, uint64_t image, uint64_t offset,
		const struct place_name *name)
{
	uint64_t hash = hash_name(name), *known = pair_map_find(&places->told, image, offset);
	int r = 0;

	if (known && *known == hash)
		return 0;
	if (known) {
		*known = hash;
		places->n_retold++;
	} else
		r = pair_map_add(&places->told, image, offset, hash);
	if (r == -ENOSPC) /* it is told again the next time */
		r = 0;
	return r < 0 ? r : put_name(places, image, offset, name);
}

int places_make_frame(struct places *places, const struct place_process *process, uint64_t address,
		      uint32_t flags, const struct place_name *name, struct wire_frame *ret)
{
	uint64_t code = address - !(flags & WIRE_frame_flags_EXACT);
	const struct mapping *mapping = NULL;

	*ret = (struct wire_frame){ .address = address, .flags = flags };
	if (flags & WIRE_frame_flags_KERNEL) {
		ret->mapping = MAPPING_KERNEL;
		return name->name ? tell(places, PLACES_IMAGE_KERNEL, code, name) : 0;
	}
	mapping = mapping_table_find(&process->mappings, code);
	if (!mapping)
		return 0;
	ret->mapping = mapping->number;
	return name->name
		       ? tell(places, mapping->image, code - mapping->start + mapping->offset, name)
		       : 0;
}

/* The images that are made up, once, and mapped into a process. */
static int map_made_up(struct places *places, struct place_process *process, uint64_t time)
{
	struct mapping names = { MADE_UP_NAMES, MADE_UP_NAMES + MADE_UP_SIZE, 0,
				 PLACES_IMAGE_NAMES };
	struct mapping jit = { MADE_UP_JIT, MADE_UP_JIT + MADE_UP_SIZE, 0, PLACES_IMAGE_JIT };
	int r = 0;

	if (process->has_made_up)
		return 0;
	process->has_made_up = true;
	if (!places->has_names) {
		places->has_names = true;
		r = put_image(places, PLACES_IMAGE_NAMES, WIRE_image_kind_FILE, "", 0);
		if (r == 0)
			r = put_image(places, PLACES_IMAGE_JIT, WIRE_image_kind_ANONYMOUS, "//anon",
				      0);
	}
	if (r == 0)
		r = add_mapping(places, process, &names, time);
	return r < 0 ? r : add_mapping(places, process, &jit, time);
}

static uint64_t base_of(enum place_kind kind)
{
	switch (kind) {
	case PLACE_KERNEL:
		return MADE_UP_KERNEL;
	case PLACE_JIT:
		return MADE_UP_JIT;
	default:
		return MADE_UP_NAMES;
	}
}

int places_make_up_frame(struct places *places, struct place_process *process, enum place_kind kind,
			 const struct place_name *name, uint64_t time, struct wire_frame *ret)
{
	uint64_t hash = hash_name(name), *known = pair_map_find(&places->made_up, hash, kind);
	uint64_t number = known ? *known : places->n_made_up + 1;
	uint32_t flags = WIRE_frame_flags_EXACT;
	int r = 0;

	if (!known)
		r = pair_map_add(&places->made_up, hash, kind, number);
	if (r == -ENOSPC) { /* it has no name then */
		places->n_refused++;
		*ret = (struct wire_frame){ .flags = flags };
		return 0;
	}
	if (!known)
		places->n_made_up++;
	if (r == 0)
		r = kind == PLACE_KERNEL ? places_add_kernel(places, time)
					 : map_made_up(places, process, time);
	if (kind == PLACE_KERNEL)
		flags |= WIRE_frame_flags_KERNEL;
	return r < 0 ? r
		     : places_make_frame(places, process, base_of(kind) + number * MADE_UP_STEP,
					 flags, name, ret);
}

bool places_find_end(const char *text, uint32_t *ret_end)
{
	size_t size = strlen(text);

	if (size < 2 || text[0] != '[' || text[size - 1] != ']')
		return false;
	/* Some numbers are nobody's yet. */
	for (uint32_t end = WIRE_stack_end_COMPLETE + 1; end < WIRE_STACK_ENDS_MAX; end++) {
		const char *name = wire_name_text(&wire_names_stack_end, end);

		if (name && strlen(name) == size - 2 && !strncmp(text + 1, name, size - 2)) {
			*ret_end = end;
			return true;
		}
	}
	return false;
}

bool places_cut_mark(const char *name, const char *mark, char *ret, size_t size)
{
	size_t n = strlen(name), mark_size = strlen(mark);

	if (n <= mark_size || n - mark_size >= size || strcmp(name + n - mark_size, mark))
		return false;
	memcpy(ret, name, n - mark_size);
	ret[n - mark_size] = 0;
	return true;
}

const char *places_cut_step_mark(const char *name, char *room, size_t size, uint32_t *flags)
{
	if (!places_cut_mark(name, "_[f]", room, size))
		return name;
	*flags |= WIRE_frame_flags_FRAME_POINTER;
	return room;
}
