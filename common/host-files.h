/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of the host that make a recording readable elsewhere, as file records. */
#pragma once

#include "common/stage.h"

/* Sends /proc/cpuinfo, /etc/os-release: 0 or -errno of the output. */
int host_files_put(struct stage *stage, uint64_t time);

/*
 * Sends /proc/kallsyms if its addresses are there to be read. 0 or -errno of the output; -EACCES:
 * they are all zero, or the file cannot be read (kernel.kptr_restrict).
 */
int host_files_put_kallsyms(struct stage *stage, uint64_t time);
