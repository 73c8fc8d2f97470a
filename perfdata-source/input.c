/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file/owned-file.h"
#include "perfdata-source/input.h"

const char *perfdata_outcome_text(enum perfdata_outcome outcome)
{
	switch (outcome) {
	case PERFDATA_E_CUT:
		return "it ends in the middle of a record";
	case PERFDATA_E_NOT_PERF:
		return "it is not a perf.data file";
	case PERFDATA_E_COMPRESSED:
		return "it is compressed";
	case PERFDATA_E_BYTE_ORDER:
		return "it was recorded on a machine with a different byte order";
	case PERFDATA_E_DAMAGED:
		return "it is damaged: its contents are inconsistent";
	case PERFDATA_E_TOO_MANY_EVENTS:
		return "it has more than 1024 events";
	case PERFDATA_E_UNSUPPORTED:
		return "its compression method is not supported";
	default:
		return "it is valid";
	}
}

static int map_file(struct input *input, size_t size)
{
	off_t at = lseek(input->fd, 0, SEEK_CUR);
	void *map = owned_file_map_sequential(input->fd, size);

	if (map == MAP_FAILED)
		return -errno;
	input->map = map;
	input->map_size = size;
	input->map_at = at > 0 && (size_t)at < size ? at : 0;
	return 0;
}

int input_open(struct input *input, const char *path)
{
	struct stat status;

	*input = (struct input){ .fd = STDIN_FILENO, .left = UINT64_MAX };
	if (strcmp(path, "-")) {
		input->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (input->fd < 0)
			return -errno;
	}
	input->is_seekable = fstat(input->fd, &status) == 0 && S_ISREG(status.st_mode);
	if (input->is_seekable && status.st_size) {
		input->is_our_own = owned_file_is_ours(&status);
		return map_file(input, status.st_size);
	}
	input->buffer = malloc(INPUT_BUFFER);
	return input->buffer ? 0 : -ENOMEM;
}

void input_close(struct input *input)
{
	if (input->fd > STDIN_FILENO)
		close(input->fd);
	if (input->map)
		munmap((void *)input->map, input->map_size);
	free(input->buffer);
	*input = (struct input){ .fd = -1 };
}

/* Reads until `size` bytes are buffered. */
static int fill(struct input *input, size_t size)
{
	while (input->end - input->start < size) {
		size_t room;
		ssize_t n;

		if (input->start + size > INPUT_BUFFER) {
			memmove(input->buffer, input->buffer + input->start,
				input->end - input->start);
			input->end -= input->start;
			input->start = 0;
		}
		room = INPUT_BUFFER - input->end;
		n = read(input->fd, input->buffer + input->end, room);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n < 0)
			continue;
		if (n == 0)
			return input->end == input->start ? PERFDATA_END : PERFDATA_E_CUT;
		input->end += n;
	}
	return 0;
}

static int peek_map(const struct input *input, size_t size, const void **ret)
{
	size_t left = input->map_size - input->map_at;

	*ret = input->map + input->map_at;
	if (size <= left)
		return 0;
	/* A data section of known size is incomplete even if the file ends between two records. */
	return left || input->left != UINT64_MAX ? PERFDATA_E_CUT : PERFDATA_END;
}

int input_peek(struct input *input, size_t size, const void **ret)
{
	int r;

	if (input->left == 0)
		return PERFDATA_END;
	if (size > input->left)
		return PERFDATA_E_CUT;
	if (size > INPUT_BUFFER)
		return PERFDATA_E_DAMAGED;
	if (input->map)
		return peek_map(input, size, ret);
	r = fill(input, size);
	*ret = input->buffer + input->start;
	return r;
}

int input_take(struct input *input, size_t size, const void **ret)
{
	int r = input_peek(input, size, ret);

	if (r)
		return r;
	if (input->map)
		input->map_at += size;
	else
		input->start += size;
	if (input->left != UINT64_MAX)
		input->left -= size;
	return 0;
}

void input_look_ahead(const struct input *input, size_t distance)
{
	const size_t line = 64; /* a cache line of the CPU */

	if (!input->map || !input_has(input, input->map_at + distance, INPUT_AHEAD))
		return;
	for (size_t i = 0; i < INPUT_AHEAD; i += line)
		__builtin_prefetch(input->map + input->map_at + distance + i);
}

int input_seek(struct input *input, uint64_t offset, uint64_t size)
{
	if (offset > input->map_size)
		return PERFDATA_E_CUT;
	input->map_at = offset;
	input->left = size;
	return 0;
}

bool input_has(const struct input *input, uint64_t offset, uint64_t size)
{
	return offset <= input->map_size && size <= input->map_size - offset;
}

int input_read_at(const struct input *input, uint64_t offset, void *ret, size_t size)
{
	if (!input_has(input, offset, size))
		return PERFDATA_E_CUT;
	memcpy(ret, input->map + offset, size);
	return 0;
}
