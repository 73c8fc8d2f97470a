/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For programs that use both sides (sides.h), built into the same directory. Failure is exit(1),
 * which the harness reports. What this machine does not allow is NOT_HERE.
 */
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

enum { NOT_HERE = 77 };

typedef void enter_function(long rounds);

__attribute__((unused)) static void check(int is_good, const char *what)
{
	if (!is_good) {
		perror(what);
		exit(1);
	}
}

/* Path of a file beside this program. */
static LINK const char *beside(const char *name)
{
	static char path[2 * PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", path, PATH_MAX);

	check(size > 0, "/proc/self/exe");
	path[size] = 0;
	strcpy(strrchr(path, '/') + 1, name);
	return path;
}

static LINK void copy_to(int out, const char *from)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	struct stat status;

	check(in >= 0 && fstat(in, &status) == 0, from);
	check(sendfile(out, in, NULL, status.st_size) == status.st_size, "copy");
	close(in);
}

/* Writes an existing file in place, so that it keeps its inode. */
static LINK void copy_file(const char *from, const char *to)
{
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	check(out >= 0, to);
	copy_to(out, from);
	close(out);
}

static LINK void *open_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return library;
}

static LINK void *find(void *library, const char *name)
{
	void *found = dlsym(library, name);

	check(found != NULL, name);
	return found;
}

/* The caller's name in the chain identifies the expected side. */
static LINK void call_left(enter_function *enter, long rounds)
{
	enter(rounds);
	STAY();
}

static LINK void call_right(enter_function *enter, long rounds)
{
	enter(rounds);
	STAY();
}

static LINK void use_left(const char *path, long rounds)
{
	void *library = open_library(path);

	call_left(find(library, "left_enter"), rounds);
	dlclose(library);
}

static LINK void use_right(const char *path, long rounds)
{
	void *library = open_library(path);

	call_right(find(library, "right_enter"), rounds);
	dlclose(library);
}

/* Number of turns of `part` rounds that make up `rounds`. */
__attribute__((unused)) static long turns(long rounds, long part)
{
	return (rounds + part - 1) / part;
}

__attribute__((unused)) static void wait_for(pid_t pid)
{
	int status;

	check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "child");
}
