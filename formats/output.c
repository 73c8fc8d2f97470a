/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/zero-pages.h"
#include "formats/output.h"

int output_open(struct output *output, const char *path, enum output_file_mode mode)
{
	struct stat status;
	off_t position;
	int flags, r;

	*output = (struct output){ .fd = STDOUT_FILENO, .file = { -1, -1 } };
	output->buffer = zero_pages_get(OUTPUT_BUFFER);
	output->units = calloc(OUTPUT_UNITS_MAX, sizeof(*output->units));
	if (!output->buffer || !output->units)
		return -ENOMEM;
	if (strcmp(path, "-")) {
		r = new_file_open(&output->file, path, mode, "capture-sink");
		output->fd = output->file.fd;
		if (r < 0)
			return r;
	}
	flags = fcntl(output->fd, F_GETFL);
	if (flags < 0 || fstat(output->fd, &status) < 0)
		return -errno;
	/* With O_APPEND even pwrite(2) appends (its BUGS section). */
	position =
		S_ISREG(status.st_mode) && !(flags & O_APPEND) ? lseek(output->fd, 0, SEEK_CUR) : 1;
	if (position < 0) /* otherwise a capture without an end would pass for complete */
		return -errno;
	output->is_seekable = position == 0;
	return 0;
}

/* The number of bytes of whole units among the first `n` written. */
static size_t whole_units(const struct output *output, size_t n)
{
	size_t whole = 0;

	for (size_t i = 0; i < output->n_units && output->units[i] <= n; i++)
		whole = output->units[i];
	return whole;
}

int output_flush(struct output *output)
{
	size_t done = 0;
	int error = 0;

	while (done < output->used && !error) {
		ssize_t n = write(output->fd, output->buffer + done, output->used - done);

		if (n >= 0)
			done += n;
		else if (errno == EAGAIN) /* O_NONBLOCK, set by another user of the file */
			poll(&(struct pollfd){ output->fd, POLLOUT, 0 }, 1, -1);
		else if (errno != EINTR)
			error = -errno;
	}
	if (error) {
		done = whole_units(output, done);
		if (output->is_seekable && ftruncate(output->fd, output->n_written + done) == 0)
			lseek(output->fd, output->n_written + done, SEEK_SET);
	}
	output->n_written += done;
	output->used = 0;
	output->n_units = 0;
	return error;
}

void *output_reserve(struct output *output, size_t size, int *ret_error)
{
	*ret_error = 0;
	if (size > OUTPUT_BUFFER)
		*ret_error = -EMSGSIZE;
	else if (output->used + size > OUTPUT_BUFFER || output->n_units == OUTPUT_UNITS_MAX)
		*ret_error = output_flush(output);
	return *ret_error ? NULL : output->buffer + output->used;
}

void output_commit(struct output *output, size_t size)
{
	output->used += size;
	output->units[output->n_units++] = output->used;
}

int output_add(struct output *output, const void *data, size_t size)
{
	int error;
	void *at = output_reserve(output, size, &error);

	if (!at)
		return error;
	memcpy(at, data, size);
	output_commit(output, size);
	return 0;
}

int output_patch(struct output *output, uint64_t offset, const void *data, size_t size)
{
	ssize_t n;

	if (!output->is_seekable)
		return 0;
	do {
		n = pwrite(output->fd, data, size, offset);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -ENOSPC;
}

static int flush_rest(struct output *output)
{
	int r = output->buffer && output->used ? output_flush(output) : 0;

	/* Some file systems report a full disk only at close(2). */
	if (output->file.fd >= 0 && close(output->file.fd) < 0 && r == 0)
		r = -errno;
	output->file.fd = -1;
	return r;
}

static void release(struct output *output)
{
	new_file_close(&output->file);
	zero_pages_give_back(take_pointer(output->buffer), OUTPUT_BUFFER);
	free(take_pointer(output->units));
}

int output_close(struct output *output)
{
	int r = flush_rest(output);

	if (r == 0)
		r = new_file_finish(&output->file);
	release(output);
	return r;
}

int output_abandon(struct output *output)
{
	int r = flush_rest(output);

	release(output);
	return r;
}
