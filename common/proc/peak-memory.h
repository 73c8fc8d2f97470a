/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The peak memory of this process. Not getrusage(2)'s ru_maxrss, which survives execve(2): after
 * vfork(2) it would be the parent's peak, if that was larger.
 */
#pragma once

#include <stdint.h>

/* Opens /proc/self/status, before a sandbox forbids it; the caller closes it. Or -errno. */
int peak_memory_open(void);

/* Reads the peak so far in KiB: VmHWM of proc_pid_status(5). 0 or -errno. Once per descriptor. */
int peak_memory_read(int fd, uint64_t *ret);
