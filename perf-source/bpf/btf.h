/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Offsets in kernel structures: /sys/kernel/btf/vmlinux (Documentation/bpf/btf.rst of Linux). */
#pragma once

#include <stdint.h>

/*
 * A field's offset in a structure, in bytes. 0 or -errno: -ENOENT: the kernel has no type
 * information, or no such structure or field (fields of unnamed members are not searched); -EINVAL:
 * damaged type information; -EFBIG.
 */
int btf_find_field(const char *structure, const char *field, uint32_t *ret);

/* The same for task_struct.pid, followed directly by `tgid`: one read gets both. */
int btf_find_pids(uint32_t *ret);
