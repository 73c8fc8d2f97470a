/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program on a file system that does not answer: FUSE below overlayfs, in a user and mount
 * namespace of its own, as any user can create it. (Plain FUSE would not admit root.)
 *
 *	unanswered WHAT DEVICE DIRECTORY FILE [ARGUMENT...]
 *
 * runs a copy of FILE from there, as hung-PID; DEVICE is /dev/fuse, or a similar one that anybody
 * may open. WHAT is not answered: "read" of the file's last page (not needed to run), "open" except
 * the first, "flush" (which close(2) waits for), "statfs", "nothing"; "late" answers such reads
 * after 2 s. With "map" FILE itself is run, and the file system is /tmp, where reads of perf maps
 * are never answered.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { DIRECTORY = FUSE_ROOT_ID, PROGRAM, MAP, PAGE = 4096, MAP_SIZE = 100 };

static const char *what;
static char name[16]; /* the program's, unique */
static int device, file;
static struct stat status;
static unsigned n_opened;

static void fail(const char *text)
{
	perror(text);
	exit(1);
}

static void put(const char *path, const char *format, ...)
{
	FILE *out = fopen(path, "we");
	va_list arguments;

	va_start(arguments, format);
	if (!out || vfprintf(out, format, arguments) < 0 || fclose(out))
		fail(path);
	va_end(arguments);
}

static void answer(const struct fuse_in_header *request, int error, const void *data, size_t size)
{
	struct fuse_out_header header = { sizeof(header) + size, -error, request->unique };
	struct iovec parts[] = { { &header, sizeof(header) }, { (void *)data, size } };

	if (writev(device, parts, 2) < 0 && errno != ENOENT)
		fail("answer");
}

static struct fuse_attr attributes(uint64_t node)
{
	struct fuse_attr attr = {
		.ino = node, .nlink = 1, .mode = S_IFREG | 0755, .blksize = PAGE
	};

	if (node == DIRECTORY)
		attr.mode = S_IFDIR | 0755;
	else
		attr.size = node == MAP ? MAP_SIZE : status.st_size;
	attr.mtime = attr.ctime = status.st_mtime;
	attr.uid = geteuid();
	attr.gid = getegid();
	return attr;
}

static void look_up(const struct fuse_in_header *request, const char *wanted)
{
	struct fuse_entry_out entry = { .entry_valid = 1000, .attr_valid = 1000 };

	if (!strncmp(wanted, "perf-", 5))
		entry.nodeid = MAP;
	else if (!strcmp(wanted, name))
		entry.nodeid = PROGRAM;
	else
		return answer(request, ENOENT, NULL, 0);
	entry.attr = attributes(entry.nodeid);
	answer(request, 0, &entry, sizeof(entry));
}

static void get_attributes(const struct fuse_in_header *request)
{
	struct fuse_attr_out out = { .attr_valid = 1000, .attr = attributes(request->nodeid) };

	answer(request, 0, &out, sizeof(out));
}

static void begin(const struct fuse_in_header *request, const struct fuse_init_in *in)
{
	struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
				     .minor = FUSE_KERNEL_MINOR_VERSION,
				     .max_write = PAGE,
				     .max_background = 16 };

	answer(request, 0, &out, in->minor < 23 ? FUSE_COMPAT_22_INIT_OUT_SIZE : sizeof(out));
}

static void read_file(const struct fuse_in_header *request, const struct fuse_read_in *in)
{
	static char data[1 << 20];
	bool is_last = in->offset + in->size > (uint64_t)(status.st_size & -PAGE);
	ssize_t n;

	if (request->nodeid == MAP || (is_last && !strcmp(what, "read")))
		return;
	if (is_last && !strcmp(what, "late"))
		sleep(2);
	n = pread(file, data, in->size < sizeof(data) ? in->size : sizeof(data), in->offset);
	answer(request, n < 0 ? EIO : 0, data, n < 0 ? 0 : n);
}

static void serve_one(const struct fuse_in_header *request, const void *in)
{
	struct fuse_open_out opened = { .open_flags = FOPEN_KEEP_CACHE };
	struct fuse_statfs_out system = { .st = { .bsize = PAGE, .namelen = 255 } };

	switch (request->opcode) {
	case FUSE_INIT:
		return begin(request, in);
	case FUSE_LOOKUP:
		return look_up(request, in);
	case FUSE_GETATTR:
		return get_attributes(request);
	case FUSE_OPEN:
		if (n_opened++ && !strcmp(what, "open"))
			return;
		return answer(request, 0, &opened, sizeof(opened));
	case FUSE_OPENDIR:
		return answer(request, 0, &opened, sizeof(opened));
	case FUSE_READ:
		return read_file(request, in);
	case FUSE_STATFS:
		if (n_opened && !strcmp(what, "statfs"))
			return;
		return answer(request, 0, &system, sizeof(system));
	case FUSE_FLUSH:
		if (!strcmp(what, "flush"))
			return;
		return answer(request, 0, NULL, 0);
	case FUSE_READDIR:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_ACCESS:
		return answer(request, 0, NULL, 0);
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	default:
		return answer(request, ENOSYS, NULL, 0);
	}
}

static void serve(void)
{
	static _Alignas(8) char request[(1 << 20) + PAGE];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		if (read(device, request, sizeof(request)) > 0)
			serve_one((const void *)request, request + sizeof(struct fuse_in_header));
		else if (errno != EINTR && errno != ENOENT)
			exit(0);
	}
}

static void enter_namespaces(void)
{
	int user = getuid(), group = getgid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		fail("unshare");
	put("/proc/self/setgroups", "deny");
	put("/proc/self/uid_map", "0 %d 1", user);
	put("/proc/self/gid_map", "0 %d 1", group);
}

/* Mounts FUSE at DIRECTORY/below, and at `at` an overlay of it and an empty directory. */
static void mount_all(const char *directory, const char *at)
{
	char options[512];

	if (mount("tmpfs", directory, "tmpfs", 0, NULL) < 0 || chdir(directory) < 0 ||
	    mkdir("below", 0755) < 0 || mkdir("empty", 0755) < 0 || mkdir("over", 0755) < 0)
		fail(directory);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 device);
	if (mount("unanswered", "below", "fuse", MS_NODEV | MS_NOSUID, options) < 0)
		fail("fuse");
	if (fork() == 0)
		serve();
	snprintf(options, sizeof(options), "lowerdir=%s/below:%s/empty", directory, directory);
	if (mount("overlay", at, "overlay", 0, options) < 0)
		fail("overlay");
}

int main(int argc, char **argv)
{
	bool is_map = argc > 4 && !strcmp(argv[1], "map");
	char program[512];

	if (argc < 5)
		return 2;
	what = argv[1];
	snprintf(name, sizeof(name), "hung-%d", getpid());
	file = open(argv[4], O_RDONLY | O_CLOEXEC);
	if (file < 0 || fstat(file, &status) < 0)
		fail(argv[4]);
	enter_namespaces();
	device = open(argv[2], O_RDWR | O_CLOEXEC); /* must be opened in the mount's namespace */
	if (device < 0)
		fail(argv[2]);
	mount_all(argv[3], is_map ? "/tmp" : "over");
	snprintf(program, sizeof(program), "%s/over/%s", argv[3], name);
	if (is_map)
		fexecve(file, argv + 4, environ);
	else
		execv(program, argv + 4);
	fail("exec");
}
