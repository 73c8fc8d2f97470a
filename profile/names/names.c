/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every symbol is hashed, and C++ names are long: uthash's own hash takes longer. */
#define HASH_FUNCTION(key, size, hash) ((hash) = hash_text((key), (size)))

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/base/hash-table.h"
#include "common/base/hash.h"
#include "common/base/long-name.h"
#include "common/base/text.h"
#include "profile/names/names.h"

static unsigned hash_text(const char *text, size_t size)
{
	uint64_t hash = size, word;

	for (; size >= sizeof(word); text += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = hash_word(hash, word);
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, text, size);
	hash = hash_word(hash, word);
	return hash >> 32;
}

struct name {
	UT_hash_handle hh;
	uint32_t number;
	uint32_t plain; /* 0: it has no mark */
	char text[];
};

void names_init(struct names *names)
{
	*names = (struct names){ 0 };
	pair_map_init(&names->places, PLACES_MAX);
	pair_map_init(&names->made, IMAGE_TABLE_MAX);
	pair_map_init(&names->threads, PLACES_MAX);
	timed_places_init(&names->timed);
}

void names_deinit(struct names *names)
{
	HASH_CLEAR(hh, names->by_text);
	for (size_t i = 0; i < names->n; i++)
		free(names->list[i].name);
	free(names->list);
	free(names->named_places);
	pair_map_deinit(&names->places);
	pair_map_deinit(&names->made);
	pair_map_deinit(&names->threads);
	inlined_calls_deinit(&names->inlined);
	timed_places_deinit(&names->timed);
}

/* Numbers a name, taking ownership of its text, or a provisional one. 0: no memory. */
static uint32_t number(struct names *names, struct numbered_name name)
{
	if (GROWING_LIST_MAKE_ROOM(names->list, names->n) < 0)
		return 0;
	names->list[names->n] = name;
	return ++names->n;
}

static struct name *add(struct names *names, const char *text, size_t size)
{
	struct name *name = calloc(1, sizeof(*name) + size + 1);

	if (!name)
		return NULL;
	memcpy(name->text, text, size);
	HASH_ADD_KEYPTR(hh, names->by_text, name->text, size, name);
	if (HASH_HAS(hh, name))
		name->number = number(names, (struct numbered_name){ .name = name });
	if (name->number)
		return name;
	if (HASH_HAS(hh, name))
		HASH_DEL(names->by_text, name);
	free(name);
	return NULL;
}

uint32_t names_intern(struct names *names, const char *text, size_t size)
{
	char clean[NAME_SIZE_MAX];
	struct name *name;
	size_t whole = size, taken;

	size = text_clean_most(text, size, clean, sizeof(clean), &taken);
	if (taken < whole)
		size = long_name_mark(clean, size, long_name_hash(text, whole, 0));
	HASH_FIND(hh, names->by_text, clean, size, name);
	if (!name && names->n < NAMES_MAX)
		name = add(names, clean, size);
	if (name)
		return name->number;
	names->n_refused++;
	return 0;
}

uint32_t names_add_provisional(struct names *names, uint32_t meaning)
{
	if (names->n == NAMES_MAX)
		return 0;
	return number(names, (struct numbered_name){ .meaning = meaning });
}

void names_set_meaning(struct names *names, uint32_t provisional, uint32_t meaning)
{
	names->list[provisional - 1].meaning = meaning;
}

bool names_is_provisional(const struct names *names, uint32_t name)
{
	return name && !names->list[name - 1].name;
}

uint32_t names_meaning(const struct names *names, uint32_t name)
{
	return names_is_provisional(names, name) ? names->list[name - 1].meaning : name;
}

const char *names_text(const struct names *names, uint32_t name)
{
	name = names_meaning(names, name);
	return name ? names->list[name - 1].name->text : "[too many names]";
}

struct numbered_text {
	const char *text;
	uint32_t number;
};

static int compare_texts(const void *a, const void *b)
{
	const struct numbered_text *left = a, *right = b;

	return strcmp(left->text, right->text);
}

