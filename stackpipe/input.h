/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any recording as a stream with names; the file's content decides which stages that takes. */
#pragma once

#include "stackpipe/pipeline.h"

/*
 * Adds the stages that read `path`. A recorded stream that was already unwound needs none and
 * becomes our standard input. 0 or -errno; errors are reported in the name of `command`.
 */
int input_add_stages(struct pipeline *pipeline, const char *path, const char *command);
