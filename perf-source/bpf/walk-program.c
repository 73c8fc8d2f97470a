/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stddef.h>

#include "perf-source/bpf/walk-program.h"

static bool has_pointer(uint16_t at, uint16_t size)
{
	return at + sizeof(uint64_t) <= size;
}

static bool is_root_valid(const struct walk_root *root)
{
	return root->base < WALK_BASES_MAX && root->n_loads <= WALK_LOADS_MAX;
}

static bool is_list_valid(const struct walk_list *list)
{
	for (size_t i = 0; i < WALK_ROOTS_MAX; i++)
		if (!is_root_valid(&list->roots[i]))
			return false;
	if (!is_root_valid(&list->instruction) || !is_root_valid(&list->owner))
		return false;
	if (list->kept >= WALK_LISTS_MAX ||
	    (list->aside_within && !has_pointer(list->aside, list->window)))
		return false;
	if (list->array_last && (!list->stride || !has_pointer(list->array, list->window) ||
				 !has_pointer(list->next, list->window) ||
				 list->array_last + sizeof(uint32_t) > list->window))
		return false;
	if (list->marks[0] && (!has_pointer(list->mark, list->window) ||
			       !has_pointer(list->marked_next, list->window)))
		return false;
	return !list->window || (list->window <= WALK_WINDOW_MAX && list->window % 8 == 0 &&
				 (list->stride || has_pointer(list->next, list->window)) &&
				 list->limit && list->limit <= WALK_ELEMENTS_MAX);
}

static bool is_word_valid(const struct walk_word *word, uint16_t window)
{
	return !word->n_loads ||
	       (word->n_loads <= WALK_WORD_LOADS_MAX && has_pointer(word->pointer, window) &&
		word->index + sizeof(uint32_t) <= window);
}

/* What texts hold of theirs may be anywhere in the process. */
static bool is_text_valid(const struct walk_object *object, size_t i)
{
	const struct walk_text *text = &object->texts[i];

	return !text->size ||
	       (text->size <= WALK_TEXT_MAX && text->skip <= WALK_HEAD_MAX &&
		text->length < WALK_FIELDS_MAX && text->hash < WALK_FIELDS_MAX &&
		text->unit < WALK_FIELDS_MAX && text->count < WALK_FIELDS_MAX &&
		text->more <= WALK_MORE_MAX && (text->of <= i || text->of == WALK_OF_FOUND) &&
		text->outside_at < WALK_FIELDS_MAX && text->inside_length < WALK_FIELDS_MAX &&
		text->index_of <= i && text->length_at < WALK_HEAD_MAX &&
		(text->of || !text->is_here) &&
		(!text->sized_by || text->sized_by + sizeof(uint32_t) <= object->size) &&
		(text->of || has_pointer(text->pointer, object->size)));
}

/*
 * Whether an object and all that it leads to can be read, if there is one. Which elements have one
 * is within `kinds` bytes: a window, with the word behind.
 */
static bool is_object_valid(const struct walk_object *object, uint16_t window, uint16_t kinds)
{
	if (!object->size)
		return true;
	for (size_t i = 0; i < WALK_TEXTS_MAX; i++)
		if (!is_text_valid(object, i))
			return false;
	if (object->type && !has_pointer(object->type_at, object->size))
		return false;
	if (object->part_size &&
	    (object->part_size > WALK_HEAD_MAX || object->part + object->part_size > object->size ||
	     object->unique + sizeof(uint32_t) > object->part_size))
		return false;
	return object->size <= WALK_OBJECT_MAX && object->size % 8 == 0 &&
	       object->source.of <= WALK_TEXTS_MAX && has_pointer(object->pointer, kinds) &&
	       (!object->kind_mask || has_pointer(object->kind_at, kinds));
}

/* Whether what is read of the object of code is in it. */
static bool is_described(const struct walk_code *code)
{
	uint16_t size = code->object.size;

	return has_pointer(code->start, size) && code->size + sizeof(uint32_t) <= size &&
	       code->kind < size;
}

