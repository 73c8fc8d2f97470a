/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recording of any kind as a stream with names: which stages it takes is seen from the file. */
#pragma once

#include "stackpipe/pipeline.h"

/*
 * Adds the stages that read `path`; a recorded stream that has been unwound needs none: it becomes
 * our own standard input. 0 or -errno, and what is wrong with it has been said in the name of
 * `command`.
 */
int input_add_stages(struct pipeline *pipeline, const char *path, const char *command);
