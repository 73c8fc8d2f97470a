/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lists of a sample's walk (script-walk.h), and words of their windows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/script/script-walk.h"
#include "common/wire/wire.h"
#include "live-unwinder/walk/script-stack.h"

struct walk_list_view {
	const char *elements; /* NULL: there is no such list */
	size_t window, n;
	enum wire_walk_end end;
};

/* Reads the lists. SCRIPT_WHOLE: the first one has elements; else why there are none. */
enum script_outcome walk_view_read(const struct wire_sample *sample,
				   struct walk_list_view lists[WALK_LISTS_MAX]);

/* The same. SCRIPT_ABSENT: the first one does not go on to where it ends. */
enum script_outcome walk_view_read_whole(const struct wire_sample *sample,
					 struct walk_list_view lists[WALK_LISTS_MAX]);

/* The window of an element. */
const char *walk_view_element(const struct walk_list_view *list, size_t i,
			      struct walk_element *ret);

/* The same of a list whose windows are of return addresses. */
struct walk_return walk_view_return(const struct walk_list_view *list, size_t i,
				    struct walk_element *ret);

/* Whether the list's windows hold `size` bytes at an offset; negative: no such field. */
bool walk_view_has(const struct walk_list_view *list, int64_t at, size_t size);

uint64_t walk_view_word(const char *window, int64_t at);
