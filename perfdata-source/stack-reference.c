/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/stage/sandbox.h"
#include "perfdata-source/stack-reference.h"

static bool is_pipe(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

/* By mode bits alone, as readers of the stream have no capabilities (sudo's files are in homes). */
static bool may_search(const char *directory)
{
	struct stat status;

	if (stat(directory, &status) < 0)
		return false;
	if (status.st_uid == getauxval(AT_EUID))
		return status.st_mode & S_IXUSR;
	return status.st_mode & S_IXGRP && status.st_mode & S_IXOTH; /* whichever its groups are */
}

/* Whether all directories of an absolute path may be searched. Leaves `path` as it was. */
static bool may_reach(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		bool may;

		*slash = '\0';
		may = may_search(path);
		*slash = '/';
		if (!may)
			return false;
	}
	return true;
}

/* Whether an absolute path leads readers of the stream to the very same file. */
static bool leads_to(char *path, const struct stat *file)
{
	struct stat status;

	return stat(path, &status) == 0 && status.st_dev == file->st_dev &&
	       status.st_ino == file->st_ino && sandbox_programs_have(path) && may_reach(path);
}

int stack_reference_prepare(struct stack_reference *reference, const struct input *input,
			    const char *path)
{
	_cleanup_free_ char *absolute = NULL;
	struct stat status;

	if (!is_pipe(STDOUT_FILENO) || !input->map || !input->is_our_own ||
	    fstat(input->fd, &status) < 0 || !(status.st_mode & S_IRUSR))
		return 0;
	absolute = realpath(path, NULL);
	if (!absolute)
		return errno == ENOMEM ? -ENOMEM : 0;
	if (leads_to(absolute, &status))
		reference->path = take_pointer(absolute);
	return 0;
}

void stack_reference_deinit(struct stack_reference *reference)
{
	free(reference->path);
	*reference = (struct stack_reference){ 0 };
}

int stack_reference_begin(struct stack_reference *reference, const struct input *input,
			  struct images *images)
{
	struct stat status;

	if (!reference->path || fstat(input->fd, &status) < 0)
		return 0;
	reference->map = input->map;
	return images_add_recording(images, reference->path, &status, &reference->image);
}

bool stack_reference_fill(const struct stack_reference *reference,
			  const struct parsed_sample *sample, struct wire_sample *ret)
{
	uint64_t offset;

	if (!reference->image || sample->stack_size < STACK_REFERENCE_MIN)
		return false;
	offset = (const char *)sample->stack - reference->map;
	if (offset % sizeof(offset))
		return false;
	ret->stack_image = reference->image;
	ret->stack_offset = offset;
	ret->stack_size = sample->stack_size;
	return true;
}
