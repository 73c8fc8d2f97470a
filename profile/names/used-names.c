/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/base/growing-list.h"
#include "profile/names/used-names.h"

int used_names_init(struct used_names *used, struct names *names)
{
	*used = (struct used_names){ .names = names };
	return GROWING_LIST_ADD(used->list, used->n, 0);
}

void used_names_deinit(struct used_names *used)
{
	free(used->index_of);
	free(used->list);
	*used = (struct used_names){ 0 };
}

/* Names may be added while the file is being written. */
static int make_room_for(struct used_names *used, uint32_t name)
{
	if (name < used->n_names)
		return 0;
	return GROWING_LIST_EXTEND(used->index_of, used->n_names,
				   name < 1024 ? 1024 : 2 * (size_t)name);
}

uint32_t used_names_index(struct used_names *used, uint32_t name)
{
	if (make_room_for(used, name) < 0) {
		used->has_failed = true;
		return 0;
	}
	if (used->index_of[name] || !name)
		return used->index_of[name];
	if (GROWING_LIST_MAKE_ROOM(used->list, used->n) < 0) {
		used->has_failed = true;
		return 0;
	}
	used->list[used->n] = name;
	return used->index_of[name] = used->n++;
}

uint32_t used_names_index_of_text(struct used_names *used, const char *text)
{
	return *text ? used_names_index(used, names_intern(used->names, text, strlen(text))) : 0;
}
