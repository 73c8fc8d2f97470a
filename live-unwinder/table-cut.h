/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cuts elfutils' answer at the first frame that must not be trusted: code with a rule of its own
 * (rules/), code that overwrites its own frame, code that contradicts its unwind information, or a
 * file that was modified since; and before a frame whose return address is behind no call.
 */
#pragma once

#include "live-unwinder/engine.h"
#include "live-unwinder/rule-cache.h"

void table_cut(struct rule_cache *cache, struct elf_cache *files, struct unwinding *unwinding);
