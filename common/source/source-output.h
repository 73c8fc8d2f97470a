/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ends a source's output, but not before the next stage could connect to the image server. */
#pragma once

/*
 * Waits until the next stage has read the whole stream, and so has connected to the image server if
 * it uses one, and closes our end of the pipe.
 */
void source_output_close(void);
