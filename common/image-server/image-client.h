/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Descriptors of images, from the image server that `hello` names, by number: whoever asks needs
 * no file system, no /proc and no privilege. Where no server answers (a recorded stream), the
 * recorded path is opened, if it can be shown to be the file that was mapped then.
 */
#pragma once

#include "common/file/file-trust.h"
#include "common/wire/wire.h"

enum { IMAGE_CLIENT_PATIENCE_MS = 900 }; /* longer than the server's own with a file system */

struct image_client {
	int fd;		      /* -1: no server */
	bool is_late;	      /* it has not answered yet what it was asked last */
	uint16_t machine;     /* the e_machine of the stream's files; 0: it is not said */
	uint64_t recorded_at; /* nanoseconds since 1970 at the stream's start, 0: not known */
	bool has_server;      /* the stream has, or had, one: it tells what that has found */
	bool is_recorded;     /* there was none at the beginning: files are opened by their paths */
	bool was_refused;     /* whoever has its name is not the server of the stream */
	bool was_denied;      /* the last file that was asked for may not be read */
	/* Where files may lie by their build-id, like /usr/lib/debug; borrowed. */
	const char *const *dirs;
	size_t n_dirs;
	struct file_trust trust; /* in what is found by its path and build-id alone */
};

/* Connects (common/image-server/image-connect.h); without a server that is no error. 0 or -errno.
 */
int image_client_init(struct image_client *client, const struct wire_hello *hello);
void image_client_deinit(struct image_client *client);

/*
 * Asks for an image: its state, and with WIRE_image_status_OPEN a read-only descriptor that the
 * caller owns. -ENOTCONN: there is no server (any more); -EAGAIN: it takes its time, ask again.
 */
int image_client_open(struct image_client *client, uint64_t image, struct wire_image_state *ret,
		      int *ret_fd);

/*
 * Asks for the debug file of an image, by its build-id, where the process would have it that has
 * mapped the image: below a container's root. Whoever opens it compares the build-id. 0 and a
 * descriptor; -ENOENT: there is none; -ENOTCONN; -EAGAIN: neither is known yet.
 */
int image_client_open_debug(struct image_client *client, uint64_t image,
			    const unsigned char *build_id, size_t size, int *ret_fd);

/*
 * Opens the recorded path instead. `state` is what the image server once found: 0 and a
 * descriptor, or -ESTALE: the file is another one now (its device, inode, size or last change), or
 * -errno.
 */
int image_open_recorded(const struct wire_image *record, const struct wire_image_state *state,
			int *ret_fd);

/*
 * The same by its build-id alone, which whoever opens it as an ELF file compares. Candidates are
 * its path (number 0), where perf keeps copies (~/.debug/.build-id), and the client's directories.
 * -ENOENT: there is none of that number, or one that others may have written (file-trust.h);
 * -ERANGE: nor of any further.
 */
int image_open_candidate(struct image_client *client, const char *path,
			 const unsigned char *build_id, size_t size, size_t number, int *ret_fd);

/*
 * What perf keeps under a build-id (perf-buildid-cache(1): ~/.debug/.build-id/xx/yyyy…, xx being
 * the first byte): "elf", or of the kernel "kallsyms". 0 and a descriptor; -EPERM: others may have
 * written it; or -errno.
 */
int image_open_copy(const unsigned char *build_id, size_t size, const char *name, int *ret_fd);

/*
 * The same before the stream has told that state: the file must have the recorded device and inode
 * and not have changed in any way since the stream's start.
 */
int image_open_unconfirmed(const struct image_client *client, const struct wire_image *record,
			   int *ret_fd);
