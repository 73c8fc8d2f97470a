/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A place in a program: "FILE:SYMBOL", where a function begins; a breakpoint anywhere else might
 * be in the midst of an instruction, and make another one of it. The kernel wants an offset in the
 * file instead of a symbol, for which an ELF file must be read. It may be anybody's: so it is read
 * by a helper process that has no right to anything but that file.
 */
#pragma once

#include <stdint.h>

/*
 * The file, open, which is the caller's, and the offset. 0 or -errno: -EINVAL: `text` is not of
 * that form; -ENOENT, -EACCES, …: of opening the file; -ENOEXEC: it is no ELF file that could be
 * read; -ESRCH: there is no such function in it (functions are those that .symtab and .dynsym
 * define).
 */
int uprobe_place_find(const char *text, int *ret_fd, uint64_t *ret_offset);
