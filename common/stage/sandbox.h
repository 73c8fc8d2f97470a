/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Confines a process before it reads data that others made, so that an exploit gains little: it
 * drops its capabilities and any way to new ones, files, system calls, and unlimited memory. A
 * sandbox is described first, and entered once; there is no way out.
 *
 * A build for tests (SANDBOX_IS_FOR_TESTS: with sanitizers or coverage, or without optimization)
 * uses calls and files of its own: there, the kernel logs refused calls instead of ending the
 * process, Landlock is left out, and neither is reported as in force.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/wire/wire.h"

enum {
	SANDBOX_CALLS_MAX = 41, /* system calls that a stage may make */
	SANDBOX_PATHS_MAX = 512,
};

/* Access to a file, or to a directory and all below it. */
enum sandbox_access {
	SANDBOX_READ,
	SANDBOX_READ_AND_WRITE,
};

struct sandbox_path {
	int fd; /* O_PATH */
	enum sandbox_access access;
};

struct sandbox {
	int calls[SANDBOX_CALLS_MAX];
	size_t n_calls;
	struct sandbox_path paths[SANDBOX_PATHS_MAX];
	size_t n_paths;
	pid_t signalled_pid; /* 0: none may be signalled */
	uint64_t memory_max; /* bytes of data beyond the present (RLIMIT_DATA); 0: no limit */
	int error;	     /* of the description; sandbox_enter() returns it */
	/* Set by sandbox_enter(): what is in force. */
	uint32_t parts; /* of WIRE_sandbox_parts_… */
	uint32_t landlock_version;
};

/*
 * Allows system calls by number. Calls that are harmless with some arguments only are restricted to
 * those (sandbox-seccomp.c): no memory becomes executable, clone(2) makes threads only.
 */
void sandbox_allow(struct sandbox *sandbox, const int *calls, size_t n);

#define SANDBOX_ALLOW(sandbox, ...)                                                                \
	sandbox_allow(sandbox, (const int[]){ __VA_ARGS__ },                                       \
		      sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

/*
 * Allows a file or directory, which need not exist. With none allowed, no file can be opened. Where
 * Landlock is missing, what is allowed for one path is allowed for all.
 */
void sandbox_allow_path(struct sandbox *sandbox, const char *path, enum sandbox_access access);

/* The same for an open directory, which the caller still owns. */
void sandbox_allow_directory(struct sandbox *sandbox, int fd, enum sandbox_access access);

/*
 * Allows reading where programs and debug files may lie: everything below / except what describes
 * and configures the machine (/proc, /sys, /dev, /etc, /run).
 */
void sandbox_allow_programs(struct sandbox *sandbox);

/* Whether sandbox_allow_programs() covers an absolute path without links. */
bool sandbox_programs_have(const char *path);

/* Allows signals to one process: a child, whose PID stays its own until it is waited for. */
void sandbox_allow_signals(struct sandbox *sandbox, pid_t pid);

/*
 * Enters the sandbox, before there is a second thread; `parts` lacks what is unavailable. Returns
 * 0, or the -errno of the description.
 */
int sandbox_enter(struct sandbox *sandbox);

/* Closes the descriptors of the description. */
void sandbox_deinit(struct sandbox *sandbox);

/* The two large parts of sandbox_enter(). 0 or -errno. */
int sandbox_enter_landlock(const struct sandbox *sandbox, uint32_t *ret_version);
int sandbox_enter_seccomp(const struct sandbox *sandbox);

/* For sandbox_enter_seccomp(): SIGSYS names the refused call and ends the process. 0 or -errno. */
int sandbox_report_refused_calls(void);
