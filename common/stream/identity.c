/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <malloc.h>
#include <stdio.h>

#include "common/stream/identity.h"

void identity_deinit(struct identity *identity)
{
	process_table_deinit(&identity->processes);
	image_table_deinit(&identity->images);
}

void identity_count_refused(const struct identity *identity, struct stage *stage)
{
	uint64_t n = identity->processes.n_refused + identity->images.n_refused;

	if (n)
		*counters_get(&stage->counters, "refused", "identity") = n;
	if (identity->images.n_same_short_id)
		*counters_get(&stage->counters, "refused", "short-file-ids") =
			identity->images.n_same_short_id;
}

static int pass_unless_error(int r)
{
	return r < 0 ? r : STAGE_PASS;
}

int identity_handle_process(struct stage *stage, void *self, const void *view)
{
	struct identity *identity = self;

	return pass_unless_error(process_table_add(&identity->processes, view));
}

int identity_handle_process_exit(struct stage *stage, void *self, const void *view)
{
	struct identity *identity = self;

	process_table_exit(&identity->processes, view);
	return STAGE_PASS;
}

int identity_handle_thread(struct stage *stage, void *self, const void *view)
{
	struct identity *identity = self;

	process_table_rename(&identity->processes, view);
	return STAGE_PASS;
}

static void note_first_mapping(struct identity *identity, const struct wire_mapping *record)
{
	struct image *image = image_table_find(&identity->images, record->image);

	if (image && !image->mapped_at)
		image->mapped_at = record->time;
}

int identity_handle_mapping(struct stage *stage, void *self, const void *view)
{
	struct identity *identity = self;

	note_first_mapping(identity, view);
	return pass_unless_error(process_table_map(&identity->processes, view));
}

int identity_handle_image(struct stage *stage, void *self, const void *view)
{
	struct identity *identity = self;

	return pass_unless_error(image_table_add(&identity->images, view));
}

int identity_handle_image_state(struct stage *stage, void *self, const void *view)
{
	struct identity *identity = self;

	image_table_set_state(&identity->images, view);
	return STAGE_PASS;
}

int identity_handle_image_data(struct stage *stage, void *self, const void *view)
{
	struct identity *identity = self;

	return pass_unless_error(image_table_set_data(&identity->images, view));
}

int identity_handle_image_id(struct stage *stage, void *self, const void *view)
{
	struct identity *identity = self;

	image_table_set_id(&identity->images, view);
	return STAGE_PASS;
}

/*
 * Many images end at once. Memory freed by the previous batch left holes in the heap, which glibc
 * returns to the kernel only by malloc_trim(3).
 */
static void give_memory_back(struct identity *identity, const struct wire_image_exit *record)
{
	if (record->time != identity->images_ended_at)
		malloc_trim(0);
	identity->images_ended_at = record->time;
}

int identity_handle_image_exit(struct stage *stage, void *self, const void *view)
{
	struct identity *identity = self;

	give_memory_back(identity, view);
	image_table_exit(&identity->images, view);
	return STAGE_PASS;
}
