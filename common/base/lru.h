/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A list in order of last use, from which the least recently used item is evicted. */
#pragma once

#include <stddef.h>

/* Embedded in the item `owner`; zero while it is in no list. */
struct lru_link {
	struct lru_link *newer, *older;
	void *owner;
};

struct lru {
	struct lru_link *newest, *oldest;
	size_t n;
};

/* The least recently used item; NULL: the list is empty. */
static inline void *lru_oldest(const struct lru *lru)
{
	return lru->oldest ? lru->oldest->owner : NULL;
}

static inline void lru_add(struct lru *lru, struct lru_link *link, void *owner)
{
	*link = (struct lru_link){ NULL, lru->newest, owner };
	*(lru->newest ? &lru->newest->newer : &lru->oldest) = link;
	lru->newest = link;
	lru->n++;
}

/* Does nothing if the item is in no list. */
static inline void lru_remove(struct lru *lru, struct lru_link *link)
{
	if (!link->owner)
		return;
	*(link->newer ? &link->newer->older : &lru->newest) = link->older;
	*(link->older ? &link->older->newer : &lru->oldest) = link->newer;
	*link = (struct lru_link){ NULL };
	lru->n--;
}

/* Makes an item the newest; does nothing if it is in no list. */
static inline void lru_use(struct lru *lru, struct lru_link *link)
{
	void *owner = link->owner;

	if (!owner || lru->newest == link)
		return;
	lru_remove(lru, link);
	lru_add(lru, link, owner);
}
