/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The arguments of execve(2). A dynamic linker that is executed as a command removes its own ones
 * before the program sees them; the strings stay in memory.
 */
#pragma once

/* Like main()'s; NULL: unknown. Makes raw system calls and calls no library function. */
char **command_line_find(void);
