/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where fields of the kernel's structures lie: its type information, /sys/kernel/btf/vmlinux
 * (Documentation/bpf/btf.rst of Linux). */
#pragma once

#include <stdint.h>

/*
 * Bytes from the beginning of a structure to one of its fields. 0 or -errno: -ENOENT: the kernel
 * tells no types, or has no such structure or field (fields of structures without a name are not
 * looked for); -EINVAL: what it tells contradicts itself; -EFBIG.
 */
int btf_find_field(const char *structure, const char *field, uint32_t *ret);

/* The same of `pid` of task_struct, with `tgid` right behind it: both can be read together. */
int btf_find_pids(uint32_t *ret);
