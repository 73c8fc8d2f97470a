/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * carry-images: copies the files that a live stream maps to a tree that is searched by build-id,
 * as ~/.debug is, and puts their build-ids into the stream:
 *
 *	perf-source -- ./program | carry-images home/.debug > stream
 *	HOME=home live-unwinder < stream
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/elf/elf-image.h"
#include "common/image-server/image-client.h"
#include "common/stage/stage.h"
#include "common/stream/build-id.h"

enum { TREE_PATH_SIZE = 512 };

struct carry_images {
	const char *tree;
	struct image_client client;
	uint16_t machine;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct carry_images *self = state->input;

	if (key != ARGP_KEY_ARG || self->tree)
		return ARGP_ERR_UNKNOWN;
	self->tree = arg;
	return 0;
}

static int start(struct stage *stage, void *data, struct wire_hello *hello)
{
	struct carry_images *self = data;

	self->machine = hello->machine;
	return self->tree ? image_client_init(&self->client, hello) : -EINVAL;
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

static int carry(struct carry_images *self, int fd, const struct wire_image_id *id)
{
	char hex[BUILD_ID_TEXT], path[TREE_PATH_SIZE];

	if (id->build_id.size < 2)
		return -ENODATA;
	build_id_text(id->build_id.data, id->build_id.size, hex);
	snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s/elf", self->tree, hex, hex + 2);
	return copy_to(path, fd);
}

static int handle_image(struct stage *stage, void *data, const void *view)
{
	const struct wire_image *image = view;
	struct carry_images *self = data;
	struct wire_image_state state;
	struct wire_image_id id;
	struct elf_image elf;
	int fd = -1, r;

	if (image->kind != WIRE_image_kind_FILE)
		return STAGE_PASS;
	if (image_client_open(&self->client, image->image, &state, &fd) < 0 || fd < 0 ||
	    elf_image_open_descriptor(fd, self->machine, &elf) != ELF_IMAGE_OK) {
		stage_error(stage, "could not read '%s'", image->path.data);
		return -ECANCELED;
	}
	elf_image_id(&elf, image->image, &id);
	r = carry(self, elf.fd, &id);
	if (r < 0)
		stage_error(stage, "could not keep '%s': it needs a build-id, and the tree room",
			    image->path.data);
	else
		r = stage_put(stage, WIRE_RECORD_image, image);
	if (r == 0)
		r = stage_put(stage, WIRE_RECORD_image_id, &id);
	if (r == 0)
		r = wire_writer_flush(&stage->writer); /* the build-id is the ELF file's */
	elf_image_close(&elf);
	return r;
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
		.name = "carry-images",
		.arguments = "TREE",
		.summary = "Copies the files of a live stream to a tree of build-ids.",
		.role = STAGE_FILTER,
		.self_size = sizeof(struct carry_images),
		.parse_option = parse_option,
		.handlers = handlers,
		.start = start,
	};

	return stage_main(argc, argv, &program);
}