int names_rank(const struct names *names, uint32_t **ret)
{
	_cleanup_free_ struct numbered_text *texts = calloc(names->n + 1, sizeof(*texts));
	uint32_t *ranks = calloc(names->n + 1, sizeof(*ranks));

	if (!texts || !ranks) {
		free(ranks);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i <= names->n; i++)
		texts[i] = (struct numbered_text){ names_text(names, i), i };
	qsort(texts, names->n + 1, sizeof(*texts), compare_texts);
	for (uint32_t i = 0; i <= names->n; i++)
		ranks[texts[i].number] = i;
	*ret = ranks;
	return 0;
}

/* Returns the index of a free entry. 0 or -ENOMEM. */
static int take_place(struct names *names, uint32_t *ret)
{
	int r;

	if (names->free_places) {
		*ret = names->free_places - 1;
		names->free_places = names->named_places[*ret].module;
		return 0;
	}
	r = GROWING_LIST_MAKE_ROOM(names->named_places, names->n_places);
	if (r < 0)
		return r;
	*ret = names->n_places++;
	return 0;
}

static void free_place(struct names *names, uint32_t index)
{
	names->named_places[index] = (struct named_place){ .module = names->free_places };
	names->free_places = index + 1;
}

/* A name with a suffix. A long name is shortened to make room for it. */
static uint32_t intern_marked(struct names *names, uint32_t name, const char *mark)
{
	const char *text = names_text(names, name);
	char room[LONG_NAME_MAX + 1], marked[NAME_SIZE_MAX];

	if (strlen(text) + strlen(mark) >= sizeof(marked))
		text = long_name_fit(text, 0, room);
	return names_intern(names, marked, snprintf(marked, sizeof(marked), "%s%s", text, mark));
}

static uint32_t add_mark(struct names *names, uint32_t name, const char *mark)
{
	uint32_t marked = intern_marked(names, name, mark);

	if (marked)
		names->list[marked - 1].name->plain = name;
	return marked;
}

uint32_t names_plain(const struct names *names, uint32_t name)
{
	uint32_t plain = name && names->list[name - 1].name ? names->list[name - 1].name->plain : 0;

	return plain ? plain : name;
}

static struct source_line source_line(struct names *names, const struct wire_string *file,
				      uint32_t line)
{
	if (!names->keeps_lines || !file->size)
		return (struct source_line){ 0 };
	return (struct source_line){ names_intern(names, file->data, file->size), line };
}

int names_add_inlined(struct names *names, const struct wire_inlined *inlined)
{
	uint32_t name = names_intern(names, inlined->name.data, inlined->name.size);

	inlined_calls_add(&names->inlined, inlined->image, inlined->offset,
			  add_mark(names, name, "_[i]"),
			  source_line(names, &inlined->file, inlined->line));
	return 0;
}

/* The name of a frame in code of a JIT compiler. */
static uint32_t mark_jit(struct names *names, uint32_t name, enum timed_step step)
{
	if (step == TIMED_STEP_UNPROVED)
		name = intern_marked(names, name, NAMES_STEP_MARK);
	return add_mark(names, name, "_[j]");
}

/*
 * Sets the name of a location since a time. If all stacks with the provisional name are that young,
 * its meaning changes. Otherwise later stacks get a new provisional name.
 */
static int set_timed_name(struct names *names, struct timed_name *timed, uint32_t meaning,
			  uint64_t since)
{
	timed->meaning = meaning;
	if (!timed->provisional)
		return 0;
	if (since <= timed->first) {
		names_set_meaning(names, timed->provisional, meaning);
		return 0;
	}
	timed->provisional = 0;
	return NAMES_REPLACED;
}

static int add_timed(struct names *names, const struct wire_symbol *symbol)
{
	struct timed_place *place = timed_places_get(&names->timed, symbol->image, symbol->offset);
	uint32_t name = symbol->name.size
				? names_intern(names, symbol->name.data, symbol->name.size)
				: names_intern(names, NAMES_UNKNOWN, strlen(NAMES_UNKNOWN));
	int r = 0;

	if (!place)
		return 0; /* refusals are counted by stacks with the location */
	for (enum timed_step step = 0; step < TIMED_STEPS; step++)
		r |= set_timed_name(names, &place->names[step], mark_jit(names, name, step),
				    symbol->since);
	return r;
}

