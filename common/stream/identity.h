/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A stage's record of processes, mappings and images: two tables, and the handlers that fill them
 * from the stream. A stage that uses these handlers has a struct identity in its state.
 */
#pragma once

#include "common/stage/stage.h"
#include "common/stream/image-table.h"
#include "common/stream/process-table.h"

struct identity {
	struct process_table processes;
	struct image_table images;
	uint64_t images_ended_at; /* time of the last image_exit */
};

void identity_deinit(struct identity *identity);

/* Adds the number of refused records to the stage's counters. */
void identity_count_refused(const struct identity *identity, struct stage *stage);

/* Handlers as in stage.h; all of them pass the record on. */
int identity_handle_process(struct stage *stage, void *self, const void *view);
int identity_handle_process_exit(struct stage *stage, void *self, const void *view);
int identity_handle_thread(struct stage *stage, void *self, const void *view);
int identity_handle_mapping(struct stage *stage, void *self, const void *view);
int identity_handle_image(struct stage *stage, void *self, const void *view);
int identity_handle_image_state(struct stage *stage, void *self, const void *view);
int identity_handle_image_data(struct stage *stage, void *self, const void *view);
int identity_handle_image_id(struct stage *stage, void *self, const void *view);
int identity_handle_image_exit(struct stage *stage, void *self, const void *view);

/* `part`: offset of the struct identity in the stage's state. */
#define IDENTITY_HANDLERS(part)                                                                    \
	{ WIRE_RECORD_process, identity_handle_process, part },                                    \
		{ WIRE_RECORD_process_exit, identity_handle_process_exit, part },                  \
		{ WIRE_RECORD_thread, identity_handle_thread, part },                              \
		{ WIRE_RECORD_mapping, identity_handle_mapping, part },                            \
		{ WIRE_RECORD_image, identity_handle_image, part },                                \
		{ WIRE_RECORD_image_state, identity_handle_image_state, part },                    \
		{ WIRE_RECORD_image_data, identity_handle_image_data, part },                      \
		{ WIRE_RECORD_image_id, identity_handle_image_id, part },                          \
	{                                                                                          \
		WIRE_RECORD_image_exit, identity_handle_image_exit, part                           \
	}
