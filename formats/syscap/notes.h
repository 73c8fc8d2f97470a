/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a Sysprof capture has no frames for, as lines of files that Sysprof ignores and
 * capture-source reads back (syscap-format.h): where the time of threads has gone, what they are
 * called, in which control groups processes run, and where in the source code places are. PIDs and
 * TIDs are those of the capture.
 */
#pragma once

#include "formats/syscap/files.h"
#include "common/base/pair-map.h"
#include "profile/stacks.h"

/* Lines of a file that have not been written yet. */
struct syscap_note {
	const char *path;
	char *text; /* owned; NULL: there was none */
	size_t size;
};

struct syscap_notes {
	struct syscap_files *files; /* borrowed */
	struct syscap_note thread_times, thread_names, cgroups, source_lines;
	struct pair_map emitted_threads; /* (PID, TID) → the name that was told */
	struct pair_map emitted_places;	 /* (image, offset) → 1; (image, UINT64_MAX): the image */
	struct pair_map emitted_files;	 /* (name, 0) → 1 */
};

void syscap_notes_init(struct syscap_notes *notes, struct syscap_files *files);
void syscap_notes_deinit(struct syscap_notes *notes);

/* Each adds a line: 0, -ENOMEM or -errno of the output. */
int syscap_note_thread_time(struct syscap_notes *notes, int32_t pid,
			    const struct wire_thread_time *record);
int syscap_note_cgroup(struct syscap_notes *notes, int32_t pid, const char *path, uint64_t time);

/* The same if the thread of a stack has got another name since; its process's needs no telling. */
int syscap_note_thread(struct syscap_notes *notes, struct names *names,
		       const struct named_stack *stack, struct syscap_time when, int32_t tid);

/* The same if the place of a frame has lines, and none were told of it. */
int syscap_note_lines(struct syscap_notes *notes, const struct names *names,
		      const struct frame_name *frame, uint64_t time);

/* What was not written yet. 0 or -errno of the output. */
int syscap_notes_end(struct syscap_notes *notes, uint64_t time);
