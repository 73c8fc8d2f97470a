/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/file/file-state.h"
#include "common/image-server/image-client.h"
#include "common/image-server/image-connect.h"
#include "common/image-server/image-descriptor.h"
#include "common/image-server/image-message.h"
#include "common/stream/build-id.h"
#include "common/stream/file-identity.h"

enum { PATH_SIZE = 4096 };

/* A hanging server makes an image unavailable, but does not block the reaction to signals. */
static void limit_patience(int fd)
{
	const struct timeval patience = { .tv_usec = IMAGE_CLIENT_PATIENCE_MS * 1000 };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

int image_client_init(struct image_client *client, const struct wire_hello *hello)
{
	int fd = *hello->image_server ? image_connect(hello) : -ECONNREFUSED;

	*client = (struct image_client){
		.fd = fd < 0 ? -1 : fd,
		.machine = hello->machine,
		.recorded_at = hello->start_unix_time,
		.has_server = *hello->image_server,
		.is_recorded = fd < 0,
		.was_refused = fd == -EPERM,
	};
	if (fd >= 0)
		limit_patience(fd);
	return fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM ? fd : 0;
}

static void disconnect(struct image_client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
}

void image_client_deinit(struct image_client *client)
{
	disconnect(client);
	file_trust_deinit(&client->trust);
}

/* -EAGAIN: no answer in time, but the connection stays usable. */
static int receive(struct image_client *client, int flags, struct wire_image_state *ret,
		   int *ret_fd)
{
	int r = image_message_receive(client->fd, flags, ret, ret_fd);

	client->is_late = r == -EAGAIN;
	if (r == 0 || r == -EAGAIN)
		return r;
	disconnect(client);
	return -ENOTCONN;
}

/*
 * On a busy machine an answer may come after its request timed out. The server takes one request at
 * a time, so that answer has to be received, and dropped, before the next request.
 */
static int forget_late_answer(struct image_client *client)
{
	struct wire_image_state state;
	_cleanup_fd_ int fd = -1;

	return client->is_late ? receive(client, MSG_DONTWAIT, &state, &fd) : 0;
}

static int ask(struct image_client *client, const struct wire_image_request *request,
	       struct wire_image_state *ret, int *ret_fd)
{
	_Alignas(8) char record[256];
	size_t size = wire_encode(wire_type(WIRE_RECORD_image_request), request, record, NULL);
	int r;

	*ret_fd = -1;
	if (client->fd < 0)
		return -ENOTCONN;
	r = forget_late_answer(client);
	if (r < 0)
		return r;
	r = image_message_ask(client->fd, record, size, 0);
	if (r == 0)
		r = receive(client, 0, ret, ret_fd);
	if (r == 0 && *ret_fd >= 0 && !image_descriptor_is_readable(*ret_fd)) {
		close(take_fd(ret_fd));
		r = -EBADMSG;
	}
	if (r == 0 || r == -EAGAIN)
		return r;
	disconnect(client);
	return -ENOTCONN;
}

int image_client_open(struct image_client *client, uint64_t image, struct wire_image_state *ret,
		      int *ret_fd)
{
	const struct wire_image_request request = {
		.image = image,
	};

	return ask(client, &request, ret, ret_fd);
}

int image_client_open_debug(struct image_client *client, uint64_t image,
			    const unsigned char *build_id, size_t size, int *ret_fd)
{
	const struct wire_image_request request = {
		.image = image,
		.build_id = { build_id, size },
	};
	struct wire_image_state state;
	int r = ask(client, &request, &state, ret_fd);

	if (r < 0 || *ret_fd >= 0)
		return r;
	return state.status == WIRE_image_status_SLOW ? -EAGAIN : -ENOENT;
}

/*
 * Opens a regular file by absolute path: a descriptor or -errno. The file is checked with O_PATH
 * first, because opening a device or FIFO may have side effects.
 */
static int open_regular(const char *path, struct stat *ret_status)
{
	_cleanup_fd_ int found = -1;
	char again[32];
	int fd;

	if (path[0] != '/')
		return -ESTALE;
	found = open(path, O_PATH | O_CLOEXEC);
	if (found < 0 || fstat(found, ret_status) < 0)
		return -errno;
	if (!S_ISREG(ret_status->st_mode))
		return -ESTALE;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", found);
	fd = open(again, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static bool is_recorded(int fd, const struct stat *status, const struct wire_image *record)
{
	return file_identity_is(fd, status, record->device_major, record->device_minor,
				record->inode);
}

int image_open_recorded(const struct wire_image *record, const struct wire_image_state *state,
			int *ret_fd)
{
	const struct file_state then = {
		.size = state->size,
		.modified = state->modified,
		.changed = state->changed,
	};
	struct file_state now;
	struct stat status;
	_cleanup_fd_ int fd = -1;

	if (state->status != WIRE_image_status_OPEN)
		return -ESTALE;
	fd = open_regular(record->path.data, &status);
	if (fd < 0)
		return fd;
	now = file_state_of(&status);
	if (!is_recorded(fd, &status, record) || file_state_may_differ(&then, &now))
		return -ESTALE;
	*ret_fd = take_fd(&fd);
	return 0;
}

int image_open_unconfirmed(const struct image_client *client, const struct wire_image *record,
			   int *ret_fd)
{
	struct stat status;
	_cleanup_fd_ int fd = open_regular(record->path.data, &status);

	if (fd < 0)
		return fd;
	if (!is_recorded(fd, &status, record) ||
	    clock_nanoseconds(status.st_ctim) >= client->recorded_at)
		return -ESTALE;
	*ret_fd = take_fd(&fd);
	return 0;
}

/* false: the path is too long. */
static bool put_build_id_path(const char *dir, const unsigned char *build_id, size_t size,
			      const char *name, char ret[PATH_SIZE])
{
	char hex[BUILD_ID_TEXT];

	build_id_text(build_id, size, hex);
	return snprintf(ret, PATH_SIZE, "%s/.build-id/%.2s/%s%s", dir, hex, hex + 2, name) <
	       PATH_SIZE;
}

int image_open_copy(const unsigned char *build_id, size_t size, const char *name, int *ret_fd)
{
	const char *home = getenv("HOME");
	char dir[PATH_SIZE / 2], file[32], path[PATH_SIZE];
	_cleanup_fd_ int fd = -1;
	struct stat status;

	snprintf(file, sizeof(file), "/%s", name);
	if (size < 2 || !home ||
	    snprintf(dir, sizeof(dir), "%s/.debug", home) >= (int)sizeof(dir) ||
	    !put_build_id_path(dir, build_id, size, file, path))
		return -ENOENT;
	fd = open_regular(path, &status);
	if (fd < 0)
		return fd;
	if (!file_is_trusted(&status, NULL))
		return -EPERM;
	*ret_fd = take_fd(&fd);
	return 0;
}

int image_open_candidate(struct image_client *client, const char *path,
			 const unsigned char *build_id, size_t size, size_t number, int *ret_fd)
{
	char candidate[PATH_SIZE];
	_cleanup_fd_ int fd = -1;
	struct stat status;
	int r;

	size_t n_dirs = client->n_dirs, n_lists = client->takes_debug_files ? 2 : 1;

	if (size < 2 || size > WIRE_BUILD_ID_MAX || number >= 2 + n_lists * n_dirs)
		return -ERANGE;
	if (number == 1) {
		r = image_open_copy(build_id, size, "elf", ret_fd);
		client->trust.n_refused += r == -EPERM;
		return r;
	}
	if (number)
		path = candidate;
	if (number > 1 && !put_build_id_path(client->dirs[(number - 2) % n_dirs], build_id, size,
					     number - 2 < n_dirs ? "" : ".debug", candidate))
		return -ENOENT;
	fd = open_regular(path, &status);
	if (fd < 0)
		return fd;
	if (!file_trust_accepts(&client->trust, path, &status, NULL))
		return -ENOENT;
	*ret_fd = take_fd(&fd);
	return 0;
}
