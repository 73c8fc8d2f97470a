/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "profile/names/timed-places.h"

void timed_places_init(struct timed_places *places)
{
	pair_map_init(&places->by_place, TIMED_PLACES_MAX);
}

void timed_places_deinit(struct timed_places *places)
{
	pair_map_deinit(&places->by_place);
	free(places->list);
	*places = (struct timed_places){ 0 };
}

struct timed_place *timed_places_get(struct timed_places *places, uint64_t image, uint64_t offset)
{
	uint64_t *known = pair_map_find(&places->by_place, image, offset);
	uint32_t index = places->free ? places->free - 1 : places->n;

	if (known)
		return &places->list[*known];
	if (!places->free &&
	    (places->n == TIMED_PLACES_MAX || GROWING_LIST_MAKE_ROOM(places->list, places->n) < 0))
		return NULL;
	if (pair_map_add(&places->by_place, image, offset, index) < 0)
		return NULL;
	if (places->free)
		places->free = places->list[index].next_free;
	else
		places->n++;
	places->list[index] = (struct timed_place){ 0 };
	return &places->list[index];
}

static void mark_used(uint64_t image, uint64_t offset, uint64_t index, void *arg)
{
	((bool *)arg)[index] = true;
}

/* Frees all entries that no pair refers to. Without memory it frees none. */
static void find_free(struct timed_places *places)
{
	_cleanup_free_ bool *is_used = calloc(places->n + 1, sizeof(*is_used));

	if (!is_used)
		return;
	pair_map_each(&places->by_place, mark_used, is_used);
	places->free = 0;
	for (size_t i = 0; i < places->n; i++)
		if (!is_used[i]) {
			places->list[i] = (struct timed_place){ .next_free = places->free };
			places->free = i + 1;
		}
}

void timed_places_forget_ended(struct timed_places *places,
			       bool (*is_living)(uint64_t image, uint64_t offset, uint64_t index,
						 void *arg),
			       void *arg)
{
	if (pair_map_prune(&places->by_place, is_living, arg))
		find_free(places);
}
