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
	return !list->window || (list->window <= WALK_WINDOW_MAX && list->window % 8 == 0 &&
				 has_pointer(list->next, list->window) && list->limit &&
				 list->limit <= WALK_ELEMENTS_MAX);
}

static bool is_word_valid(const struct walk_word *word, uint16_t window)
{
	return !word->n_loads ||
	       (word->n_loads <= WALK_WORD_LOADS_MAX && has_pointer(word->pointer, window) &&
		word->index + sizeof(uint32_t) <= window);
}

static bool is_text_valid(const struct walk_object *object, size_t i)
{
	const struct walk_text *text = &object->texts[i];
	uint16_t size = text->is_of_last ? WALK_HEAD_MAX : object->size;

	return !text->size || (text->size <= WALK_TEXT_MAX && text->skip <= WALK_HEAD_MAX &&
			       text->length < WALK_HEAD_MAX / 8 && text->hash < WALK_HEAD_MAX / 8 &&
			       text->unit < WALK_HEAD_MAX / 8 && text->more <= WALK_MORE_MAX &&
			       has_pointer(text->pointer, size) && (i || !text->is_of_last));
}

bool walk_program_is_valid(const struct walk_program *program)
{
	const struct walk_object *object = &program->object;

	for (size_t i = 0; i < WALK_LISTS_MAX; i++)
		if (!is_list_valid(&program->lists[i]))
			return false;
	if (!program->lists[0].window || !is_word_valid(&program->word, program->lists[0].window))
		return false;
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
	       has_pointer(object->pointer, program->lists[0].window);
}
