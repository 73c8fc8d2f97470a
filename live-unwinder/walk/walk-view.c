/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "live-unwinder/walk/walk-view.h"

/* False: damaged, or without a first list. */
static bool read_lists(const struct wire_blob *blob, struct walk_list_view lists[WALK_LISTS_MAX])
{
	const char *at = blob->data, *end = at + blob->size;
	struct walk_list_head head;

	while (at < end) {
		size_t size;

		if ((size_t)(end - at) < sizeof(head))
			return false;
		memcpy(&head, at, sizeof(head));
		at += sizeof(head);
		size = (sizeof(struct walk_element) + head.window) * head.n;
		if ((size_t)(end - at) < size || head.list >= WALK_LISTS_MAX || !head.window)
			return false;
		lists[head.list] = (struct walk_list_view){ at, head.window, head.n, head.end };
		at += size;
	}
	return lists[0].elements;
}

enum script_outcome walk_view_read(const struct wire_sample *sample,
				   struct walk_list_view lists[WALK_LISTS_MAX])
{
	if (sample->walk_end == WIRE_walk_end_BUDGET)
		return SCRIPT_BUDGET;
	if (!read_lists(&sample->walk, lists))
		return SCRIPT_DAMAGED;
	return lists[0].end == WIRE_walk_end_NO_ROOT || !lists[0].n ? SCRIPT_NO_FRAMES
								    : SCRIPT_WHOLE;
}

enum script_outcome walk_view_read_whole(const struct wire_sample *sample,
					 struct walk_list_view lists[WALK_LISTS_MAX])
{
	enum script_outcome outcome = walk_view_read(sample, lists);

	return outcome == SCRIPT_WHOLE && lists[0].end == WIRE_walk_end_ABSENT ? SCRIPT_ABSENT
									       : outcome;
}

const char *walk_view_element(const struct walk_list_view *list, size_t i, struct walk_element *ret)
{
	const char *at = list->elements + i * (sizeof(*ret) + list->window);

	memcpy(ret, at, sizeof(*ret));
	return at + sizeof(*ret);
}

struct walk_return walk_view_return(const struct walk_list_view *list, size_t i,
				    struct walk_element *ret)
{
	struct walk_return window;

	memcpy(&window, walk_view_element(list, i, ret), sizeof(window));
	return window;
}

bool walk_view_has(const struct walk_list_view *list, int64_t at, size_t size)
{
	return at >= 0 && (size_t)at + size <= list->window;
}

uint64_t walk_view_word(const char *window, int64_t at)
{
	uint64_t word;

	memcpy(&word, window + at, sizeof(word));
	return word;
}
