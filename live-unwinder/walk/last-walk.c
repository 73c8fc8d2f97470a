/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "live-unwinder/walk/last-walk.h"
#include "common/base/binary-search.h"

uint32_t last_walk_frame_of(const struct last_walk *last, uint32_t word)
{
	return BINARY_SEARCH(i, last->first, LAST_WALK_FRAMES_MAX,
			     last->places[i].words_at <= word) -
	       1;
}

/* The first frame that has room, and whose words have. */
static uint32_t find_first(const struct passed_walk *passed, uint32_t from, uint32_t words_from)
{
	uint32_t first = passed->n > from ? passed->n - from : 0;

	while (first < passed->n && passed->n_words - passed->places[first].words_at > words_from)
		first++;
	return first;
}

void last_walk_keep(struct last_walk *last, const struct passed_walk *passed,
		    const struct wire_frame *frames, uint32_t from)
{
	uint32_t words_from =
		from < LAST_WALK_FRAMES_MAX ? last->places[from].words_at : LAST_WALK_WORDS_MAX;
	uint32_t first = find_first(passed, from, words_from), n = passed->n - first, n_words;

	last->first = from - n;
	if (!n)
		return;
	n_words = passed->n_words - passed->places[first].words_at;
	memcpy(&last->frames[last->first], frames + first, n * sizeof(*frames));
	memcpy(&last->places[last->first], passed->places + first, n * sizeof(*passed->places));
	memcpy(&last->words[words_from - n_words], passed->words + passed->places[first].words_at,
	       n_words * sizeof(*passed->words));
	for (uint32_t i = last->first; i < from; i++)
		last->places[i].words_at += words_from - passed->n_words;
}