/* The code of scripts is in one image, and each script is a module of it. */
static struct named_place describe_place(struct names *names, const struct image *image,
					 const struct wire_symbol *symbol)
{
	bool is_script = image && image->kind == WIRE_image_kind_SCRIPT;
	const struct wire_string *name = &symbol->name;
	const struct wire_string *module = is_script ? &symbol->file : &symbol->module;

	struct named_place place = {
		.start = symbol->start,
		.size = symbol->size,
		.name = name->size ? names_intern(names, name->data, name->size) : 0,
		.module = module->size ? names_intern(names, module->data, module->size) : 0,
		.line = source_line(names, &symbol->file, symbol->line),
	};

	if (name->size)
		place.inlined = inlined_calls_take(&names->inlined, symbol->image, symbol->offset,
						   place.name, place.line);
	return place;
}

/* Replaces a location's name, because its code changed. An identical one changes nothing. */
static int replace_place(struct named_place *known, struct named_place place)
{
	if (known->start == place.start && known->size == place.size && known->name == place.name &&
	    known->module == place.module && known->inlined == place.inlined &&
	    !memcmp(&known->line, &place.line, sizeof(place.line)))
		return 0;
	*known = place;
	return NAMES_REPLACED;
}

/* Whether an image is code of a JIT compiler, which may change: memory, or a file made for it. */
static bool is_made(const struct names *names, const struct image *image)
{
	return image && (image->kind == WIRE_image_kind_ANONYMOUS ||
			 pair_map_find(&names->made, image->number, 0));
}

int names_add_symbol(struct names *names, const struct identity *identity,
		     const struct wire_symbol *symbol)
{
	const struct image *image = image_table_find(&identity->images, symbol->image);
	struct named_place *known;
	uint32_t index;
	int r;

	if (image && symbol->since && !is_made(names, image))
		pair_map_add(&names->made, symbol->image, 0,
			     0); /* no memory: the last name counts */
	if (is_made(names, image))
		return add_timed(names, symbol);
	known = names_find_place(names, symbol->image, symbol->offset);
	if (known)
		return replace_place(known, describe_place(names, image, symbol));
	r = take_place(names, &index);
	if (r < 0)
		return r;
	r = pair_map_add(&names->places, symbol->image, symbol->offset, index);
	if (r < 0)
		free_place(names, index);
	if (r == -ENOSPC) {
		names->n_refused++;
		return 0;
	}
	if (r < 0)
		return r;
	names->named_places[index] = describe_place(names, image, symbol);
	return 0;
}

static bool is_of_living_image(uint64_t image, uint64_t offset, uint64_t place, void *arg)
{
	const struct identity *identity = arg;

	return image_table_find(&identity->images, image);
}

static bool is_of_living_process(uint64_t process, uint64_t tid, uint64_t name, void *arg)
{
	const struct identity *identity = arg;

	return process_table_find(&identity->processes, process);
}

static void mark_used(uint64_t image, uint64_t offset, uint64_t place, void *arg)
{
	((bool *)arg)[place] = true;
}

/* Frees all entries that no pair refers to. Without memory it frees none. */
static void find_free_places(struct names *names)
{
	_cleanup_free_ bool *is_used = calloc(names->n_places + 1, sizeof(*is_used));

	if (!is_used)
		return;
	pair_map_each(&names->places, mark_used, is_used);
	names->free_places = 0;
	for (size_t i = 0; i < names->n_places; i++)
		if (!is_used[i])
			free_place(names, i);
}

void names_forget_places(struct names *names)
{
	pair_map_clear(&names->places);
	free(names->named_places);
	names->named_places = NULL;
	names->n_places = names->free_places = 0;
}

void names_forget_ended(struct names *names, const struct identity *identity)
{
	if (pair_map_prune(&names->places, is_of_living_image, (void *)identity))
		find_free_places(names);
	pair_map_prune(&names->threads, is_of_living_process, (void *)identity);
	pair_map_prune(&names->made, is_of_living_image, (void *)identity);
	timed_places_forget_ended(&names->timed, is_of_living_image, (void *)identity);
}

int names_add_thread(struct names *names, const struct wire_thread *thread)
{
	uint64_t *known = pair_map_find(&names->threads, thread->process, thread->tid);
	uint32_t name = names_intern(names, thread->name.data, thread->name.size);
	int r = 0;

	if (known)
		*known = name;
	else
		r = pair_map_add(&names->threads, thread->process, thread->tid, name);
	if (r == -ENOSPC) {
		names->n_refused++;
		r = 0;
	}
	return r;
}

