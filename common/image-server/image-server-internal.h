/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the parent's and the child's side of the image server. */
#pragma once

#include "common/image-server/image-server.h"
#include "common/stage/helper-process.h"

enum {
	IMAGE_SERVER_SOURCE_FD = HELPER_PROCESS_FD, /* the server's two sockets */
	IMAGE_SERVER_LISTEN_FD,
};

/* Runs the server in the child process, which exits with it. */
_Noreturn void image_server_run(const struct image_server *reported);
