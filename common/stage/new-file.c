/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/stage/helper-process.h"
#include "common/stage/new-file.h"

enum { PARTS_TRIED = 16 };

/* Messages to the child, one byte each. */
enum { HOLDS_SOMETHING = 'h', IS_EMPTY = 'e', IS_WHOLE = 'w' };

/* The child's answer to IS_WHOLE, if it is not an errno. */
enum { LEFT_OLD = 0xff };

/* State of the child; names are relative to `directory_fd`. */
struct keeper {
	const char *program, *path; /* for messages */
	int directory_fd, fd;
	char name[NAME_MAX + 1], beside[NAME_MAX + 1]; /* `beside` is empty if NAME was free */
	bool keeps_old, holds_something, is_empty;
};

static int put_name(char *ret, const char *name, const char *ending)
{
	return (size_t)snprintf(ret, NAME_MAX + 1, "%s%s", name, ending) > NAME_MAX ? -ENAMETOOLONG
										    : 0;
}

static int rename_to(const struct keeper *keeper, const char *from, const char *ending)
{
	char to[NAME_MAX + 1];
	int r = put_name(to, keeper->name, ending);

	if (r < 0)
		return r;
	return renameat(keeper->directory_fd, from, keeper->directory_fd, to) < 0 ? -errno : 0;
}

static void drop(const struct keeper *keeper)
{
	unlinkat(keeper->directory_fd, *keeper->beside ? keeper->beside : keeper->name, 0);
}

/* Renames the old file away first, instead of linking it: a name taken twice would leave a copy. */
static int take_place(const struct keeper *keeper)
{
	int r = 0;

	if (!*keeper->beside)
		return 0;
	if (!keeper->holds_something) {
		fprintf(stderr, "%s: nothing was recorded: '%s' is unchanged\n", keeper->program,
			keeper->path);
		drop(keeper);
		return NEW_FILE_LEFT_OLD;
	}
	if (keeper->keeps_old)
		r = rename_to(keeper, keeper->name, ".old");
	if (r == -ENOENT) /* another process has removed it */
		r = 0;
	return r < 0 ? r : rename_to(keeper, keeper->beside, "");
}

#define LEFT "%s: '%s' is unchanged; the incomplete new file is '"

/* The writer has failed (and reported it), or was killed: then its content is unknown. */
static void leave_cut(const struct keeper *keeper)
{
	if (keeper->is_empty) {
		drop(keeper);
		if (*keeper->beside)
			fprintf(stderr, "%s: nothing was recorded: '%s' is unchanged\n",
				keeper->program, keeper->path);
	} else if (*keeper->beside && rename_to(keeper, keeper->beside, ".part") == 0) {
		fprintf(stderr, LEFT "%s.part'\n", keeper->program, keeper->path, keeper->path);
	} else if (*keeper->beside) {
		const char *slash = strrchr(keeper->path, '/');
		int directory = slash ? slash + 1 - keeper->path : 0;

		fprintf(stderr, LEFT "%.*s%s'\n", keeper->program, keeper->path, directory,
			keeper->path, keeper->beside);
	}
}

