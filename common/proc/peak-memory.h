/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The most memory that this process has had. Not getrusage(2)'s: ru_maxrss is kept over execve(2),
 * so it would be that of who began us by vfork(2), if he has had more.
 */
#pragma once

#include <stdint.h>

/* Opens what tells it, before a sandbox forbids that: a descriptor that the caller closes, or
 * -errno. */
int peak_memory_open(void);

/* In KiB, up to now: VmHWM of proc_pid_status(5). 0 or -errno. Once for a descriptor. */
int peak_memory_read(int fd, uint64_t *ret);
