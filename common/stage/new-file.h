/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file that takes the place of another one only when it is whole: nothing that was recorded is
 * ever lost to a recording that failed.
 *
 * Where nothing is of its name it has it at once. Else it lies beside it, as NAME.PID.part, until
 * it is whole; if it never is, and holds something, it becomes NAME.part. What holds nothing goes,
 * unless it is whole and there was nothing before.
 *
 * A child sees to that: who writes may be killed, or have no right any more to touch a name.
 */
#pragma once

#include "common/file/output-file.h"

struct new_file {
	int fd;		  /* to be written */
	int keeper_fd;	  /* to the child; -1: there is none, as no name has to be kept */
	bool is_reported; /* the child knows that it holds something */
};

/*
 * As output_file_open(), and OUTPUT_FILE_KEEP_OLD: what was there becomes NAME.old. 0 or -errno.
 * `program` is whom the child speaks for.
 */
int new_file_open(struct new_file *file, const char *path, enum output_file_mode mode,
		  const char *program);

/* It holds something that somebody may want, if it ends here; closed without, it goes. */
void new_file_note_content(struct new_file *file);

/* Named outcome: nothing was recorded, so that what was there is as it was; that was said. */
enum { NEW_FILE_LEFT_OLD = 1 };

/*
 * All of it is in the file: gives it its name. 0, NEW_FILE_LEFT_OLD or -errno; without this it is
 * cut.
 */
int new_file_finish(struct new_file *file);

/* The descriptor as well. */
void new_file_close(struct new_file *file);
