/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gets descriptors of images by number from the image server that `hello` names, so a stage needs
 * no file system, no /proc and no privilege. Without a server (a recorded stream) the recorded path
 * is opened, if it can be shown to be the file that was mapped then.
 */
#pragma once

#include "common/file/file-trust.h"
#include "common/wire/wire.h"

enum { IMAGE_CLIENT_PATIENCE_MS = 900 }; /* longer than the server's time limit for a file system */

struct image_client {
	int fd;		      /* -1: no server */
	bool is_late;	      /* the last request is not answered yet */
	uint16_t machine;     /* e_machine of the stream's files; 0: unknown */
	uint64_t recorded_at; /* nanoseconds since 1970 at the stream's start, 0: unknown */
	bool has_server;      /* the stream names a server, and so has image_state records */
	bool is_recorded;     /* no server at the start: files are opened by path */
	bool was_refused;     /* the process at the server's address is not the server */
	bool was_denied;      /* the last file requested may not be read */
	/* Directories with files by build-id, like /usr/lib/debug; borrowed. */
	const char *const *dirs;
	size_t n_dirs;
	bool takes_debug_files;	 /* from there, where no file itself is: they have names alone */
	struct file_trust trust; /* in files found by path and build-id alone */
};

/* Connects (image-connect.h); a missing server is no error. 0 or -errno. */
int image_client_init(struct image_client *client, const struct wire_hello *hello);
void image_client_deinit(struct image_client *client);

/*
 * Requests an image: its state and, with WIRE_image_status_OPEN, a read-only descriptor that the
 * caller owns. -ENOTCONN: no server (any more); -EAGAIN: no answer in time, try again.
 */
int image_client_open(struct image_client *client, uint64_t image, struct wire_image_state *ret,
		      int *ret_fd);

/*
 * Requests the debug file of an image by build-id, below the root of the process that has mapped
 * the image (a container's). The caller compares the build-id. 0 and a descriptor; -ENOENT: none;
 * -ENOTCONN; -EAGAIN: not known yet.
 */
int image_client_open_debug(struct image_client *client, uint64_t image,
			    const unsigned char *build_id, size_t size, int *ret_fd);

/*
 * Opens the recorded path instead. `state` is what the image server reported. 0 and a descriptor;
 * -ESTALE: the file has changed (device, inode, size or last change); -errno.
 */
int image_open_recorded(const struct wire_image *record, const struct wire_image_state *state,
			int *ret_fd);

/*
 * The same with the build-id as only proof, which the caller compares after opening the ELF file.
 * Candidate 0 is the path, 1 perf's copy (~/.debug/.build-id), the rest the client's directories,
 * at last for debug files.
 * -ERANGE: no candidate from this number on; other -errno: this one is missing or untrusted
 * (file-trust.h).
 */
int image_open_candidate(struct image_client *client, const char *path,
			 const unsigned char *build_id, size_t size, size_t number, int *ret_fd);

/*
 * Opens what perf keeps under a build-id (perf-buildid-cache(1): ~/.debug/.build-id/xx/yyyy…, xx
 * being the first byte): "elf", or "kallsyms" of the kernel. 0 and a descriptor; -EPERM: others may
 * have written it; -errno.
 */
int image_open_copy(const unsigned char *build_id, size_t size, const char *name, int *ret_fd);

/*
 * As image_open_recorded() before the stream reports a state: the file must have the recorded
 * device and inode, and not have changed in any way since the stream's start.
 */
int image_open_unconfirmed(const struct image_client *client, const struct wire_image *record,
			   int *ret_fd);
