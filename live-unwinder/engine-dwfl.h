/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The engine of elfutils: one tracker, one Dwfl for each process incarnation that was sampled
 * lately. Modules are reported from the stream's mappings, files come from the image server and
 * are shared by all Dwfls through the tracker's cache.
 */
#pragma once

#include "common/elf/elf-cache.h"
#include "live-unwinder/engine.h"

struct engine_dwfl;

/* `files` is borrowed. 0 or -ENOMEM. */
int engine_dwfl_new(struct elf_cache *files, struct engine_dwfl **ret);

/* Ends all sessions; processes need not be forgotten after this. */
struct engine_dwfl *engine_dwfl_free(struct engine_dwfl *engine);

/* A process goes: its session ends. */
void engine_dwfl_forget(struct engine_dwfl *engine, struct process *process);

/* An image is no more: its file is closed, once half of what is open is of such images. */
void engine_dwfl_forget_image(struct engine_dwfl *engine, uint64_t image);

/* Fills in frames, end and failed_image. */
void engine_dwfl_unwind(struct engine_dwfl *engine, struct unwinding *unwinding);
