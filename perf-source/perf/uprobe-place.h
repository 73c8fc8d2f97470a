/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A place in a program: "FILE:SYMBOL", where a function begins; a breakpoint elsewhere might lie
 * within an instruction and change it. The kernel takes a file offset instead of a symbol, so the
 * ELF file must be read. It is untrusted: a helper process that can access nothing else reads it.
 */
#pragma once

#include <stdint.h>

/*
 * Opens the file, whose descriptor the caller owns, and finds the function's offset. 0 or -errno:
 * -EINVAL: `text` has another form; -ENOENT, -EACCES, …: the file cannot be opened; -ENOEXEC: it is
 * no readable ELF file; -ESRCH: neither .symtab nor .dynsym defines such a function.
 */
int uprobe_place_find(const char *text, int *ret_fd, uint64_t *ret_offset);
