/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfdata-source/input.h"

const char *perfdata_outcome_text(enum perfdata_outcome outcome)
{
	switch (outcome) {
	case PERFDATA_E_CUT:
		return "it ends in the middle of a record";
	case PERFDATA_E_NOT_PERF:
		return "it is not a perf.data file";
	case PERFDATA_E_BYTE_ORDER:
		return "it was recorded on a machine with the other byte order";
	case PERFDATA_E_DAMAGED:
		return "it contradicts itself";
	case PERFDATA_E_UNSUPPORTED:
		return "it is compressed in a way that is not known here";
	default:
		return "it is good";
	}
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
	input->buffer = malloc(INPUT_BUFFER);
	return input->buffer ? 0 : -ENOMEM;
}

void input_close(struct input *input)
{
	if (input->fd > STDIN_FILENO)
		close(input->fd);
	free(input->buffer);
	*input = (struct input){ .fd = -1 };
}

/* Reads on until `size` bytes are there. */
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

int input_peek(struct input *input, size_t size, const void **ret)
{
	int r;

	if (input->left == 0)
		return PERFDATA_END;
	if (size > input->left)
		return PERFDATA_E_CUT;
	if (size > INPUT_BUFFER)
		return PERFDATA_E_DAMAGED;
	r = fill(input, size);
	*ret = input->buffer + input->start;
	return r;
}

int input_take(struct input *input, size_t size, const void **ret)
{
	int r = input_peek(input, size, ret);

	if (r)
		return r;
	input->start += size;
	if (input->left != UINT64_MAX)
		input->left -= size;
	return 0;
}

int input_seek(struct input *input, uint64_t offset, uint64_t size)
{
	if (offset > INT64_MAX || lseek(input->fd, offset, SEEK_SET) < 0)
		return offset > INT64_MAX ? -EINVAL : -errno;
	input->start = input->end = 0;
	input->left = size;
	return 0;
}

int input_read_at(const struct input *input, uint64_t offset, void *ret, size_t size)
{
	char *at = ret;

	while (size) {
		ssize_t n;

		if (offset > INT64_MAX)
			return PERFDATA_E_DAMAGED;
		n = pread(input->fd, at, size, offset);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return PERFDATA_E_CUT;
		if (n > 0) {
			at += n;
			offset += n;
			size -= n;
		}
	}
	return 0;
}
