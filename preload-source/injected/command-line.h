/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The arguments with which the kernel has executed the program. What the dynamic linker is told
 * when it is executed by hand it takes away before the program sees them; the texts stay.
 */
#pragma once

/* Like main()'s; NULL: not known. It makes system calls by hand, and calls nothing else. */
char **command_line_find(void);
