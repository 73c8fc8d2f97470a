/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An output file that replaces an existing file only when complete, so that a failed recording
 * never destroys an earlier one.
 *
 * If NAME does not exist, the file has that name at once. Else it is NAME.PID.part until it is
 * complete; if it never is, but has content, it becomes NAME.part. A file without content is
 * removed, unless it is complete and NAME did not exist. A child does this, as the writer may be
 * killed or lack the rights.
 */
#pragma once

#include "common/file/output-file.h"

struct new_file {
	int fd;		  /* to be written */
	int keeper_fd;	  /* to the child; -1: none, as `path` is special */
	bool is_reported; /* the child was notified of content, or the end */
};

/*
 * As output_file_open(); OUTPUT_FILE_KEEP_OLD renames an existing file to NAME.old. `program` is
 * the prefix of the child's messages. 0 or -errno.
 */
int new_file_open(struct new_file *file, const char *path, enum output_file_mode mode,
		  const char *program);

/* Notes that the file has content worth keeping; a file closed without this is removed. */
void new_file_note_content(struct new_file *file);

/* Named outcome: nothing was recorded, so the existing file was left; this was reported. */
enum { NEW_FILE_LEFT_OLD = 1 };

/* Gives a complete file its name; closed without, it is cut. 0, NEW_FILE_LEFT_OLD or -errno. */
int new_file_finish(struct new_file *file);

/* Closes `fd`, too. */
void new_file_close(struct new_file *file);
