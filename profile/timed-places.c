/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "common/growing-list.h"
#include "profile/timed-places.h"

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

	if (known)
		return &places->list[*known];
	if (GROWING_LIST_MAKE_ROOM(places->list, places->n) < 0)
		return NULL;
	if (places->n == TIMED_PLACES_MAX ||
	    pair_map_add(&places->by_place, image, offset, places->n) < 0)
		return NULL;
	places->list[places->n] = (struct timed_place){ 0 };
	return &places->list[places->n++];
}