struct named_place *names_find_place(const struct names *names, uint64_t image, uint64_t offset)
{
	uint64_t *index = pair_map_find(&names->places, image, offset);

	return index ? &names->named_places[*index] : NULL;
}

/* Without a name of its own, a thread keeps its process's name from when it was first met. */
uint32_t names_of_thread(struct names *names, const struct process *process, uint64_t upid,
			 uint32_t tid)
{
	uint64_t *known = pair_map_find(&names->threads, upid, tid);
	const char *text = process && *process->name ? process->name : NAMES_UNKNOWN;
	uint32_t name;

	if (known)
		return *known;
	name = names_intern(names, text, strlen(text));
	if (process)
		pair_map_add(&names->threads, upid, tid, name);
	return name;
}

/* "[file+0xoffset]"; "[vdso]" and "[kernel]" also keep only one pair of brackets. */
static void name_place(const struct image *image, uint64_t offset, char *ret, size_t size)
{
	const char *name = image_name(image);
	int has_brackets = *name == '[';
	int length = strcspn(name + has_brackets, has_brackets ? "]" : "");

	snprintf(ret, size, "[%.*s+0x%" PRIx64 "]", length < 400 ? length : 400,
		 name + has_brackets, offset);
}

/* The name of a location; without a symbol name, that of its function's start if known. */
static uint32_t name_of_place(struct names *names, const struct image *image, uint64_t offset,
			      struct named_place *place)
{
	char text[512];

	if (place && (place->name || place->shown))
		return place->name ? place->name : place->shown;
	name_place(image, place && place->size ? place->start : offset, text, sizeof(text));
	if (!place)
		return names_intern(names, text, strlen(text));
	return place->shown = names_intern(names, text, strlen(text));
}

static uint32_t unknown_code(struct names *names, enum timed_step step)
{
	return mark_jit(names, names_intern(names, NAMES_UNKNOWN, strlen(NAMES_UNKNOWN)), step);
}

/* The name of a location in memory of a JIT compiler, as far as it is known yet. */
static uint32_t name_timed_place(struct names *names, uint64_t image, uint64_t offset,
				 enum timed_step step, uint64_t time)
{
	struct timed_place *place = timed_places_get(&names->timed, image, offset);
	struct timed_name *timed = place ? &place->names[step] : NULL;

	if (timed && !timed->provisional) {
		timed->provisional = names_add_provisional(
			names, timed->meaning ? timed->meaning : unknown_code(names, step));
		timed->first = time;
	}
	if (timed && timed->provisional)
		return timed->provisional;
	names->n_refused++;
	return unknown_code(names, step);
}

struct frame_name names_of_frame(struct names *names, const struct identity *identity,
				 const struct process *process, const struct wire_frame *frame,
				 uint64_t time)
{
	bool is_kernel = frame->flags & WIRE_frame_flags_KERNEL;
	enum timed_step step = frame->flags & WIRE_frame_flags_FRAME_POINTER ? TIMED_STEP_UNPROVED
									     : TIMED_STEP_PROVED;
	struct frame_name ret = { .is_final = true };
	struct named_place *place;

	if (process_table_place(&identity->processes, process, frame, &ret.image_number,
				&ret.offset))
		ret.image = image_table_find(&identity->images, ret.image_number);
	ret.is_made = is_made(names, ret.image);
	if (ret.is_made) {
		ret.name = ret.label =
			name_timed_place(names, ret.image_number, ret.offset, step, time);
		ret.is_final = names_is_provisional(names, ret.name);
		return ret;
	}
	if (ret.image) {
		ret.place = place = names_find_place(names, ret.image_number, ret.offset);
		ret.is_final = place;
		ret.is_unnamed = !place || !place->name;
		ret.name = name_of_place(names, ret.image, ret.offset, place);
	} else {
		ret.is_unnamed = true;
		ret.name = names_intern(names, NAMES_UNKNOWN, strlen(NAMES_UNKNOWN));
	}
	if (step == TIMED_STEP_UNPROVED)
		ret.name = intern_marked(names, ret.name, NAMES_STEP_MARK);
	else if (ret.place && ret.place->inlined)
		ret.list = NAMES_LIST | ret.place->inlined;
	ret.label = is_kernel ? add_mark(names, ret.name, "_[k]") : ret.list ?: ret.name;
	return ret;
}
