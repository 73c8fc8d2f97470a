/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The end of a source's output: what follows on it must not come too early. */
#pragma once

/*
 * Waits until the next stage has all of the stream, by which it is a client of the image server if
 * it wants to be one, and closes our end of the pipe.
 */
void source_output_close(void);
