/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether the dynamic linker would load our library into a program; if not, why. */
#pragma once

/* The file of a command: opened before the sandbox, examined in it. */
struct target {
	int fd;		    /* -1: could not be opened */
	const char *rights; /* reason found in the file's permissions; NULL: none */
};

/* Opens the program that execvp(3) would run, or the interpreter of a script. */
void target_open(struct target *target, const char *command);
void target_close(struct target *target);

/* A message for the user: why the program cannot be traced; NULL: no reason known. */
const char *target_check(const struct target *target);

/* One of these: the program defines malloc, so only its libraries' allocations are recorded. */
extern const char target_allocator[];

/*
 * A message why the program would exit at once with our library in it: it has a sanitizer, whose
 * allocator must come first. NULL: it has none.
 */
const char *target_refusal(const struct target *target);
