/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <poll.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/stage/helper-process.h"
#include "preload-source/process-opener.h"

struct request {
	uint32_t number, pid;
};

/* Sent with the descriptors that could be opened, in this order. */
struct opener_answer {
	uint32_t number;
	int32_t pid_error, maps_error; /* 0 or -errno */
};

enum { FDS_MAX = 2 };

static int open_maps(uint32_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_process(uint32_t pid)
{
	int fd = syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

static int send_answer(int socket, const struct opener_answer *answer, const int *fds, size_t n)
{
	char control[CMSG_SPACE(FDS_MAX * sizeof(int))] __attribute__((aligned(8))) = { 0 };
	struct iovec part = { (void *)answer, sizeof(*answer) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (n) {
		struct cmsghdr *header = (struct cmsghdr *)control;

		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(n * sizeof(int));
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(header), fds, n * sizeof(int));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* The pidfd first: if the PID is reused before maps opens, the pidfd shows an exited process. */
static int serve_one(int socket, const struct request *request)
{
	_cleanup_fd_ int pid_fd = open_process(request->pid);
	_cleanup_fd_ int maps_fd = pid_fd < 0 ? pid_fd : open_maps(request->pid);
	const struct opener_answer answer = {
		.number = request->number,
		.pid_error = pid_fd < 0 ? pid_fd : 0,
		.maps_error = maps_fd < 0 ? maps_fd : 0,
	};
	int fds[FDS_MAX];
	size_t n = 0;

	if (pid_fd >= 0)
		fds[n++] = pid_fd;
	if (maps_fd >= 0)
		fds[n++] = maps_fd;
	return send_answer(socket, &answer, fds, n);
}

static void confine(void)
{
	static const int capabilities[] = { CAP_SYS_PTRACE, CAP_PERFMON, CAP_DAC_READ_SEARCH };
	static const int calls[] = {
		SCMP_SYS(recvfrom),	   SCMP_SYS(sendmsg),	 SCMP_SYS(openat),
		SCMP_SYS(pidfd_open),	   SCMP_SYS(close),	 SCMP_SYS(rt_sigreturn),
		SCMP_SYS(restart_syscall), SCMP_SYS(exit_group), SCMP_SYS(write),
	};

	helper_process_confine(capabilities, sizeof(capabilities) / sizeof(*capabilities), calls,
			       sizeof(calls) / sizeof(*calls));
}

static _Noreturn void serve(void)
{
	struct request request;
	ssize_t size;

	confine();
	for (;;) {
		size = recv(HELPER_PROCESS_FD, &request, sizeof(request), 0);
		if (size < 0 && errno == EINTR)
			continue;
		if (size != sizeof(request) || serve_one(HELPER_PROCESS_FD, &request) < 0)
			_exit(0);
	}
}

int process_opener_start(struct process_opener *opener)
{
	_cleanup_fd_ int ours = -1, theirs = -1;
	int pair[2];

	*opener = (struct process_opener){ .fd = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	opener->pid = fork();
	if (opener->pid < 0)
		return -errno;
	if (opener->pid == 0) {
		if (helper_process_begin("process-opener", &theirs, 1))
			serve();
		_exit(1);
	}
	opener->fd = take_fd(&ours);
	return 0;
}

void process_opener_deinit(struct process_opener *opener)
{
	if (opener->fd < 0)
		return;
	close(opener->fd);
	opener->fd = -1;
	waitpid(opener->pid, NULL, WNOHANG);
}

/* 0 and descriptors; -EAGAIN: nothing yet, or the answer to a request that timed out; -ENOTCONN. */
static int receive(const struct process_opener *opener, struct opener_answer *answer,
		   int fds[FDS_MAX])
{
	char control[CMSG_SPACE(FDS_MAX * sizeof(int))] __attribute__((aligned(8)));
	struct iovec part = { answer, sizeof(*answer) };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t size = recvmsg(opener->fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	struct cmsghdr *header = size == sizeof(*answer) ? CMSG_FIRSTHDR(&message) : NULL;
	size_t n = 0;

	if (size != sizeof(*answer))
		return size < 0 && (errno == EAGAIN || errno == EINTR) ? -EAGAIN : -ENOTCONN;
	fds[0] = fds[1] = -1;
	if (header && header->cmsg_type == SCM_RIGHTS)
		n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	if (n)
		memcpy(fds, CMSG_DATA(header), n * sizeof(int));
	if (answer->number == opener->n_asked)
		return 0;
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	return -EAGAIN;
}

static int ask(struct process_opener *opener, uint32_t pid)
{
	const struct request request = { ++opener->n_asked, pid };
	struct iovec part = { (void *)&request, sizeof(request) };
	const struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	return sendmsg(opener->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -ENOTCONN : 0;
}

int process_opener_open(struct process_opener *opener, uint32_t pid, int *ret_pid_fd,
			int *ret_maps_fd)
{
	struct pollfd ready = { opener->fd, POLLIN, 0 };
	struct opener_answer answer;
	int fds[FDS_MAX], r = ask(opener, pid);

	if (r < 0)
		return r;
	do {
		r = poll(&ready, 1, PROCESS_OPENER_PATIENCE_MS);
		if (r == 0)
			return -ETIMEDOUT;
		r = receive(opener, &answer, fds);
	} while (r == -EAGAIN);
	if (r < 0)
		return r;
	if (answer.pid_error)
		return answer.pid_error;
	if (fds[0] < 0 || (!answer.maps_error && fds[1] < 0)) { /* our descriptor table is full */
		if (fds[0] >= 0)
			close(fds[0]);
		return -EMFILE;
	}
	*ret_pid_fd = fds[0];
	*ret_maps_fd = answer.maps_error ? answer.maps_error : fds[1];
	return 0;
}
