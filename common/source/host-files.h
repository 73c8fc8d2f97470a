/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of the host that make a recording readable elsewhere, as file records. */
#pragma once

#include "common/stage/stage.h"

/* Sends /proc/cpuinfo, /etc/os-release: 0 or -errno of the output. */
int host_files_put(struct stage *stage, uint64_t time);

/*
 * Opens /proc/kallsyms: a descriptor, or -errno. What it shows depends on who has opened it, not on
 * who reads it (kallsyms_open() of Linux): before capabilities are given up.
 */
int host_files_open_kallsyms(void);

/* What a person can do about it. */
#define HOST_FILES_KALLSYMS_NEED                                                                   \
	"/proc/kallsyms shows no addresses without CAP_SYSLOG, or kernel.kptr_restrict of 0 and "  \
	"kernel.perf_event_paranoid of at most 1"

/* Reads it; the caller frees. 0, -ENOMEM; -EACCES: its addresses are all zero, or there are none.
 */
int host_files_read_kallsyms(int fd, char **ret, size_t *ret_size);

/* Sends what was read of it: 0 or -errno of the output. */
int host_files_put_kallsyms(struct stage *stage, const char *text, size_t size, uint64_t time);
