/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a process gives up before it reads what others have made, so that whoever gets hold of it
 * there gets little: its capabilities and any way to new ones, files, system calls, memory without
 * end. A sandbox is described first, and entered once; there is no way out.
 *
 * A build for tests (SANDBOX_IS_FOR_TESTS: of sanitizers, coverage, or without optimization) makes
 * calls and files of its own: then calls are logged by the kernel instead of ending the process,
 * Landlock is left out, and neither is told to be in force.
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

/* What is done in a directory or file, and what lies below. */
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
	uint64_t memory_max; /* bytes of data beside what there is (RLIMIT_DATA); 0: no limit */
	int error;	     /* of the description: entering gives it */
	/* Afterwards: what is in force. */
	uint32_t parts; /* of WIRE_sandbox_parts_… */
	uint32_t landlock_version;
};

/*
 * Allows system calls, by their numbers. What is known to be harmless with some arguments only is
 * allowed with those (sandbox-seccomp.c): no memory becomes code, threads are all that is cloned.
 */
void sandbox_allow(struct sandbox *sandbox, const int *calls, size_t n);

#define SANDBOX_ALLOW(sandbox, ...)                                                                \
	sandbox_allow(sandbox, (const int[]){ __VA_ARGS__ },                                       \
		      sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

/*
 * Allows a file or directory, which need not exist. With none, all opening of files is refused;
 * with some, and where Landlock is missing, what is done there can be done anywhere.
 */
void sandbox_allow_path(struct sandbox *sandbox, const char *path, enum sandbox_access access);

/* The same of an open directory, which stays the caller's. */
void sandbox_allow_directory(struct sandbox *sandbox, int fd, enum sandbox_access access);

/*
 * Allows to read where programs and their debug files may lie: everything below / but what
 * describes and configures the machine (/proc, /sys, /dev, /etc, /run).
 */
void sandbox_allow_programs(struct sandbox *sandbox);

/* Whether that allows to read what lies at an absolute path without links. */
bool sandbox_programs_have(const char *path);

/* Allows to signal one process: a child, whose PID is nobody else's until it was waited for. */
void sandbox_allow_signals(struct sandbox *sandbox, pid_t pid);

/*
 * Enters it; before there is a second thread. What cannot be had is left out of `parts`: 0, or
 * -errno of what is in the way of having any of it.
 */
int sandbox_enter(struct sandbox *sandbox);

/* Closes what the description holds. */
void sandbox_deinit(struct sandbox *sandbox);

/* The two large parts; for sandbox_enter(). 0 or -errno. */
int sandbox_enter_landlock(const struct sandbox *sandbox, uint32_t *ret_version);
int sandbox_enter_seccomp(const struct sandbox *sandbox);

/* For the latter: from here on SIGSYS ends the process with a line of what it is for. 0 or -errno.
 */
int sandbox_report_refused_calls(void);
