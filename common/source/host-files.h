/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Emits files of the host that a recording needs to be readable elsewhere, as file records. */
#pragma once

#include "common/stage/stage.h"

/* Emits /proc/cpuinfo and /etc/os-release. 0 or -errno of the output. */
int host_files_put(struct stage *stage, uint64_t time);

/*
 * Opens /proc/kallsyms: a descriptor or -errno. To be called before capabilities are dropped: what
 * it shows depends on who opened it, not on who reads it (kallsyms_open() of Linux).
 */
int host_files_open_kallsyms(void);

/* Advice for the user. */
#define HOST_FILES_KALLSYMS_NEED                                                                   \
	"/proc/kallsyms shows no addresses without CAP_SYSLOG, or kernel.kptr_restrict of 0 and "  \
	"kernel.perf_event_paranoid of at most 1"

/* The caller frees `*ret`. 0, -ENOMEM; -EACCES: unreadable, or all addresses are zero. */
int host_files_read_kallsyms(int fd, char **ret, size_t *ret_size);

/* Emits what was read. 0 or -errno of the output. */
int host_files_put_kallsyms(struct stage *stage, const char *text, size_t size, uint64_t time);
