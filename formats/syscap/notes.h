/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What Sysprof's capture format has no frames for, as lines of embedded files that Sysprof ignores
 * and capture-source reads back (syscap-format.h): times and names of threads, cgroups of
 * processes, source lines of locations, ids of images, and contexts that programs publish. PIDs and
 * TIDs are those of the capture.
 */
#pragma once

#include "common/base/pair-map.h"
#include "formats/syscap/files.h"
#include "profile/stacks.h"

/* Lines of a file that are not written yet. */
struct syscap_note {
	const char *path;
	char *text; /* owned; NULL: there was none */
	size_t size;
};

struct syscap_notes {
	struct syscap_files *files; /* borrowed */
	struct syscap_note thread_times, thread_names, cgroups, source_lines, images, contexts;
	struct pair_map emitted_threads; /* (PID, TID) → the name written last */
	struct pair_map emitted_places;	 /* (image, offset) → 1; (image, UINT64_MAX): the image */
	struct pair_map emitted_images;	 /* (image, 0) → 1 */
	struct pair_map emitted_files;	 /* (name, 0) → 1 */
	struct pair_map emitted_contexts; /* (PID, TID) → the number written last */
};

void syscap_notes_init(struct syscap_notes *notes, struct syscap_files *files);
void syscap_notes_deinit(struct syscap_notes *notes);

/* Each adds a line. 0, -ENOMEM or -errno of the output. */
int syscap_note_thread_time(struct syscap_notes *notes, int32_t pid,
			    const struct wire_thread_time *record);
int syscap_note_cgroup(struct syscap_notes *notes, int32_t pid, const char *path, uint64_t time);

/* Likewise, if the name of a stack's thread has changed. The process's name is not written. */
int syscap_note_thread(struct syscap_notes *notes, struct names *names,
		       const struct named_stack *stack, struct syscap_time when, int32_t tid);

/* Likewise, if the location of a frame has lines, or its image ids, that were not written yet. */
int syscap_note_frame(struct syscap_notes *notes, const struct names *names,
		      const struct frame_name *frame, uint64_t time);

int syscap_note_resource(struct syscap_notes *notes, int32_t pid,
			 const struct wire_resource_attribute *record);
int syscap_note_context(struct syscap_notes *notes, int32_t pid, uint64_t time,
			const struct wire_trace_context *record);
int syscap_note_attribute(struct syscap_notes *notes, uint64_t time,
			  const struct wire_trace_attribute *record);

/* Likewise, if a sample's context is not that of its thread's sample before. */
int syscap_note_context_since(struct syscap_notes *notes, struct syscap_time when, int32_t tid,
			      uint64_t context);

/* Writes what is left. 0 or -errno of the output. */
int syscap_notes_end(struct syscap_notes *notes, uint64_t time);