static bool is_code_valid(const struct walk_code *code, uint16_t window)
{
	return !code->steps ||
	       (code->steps <= WALK_STEPS_MAX && code->step && is_described(code) &&
		has_pointer(code->instruction, window) &&
		is_object_valid(&code->object, window, window) &&
		code->members_of <= WALK_TEXTS_MAX && code->count_of <= WALK_TEXTS_MAX);
}

static bool is_heap_valid(const struct walk_heap *heap)
{
	return heap->from <= heap->to && heap->shift < 64;
}

static bool is_site_valid(const struct walk_site *site)
{
	return !site->offset_size || site->offset_size == sizeof(uint16_t) ||
	       site->offset_size == sizeof(uint32_t);
}

static bool are_ranges_valid(const struct walk_frames *frames)
{
	for (size_t i = 0; i < WALK_RANGES; i++)
		if (!is_site_valid(&frames->ranges[i][0]) || !is_site_valid(&frames->ranges[i][1]))
			return false;
	return is_site_valid(&frames->callees[0]) && is_site_valid(&frames->callees[1]) &&
	       is_site_valid(&frames->begin) && is_site_valid(&frames->begin_known) &&
	       is_site_valid(&frames->rare);
}

/* Frames of made code, if there are some: their windows have a form of their own. */
static bool are_frames_valid(const struct walk_program *program)
{
	const struct walk_frames *frames = &program->frames;

	if (!frames->heaps[0].to)
		return true;
	for (size_t i = 0; i < WALK_HEAPS_MAX; i++)
		if (!is_heap_valid(&frames->heaps[i]))
			return false;
	for (size_t i = 0; i < WALK_PATTERNS_MAX; i++)
		if (frames->patterns[i].where > WALK_WHERE_BEHIND_SAVED)
			return false;
	return program->lists[0].window == sizeof(struct walk_call) && are_ranges_valid(frames) &&
	       frames->made_size <= sizeof(uint32_t) && program->code.object.size &&
	       is_object_valid(&program->code.object, sizeof(struct walk_call),
			       sizeof(struct walk_call));
}

static bool is_line_word(uint16_t at)
{
	return at % 8 == 0 && at <= 3 * 8;
}

/* A stack of made code, if there is one: its windows have a form of their own. */
static bool is_own_stack_valid(const struct walk_program *program)
{
	const struct walk_own_stack *own = &program->own;

	return !own->high ||
	       (program->lists[0].window == sizeof(struct walk_return) &&
		is_root_valid(&own->other) && own->version_size && is_line_word(own->line_files) &&
		is_line_word(own->line_size) && is_line_word(own->line_words) &&
		is_line_word(own->line_places) && !program->beside.size && !program->code.steps &&
		!program->frames.heaps[0].to && !program->word.n_loads);
}

/* Managed code, if there is some: its windows have a form of their own, too. */
static bool is_managed_valid(const struct walk_program *program)
{
	const struct walk_managed *managed = &program->managed;

	return !managed->map ||
	       (program->lists[0].window == sizeof(struct walk_return) &&
		managed->from <= managed->to && managed->not_from <= managed->not_to &&
		!program->beside.size && !program->code.steps && !program->frames.heaps[0].to &&
		!program->own.high && !program->word.n_loads);
}

/* Elements of all lists have one. */
static bool is_beside_valid(const struct walk_program *program)
{
	for (size_t i = 0; i < WALK_LISTS_MAX; i++) {
		uint16_t window = program->lists[i].window;

		if (window && !is_object_valid(&program->beside, window, window))
			return false;
	}
	return !program->beside.size || (!program->code.steps && !program->frames.heaps[0].to);
}

bool walk_program_is_valid(const struct walk_program *program)
{
	uint16_t window = program->lists[0].window,
		 with_word = window + (program->word.n_loads ? WALK_WORD_SIZE : 0);

	for (size_t i = 0; i < WALK_LISTS_MAX; i++)
		if (!is_list_valid(&program->lists[i]))
			return false;
	return window && is_word_valid(&program->word, window) &&
	       is_object_valid(&program->object, window, with_word) && is_beside_valid(program) &&
	       program->kept.words <= WALK_KEPT_WORDS_MAX &&
	       is_code_valid(&program->code, window) && are_frames_valid(program) &&
	       is_own_stack_valid(program) && is_managed_valid(program);
}
