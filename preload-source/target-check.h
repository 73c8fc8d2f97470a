/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether the C library's loader would take us into a program; if not, why. */
#pragma once

/* The file of a command: found and opened while that can be done, looked at in the sandbox. */
struct target {
	int fd;		    /* -1: it cannot be had */
	const char *rights; /* what was found by them: see target_check() */
};

/* The program that execvp(3) would run, or the interpreter of a script. */
void target_open(struct target *target, const char *command);
void target_close(struct target *target);

/* A text for a person: the reason for which it cannot be traced; NULL: none is known. */
const char *target_check(const struct target *target);

/* One of these texts: of a program of which we hear only what others in it allocate. */
extern const char target_allocator[];

/*
 * A text, too, for a program that would end at once with us in it: it has a sanitizer, whose
 * allocator has to come first.
 */
const char *target_refusal(const struct target *target);
