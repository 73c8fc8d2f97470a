/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file/owned-file.h"
#include "common/image-server/image-client.h"
#include "live-unwinder/stack-file.h"

enum { CACHE_LINE = 64 };

void stack_file_init(struct stack_file *recording, struct stage *stage,
		     const struct image_table *images)
{
	*recording = (struct stack_file){ .stage = stage, .images = images, .fd = -1 };
}

void stack_file_deinit(struct stack_file *recording)
{
	if (recording->map)
		munmap((void *)recording->map, recording->size);
	if (recording->fd >= 0)
		close(recording->fd);
	recording->map = NULL;
	recording->fd = -1;
}

/* Refuses a file that others can modify while it is mapped. 0 or -errno. */
static int check(int fd, struct stat *ret_status)
{
	if (fstat(fd, ret_status) < 0)
		return -errno;
	return owned_file_is_ours(ret_status) ? 0 : -EPERM;
}

static int map_file(struct stack_file *recording, size_t size)
{
	static const char magic[] = "PERFILE2"; /* no other file can hold stacks */
	void *map;

	if (size < sizeof(magic))
		return -ESTALE;
	map = owned_file_map_sequential(recording->fd, size);
	if (map == MAP_FAILED)
		return -errno;
	recording->map = map;
	recording->size = size;
	return memcmp(map, magic, sizeof(magic) - 1) ? -ESTALE : 0;
}

static int open_file(struct stack_file *recording, const struct image *image)
{
	const struct wire_image record = image_record(image);
	struct stat status;
	int r = image_open_recorded(&record, &image->state, &recording->fd);

	if (r == 0)
		r = check(recording->fd, &status);
	if (r == 0)
		r = map_file(recording, status.st_size);
	if (r < 0)
		stack_file_deinit(recording);
	else
		recording->state = (struct file_state){
			.size = image->state.size,
			.modified = image->state.modified,
		};
	return r;
}

static const char *describe(int error)
{
	switch (error) {
	case -ESTALE:
		return "it is no longer the file that was replayed";
	case -EPERM:
		return "it belongs to another user, or others can write to it";
	default:
		return strerror(-error);
	}
}

/* Opens the file once; a failure is final. */
static void discover(struct stack_file *recording, uint64_t number)
{
	const struct image *image = image_table_find(recording->images, number);
	int r;

	if (!image || image->kind != WIRE_image_kind_RECORDING)
		return;
	recording->image = number;
	r = open_file(recording, image);
	if (r < 0)
		stage_error(recording->stage,
			    "could not read the stacks in '%.700s': %s; use perfdata-source "
			    "--copy-stacks to send them in the stream",
			    image->path, describe(r));
}

/*
 * Prefetches the next stack, which is not cached yet. It mostly lies as far behind this one as this
 * one behind the previous: perf's samples have the requested size.
 */
static void look_ahead(struct stack_file *recording, size_t offset)
{
	size_t next = offset + (offset - recording->last);

	recording->last = offset;
	if (next > recording->size || recording->size - next < STACK_FILE_AHEAD)
		return;
	for (size_t i = 0; i < STACK_FILE_AHEAD; i += CACHE_LINE)
		__builtin_prefetch(recording->map + next + i);
}

bool stack_file_fetch(struct stack_file *recording, struct wire_sample *sample)
{
	uint64_t offset = sample->stack_offset, size = sample->stack_size;

	if (!recording->image)
		discover(recording, sample->stack_image);
	if (recording->image != sample->stack_image || !recording->map ||
	    size > STACK_FILE_STACK_MAX || size > recording->size ||
	    offset > recording->size - size || offset % sizeof(uint64_t))
		return false;
	look_ahead(recording, offset);
	sample->stack = (struct wire_blob){ recording->map + offset, size };
	sample->stack_image = sample->stack_offset = sample->stack_size = 0;
	return true;
}

bool stack_file_was_good(const struct stack_file *recording)
{
	struct file_state now;
	struct stat status;

	if (!recording->map)
		return !recording->image;
	if (fstat(recording->fd, &status) == 0) {
		now = file_state_of(&status);
		if (!file_state_may_differ(&recording->state, &now))
			return true;
	}
	stage_error(recording->stage,
		    "the file with the stacks was modified while it was read: some stacks may be "
		    "wrong");
	return false;
}