/* One byte holds any errno and is never split. */
static bool write_byte(int socket, unsigned char byte)
{
	ssize_t n;

	do
		n = write(socket, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

static bool read_byte(int socket, unsigned char *ret)
{
	ssize_t n;

	do
		n = read(socket, ret, 1);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

static void keep(struct keeper *keeper, int socket)
{
	unsigned char said;

	while (read_byte(socket, &said)) {
		int r;

		keeper->holds_something |= said == HOLDS_SOMETHING;
		keeper->is_empty |= said == IS_EMPTY;
		if (said != IS_WHOLE)
			continue;
		r = take_place(keeper);
		if (!write_byte(socket, r < 0 ? -r : r ? LEFT_OLD : 0) || r >= 0)
			return;
	}
	leave_cut(keeper);
}

/* Runs in the child; does not return. */
static void run_keeper(struct keeper *keeper, int socket)
{
	static const int calls[] = {
		SCMP_SYS(read),	     SCMP_SYS(write),	 SCMP_SYS(renameat),
		SCMP_SYS(renameat2), SCMP_SYS(unlinkat), SCMP_SYS(exit_group)
	};
	static const int capabilities[] = { CAP_DAC_OVERRIDE, CAP_FOWNER }; /* if run as root */
	const int fds[] = { socket, keeper->directory_fd };

	if (!helper_process_begin("file-keeper", fds, sizeof(fds) / sizeof(*fds)))
		_exit(EXIT_FAILURE);
	keeper->directory_fd = HELPER_PROCESS_FD + 1;
	helper_process_confine(capabilities, sizeof(capabilities) / sizeof(*capabilities), calls,
			       sizeof(calls) / sizeof(*calls));
	keep(keeper, HELPER_PROCESS_FD);
	_exit(EXIT_SUCCESS);
}

static int start_keeper(struct new_file *file, struct keeper *keeper)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		run_keeper(keeper, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return -EAGAIN;
	}
	file->keeper_fd = ends[0];
	return 0;
}

/* Creates a file beside the existing one, under an unused name. */
static int open_beside(struct keeper *keeper)
{
	for (int i = 0; i < PARTS_TRIED; i++) {
		char ending[64];
		int fd;

		snprintf(ending, sizeof(ending), i ? ".%d.%d.part" : ".%d.part", getpid(), i);
		if (put_name(keeper->beside, keeper->name, ending) < 0)
			return -ENAMETOOLONG;
		fd = openat(keeper->directory_fd, keeper->beside,
			    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd < 0 ? -errno : fd;
	}
	return -EEXIST;
}

static int open_directory(const char *path)
{
	_cleanup_free_ char *copy = strdup(path);
	int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (!copy)
		return -ENOMEM;
	return fd < 0 ? -errno : fd;
}

static int find_place(struct keeper *keeper, const char *path, enum output_file_mode mode)
{
	const char *slash = strrchr(path, '/');
	struct stat status;
	int r = put_name(keeper->name, slash ? slash + 1 : path, "");

	if (r < 0)
		return r;
	if (lstat(path, &status) < 0)
		return output_file_open(path, OUTPUT_FILE_NEW);
	keeper->keeps_old = mode == OUTPUT_FILE_KEEP_OLD;
	return open_beside(keeper);
}

int new_file_open(struct new_file *file, const char *path, enum output_file_mode mode,
		  const char *program)
{
	struct keeper keeper = { .program = program, .path = path };
	_cleanup_fd_ int directory_fd = -1, fd = -1;
	int r = output_file_check(path, mode);

	*file = (struct new_file){ -1, -1 };
	if (r < 0)
		return r;
	if (output_file_is_special(path)) {
		file->fd = output_file_open(path, OUTPUT_FILE_REPLACE);
		return file->fd < 0 ? file->fd : 0;
	}
	keeper.directory_fd = directory_fd = open_directory(path);
	if (directory_fd < 0)
		return directory_fd;
	fd = find_place(&keeper, path, mode);
	if (fd < 0)
		return fd;
	r = start_keeper(file, &keeper);
	if (r < 0) {
		drop(&keeper);
		return r;
	}
	file->fd = take_fd(&fd);
	return 0;
}

static bool report(struct new_file *file, unsigned char what)
{
	return file->keeper_fd >= 0 && write_byte(file->keeper_fd, what);
}

void new_file_note_content(struct new_file *file)
{
	if (!file->is_reported)
		report(file, HOLDS_SOMETHING);
	file->is_reported = true;
}

int new_file_finish(struct new_file *file)
{
	unsigned char error;

	if (file->keeper_fd < 0)
		return 0;
	file->is_reported = true;
	/* The child may have been killed. */
	if (!report(file, IS_WHOLE) || !read_byte(file->keeper_fd, &error))
		return -EIO;
	return error == LEFT_OLD ? NEW_FILE_LEFT_OLD : -error;
}

void new_file_close(struct new_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	if (!file->is_reported)
		report(file, IS_EMPTY);
	if (file->keeper_fd >= 0)
		close(file->keeper_fd);
	*file = (struct new_file){ -1, -1 };
}
