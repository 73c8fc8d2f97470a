/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The elfutils engine: one tracker, and one Dwfl per recently sampled process incarnation. Modules
 * come from the stream's mappings, files from the image server; the tracker's cache shares them.
 */
#pragma once

#include "common/elf/elf-cache.h"
#include "live-unwinder/engine.h"

struct engine_dwfl;

/* `files` is borrowed. 0 or -ENOMEM. */
int engine_dwfl_new(struct elf_cache *files, struct engine_dwfl **ret);

/* Ends all sessions; processes need not be forgotten afterwards. */
struct engine_dwfl *engine_dwfl_free(struct engine_dwfl *engine);

/* Ends the session of a process that exits. */
void engine_dwfl_forget(struct engine_dwfl *engine, struct process *process);

/* Marks an ended image. Its file is closed once half of the open files are of such images. */
void engine_dwfl_forget_image(struct engine_dwfl *engine, uint64_t image);

/* Fills in frames, end and failed_image. */
void engine_dwfl_unwind(struct engine_dwfl *engine, struct unwinding *unwinding);
