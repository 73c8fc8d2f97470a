/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * embed-images: makes a live stream self-contained, for tests: the bytes of each image travel in
 * it, as the vDSO's do, and files of the host are left out.
 *
 *     perf-source -s 1024 -- small | embed-images > small.stream
 *
 * With a directory, files are copied to it by build-id instead, as in ~/.debug:
 *
 *     perf-source -- program | embed-images home/.debug > stream
 *     HOME=home live-unwinder < stream
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/elf/elf-image.h"
#include "common/image-server/image-client.h"
#include "common/stage/stage.h"
#include "common/stream/build-id.h"

enum { IMAGE_MAX = 131072 /* the limit of image_data */, TREE_PATH_SIZE = 512 };

struct embed_images {
	const char *tree; /* NULL: none */
	struct image_client client;
	char bytes[IMAGE_MAX];
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct embed_images *self = state->input;

	if (key != ARGP_KEY_ARG || self->tree)
		return ARGP_ERR_UNKNOWN;
	self->tree = arg;
	return 0;
}

static int start(struct stage *stage, void *data, struct wire_hello *hello)
{
	struct embed_images *self = data;

	return image_client_init(&self->client, hello);
}

/* Makes the directories of `path`, which it changes meanwhile. */
static void make_directories(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0755);
		*slash = '/';
	}
}

static int copy_to(char *path, int from)
{
	_cleanup_fd_ int to = -1;
	struct stat status;
	off_t offset = 0;

	make_directories(path);
	to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (to < 0 || fstat(from, &status) < 0)
		return -errno;
	while (offset < status.st_size)
		if (sendfile(to, from, &offset, status.st_size - offset) <= 0)
			return -EIO;
	return 0;
}

static int copy_to_tree(struct embed_images *self, int fd, const struct wire_image_id *id)
{
	char hex[BUILD_ID_TEXT], path[TREE_PATH_SIZE];

	if (id->build_id.size < 2)
		return -ENODATA;
	build_id_text(id->build_id.data, id->build_id.size, hex);
	snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s/elf", self->tree, hex, hex + 2);
	return copy_to(path, fd);
}

/* The bytes go into the stream, as those of a vDSO. */
static int embed(struct stage *stage, struct embed_images *self, const struct wire_image *image,
		 int fd)
{
	struct wire_image embedded = *image;
	struct wire_image_data record = { .image = image->image, .data.data = self->bytes };
	ssize_t size = pread(fd, self->bytes, IMAGE_MAX, 0);
	int r;

	if (size < 0)
		return -errno;
	embedded.kind = WIRE_image_kind_VDSO;
	record.data.size = size;
	r = stage_put(stage, WIRE_RECORD_image, &embedded);
	return r < 0 ? r : stage_put(stage, WIRE_RECORD_image_data, &record);
}

/* The file goes to the tree, and its build-id into the stream. Takes ownership of `fd`. */
static int carry(struct stage *stage, struct embed_images *self, const struct wire_image *image,
		 int fd)
{
	struct elf_image elf;
	struct wire_image_id id;
	int r;

	if (elf_image_open_descriptor(fd, self->client.machine, &elf) != ELF_IMAGE_OK)
		return -EBADMSG;
	elf_image_id(&elf, image->image, &id);
	r = copy_to_tree(self, elf.fd, &id);
	if (r == 0)
		r = stage_put(stage, WIRE_RECORD_image, image);
	if (r == 0)
		r = stage_put(stage, WIRE_RECORD_image_id, &id);
	if (r == 0)
		r = wire_writer_flush(&stage->writer); /* the build-id is the ELF file's */
	elf_image_close(&elf);
	return r;
}

static int handle_image(struct stage *stage, void *data, const void *view)
{
	struct embed_images *self = data;
	const struct wire_image *image = view;
	struct wire_image_state state;
	_cleanup_fd_ int fd = -1;
	int r;

	if (image->kind != WIRE_image_kind_FILE)
		return STAGE_PASS;
	r = image_client_open(&self->client, image->image, &state, &fd);
	if (r == 0 && fd < 0)
		r = -ENOENT;
	if (r == 0)
		r = self->tree ? carry(stage, self, image, take_fd(&fd))
			       : embed(stage, self, image, fd);
	if (r < 0) {
		stage_error(stage, "could not keep '%s': %s", image->path.data, strerror(-r));
		return -ECANCELED;
	}
	return wire_writer_flush(&stage->writer); /* the bytes are used again */
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
		.arguments = "[TREE]",
		.summary = "Makes a live stream independent of the files of its images.",
		.role = STAGE_FILTER,
		.self_size = sizeof(struct embed_images),
		.parse_option = parse_option,
		.handlers = handlers,
		.start = start,
	};

	return stage_main(argc, argv, &program);
}
