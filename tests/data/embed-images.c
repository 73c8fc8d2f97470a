/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * embed-images: makes a live stream self-contained, for tests: the bytes of each image travel in
 * it, as the vDSO's do, and files of the host are left out.
 *
 *     perf-source -s 1024 -- small | embed-images > small.stream
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/image-server/image-client.h"
#include "common/stage/stage.h"

enum { IMAGE_MAX = 131072 }; /* the limit of image_data */

struct embed_images {
	struct image_client client;
	char bytes[IMAGE_MAX];
};

static int start(struct stage *stage, void *data, struct wire_hello *hello)
{
	struct embed_images *self = data;

	return image_client_init(&self->client, hello);
}

static int handle_image(struct stage *stage, void *data, const void *view)
{
	struct embed_images *self = data;
	struct wire_image image = *(const struct wire_image *)view;
	struct wire_image_data record = { .image = image.image, .data.data = self->bytes };
	struct wire_image_state state;
	_cleanup_fd_ int fd = -1;
	ssize_t size;
	int r;

	if (image.kind != WIRE_image_kind_FILE)
		return STAGE_PASS;
	r = image_client_open(&self->client, image.image, &state, &fd);
	size = r == 0 && fd >= 0 ? pread(fd, self->bytes, IMAGE_MAX, 0) : -1;
	if (size < 0) {
		stage_error(stage, "could not read '%s'", image.path.data);
		return -ECANCELED;
	}
	image.kind = WIRE_image_kind_VDSO;
	record.data.size = size;
	r = stage_put(stage, WIRE_RECORD_image, &image);
	if (r == 0)
		r = stage_put(stage, WIRE_RECORD_image_data, &record);
	return r < 0 ? r : wire_writer_flush(&stage->writer); /* the bytes are used again */
}

static int skip(struct stage *stage, void *data, const void *view)
{
	return STAGE_CONSUMED;
}

static const struct stage_handler handlers[] = {
	{ WIRE_RECORD_image, handle_image },
	{ WIRE_RECORD_image_state, skip },
	{ WIRE_RECORD_file, skip },
	{ 0 },
};

int main(int argc, char **argv)
{
	static const struct stage_program program = {
		.name = "embed-images",
		.summary = "Puts the bytes of a live stream's images into it.",
		.role = STAGE_FILTER,
		.self_size = sizeof(struct embed_images),
		.handlers = handlers,
		.start = start,
	};

	return stage_main(argc, argv, &program);
}
