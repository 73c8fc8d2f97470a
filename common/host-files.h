/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of the host that make a recording readable elsewhere, as file records. */
#pragma once

#include "common/stage.h"

/* Sends /proc/cpuinfo, /etc/os-release: 0 or -errno of the output. */
int host_files_put(struct stage *stage, uint64_t time);

/*
 * /proc/kallsyms, which the caller frees. 0 or -errno; -EACCES: its addresses are all zero, or it
 * cannot be read (kernel.kptr_restrict).
 */
int host_files_read_kallsyms(char **ret, size_t *ret_size);

/* Sends what was read of it: 0 or -errno of the output. */
int host_files_put_kallsyms(struct stage *stage, const char *text, size_t size, uint64_t time);
