/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the two sides of the image server's start share, and nobody else needs. */
#pragma once

#include "common/stage/helper-process.h"
#include "common/image-server/image-server.h"

enum {
	IMAGE_SERVER_SOURCE_FD = HELPER_PROCESS_FD, /* where the server has its two sockets */
	IMAGE_SERVER_LISTEN_FD,
};

/* The server itself, in its process, which ends with it. */
_Noreturn void image_server_run(const struct image_server *reported);
