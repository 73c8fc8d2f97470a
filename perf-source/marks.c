/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "perf-source/marks.h"

void marks_init(struct marks *marks)
{
	*marks = (struct marks){ .fd = -1, .thread = { .stop_fd = -1 }, .oldest = UINT64_MAX };
}

void marks_deinit(struct marks *marks)
{
	marks_stop(marks);
	cleanup_fd(&marks->fd);
	if (marks->path)
		unlink(marks->path);
	free(marks->waiting);
	marks_init(marks);
}

int marks_open(struct marks *marks, const char *path)
{
	static const int one = 1;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_fd_ int fd = -1;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	marks->waiting = calloc(MARKS_WAITING_MAX, sizeof(*marks->waiting));
	if (!marks->waiting)
		return -ENOMEM;
	pthread_mutex_init(&marks->lock, NULL);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one)) < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	marks->path = path;
	if (chmod(path, 0666) < 0)
		return -errno;
	marks->fd = take_fd(&fd);
	return 0;
}

/* Parses "+NANOSECONDS" and nothing else. */
static bool parse_duration(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text + 1, &end, 10);
	return end != text + 1 && !*end && !errno && text[1] != '-' && text[1] != '+';
}

bool marks_parse(char *text, struct mark *ret)
{
	char *name;

	text[strcspn(text, "\n")] = 0;
	name = strsep(&text, "\t");
	ret->duration = 0;
	if (*name == '+' && text) {
		if (!parse_duration(name, &ret->duration))
			return false;
		name = strsep(&text, "\t");
	}
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	snprintf(ret->text, sizeof(ret->text), "%s", text ? text : "");
	return *name;
}

static void note_oldest(struct marks *marks)
{
	uint64_t time = marks->n ? marks->waiting[marks->first].time : UINT64_MAX;

	__atomic_store_n(&marks->oldest, time, __ATOMIC_RELAXED);
}

static void queue(struct marks *marks, const struct mark *mark)
{
	pthread_mutex_lock(&marks->lock);
	if (marks->n == MARKS_WAITING_MAX)
		marks->n_refused++;
	else
		marks->waiting[(marks->first + marks->n++) % MARKS_WAITING_MAX] = *mark;
	note_oldest(marks);
	pthread_mutex_unlock(&marks->lock);
}

/* Gets the sender and the time of a datagram. */
static void read_control(struct marks *marks, struct msghdr *message, struct mark *ret)
{
	ret->time = clock_now(CLOCK_MONOTONIC);
	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part;
	     part = CMSG_NXTHDR(message, part)) {
		struct ucred sender;
		struct timespec when;

		if (part->cmsg_level != SOL_SOCKET)
			continue;
		if (part->cmsg_type == SCM_CREDENTIALS) {
			memcpy(&sender, CMSG_DATA(part), sizeof(sender));
			ret->pid = sender.pid;
		} else if (part->cmsg_type == SO_TIMESTAMPNS) {
			memcpy(&when, CMSG_DATA(part), sizeof(when));
			ret->time = clock_nanoseconds(when) - marks->ahead;
		}
	}
}

/*
 * `control` has room only for the time and the sender, which the kernel puts first: descriptors
 * that a sender adds do not fit, and are never installed here (unix(7), MSG_CTRUNC).
 */
static void receive(struct marks *marks)
{
	_Alignas(struct cmsghdr) char
		control[CMSG_SPACE(sizeof(struct timespec)) + CMSG_SPACE(sizeof(struct ucred))];
	char text[MARK_SIZE_MAX + 1];
	struct iovec part = { text, MARK_SIZE_MAX };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(marks->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct mark mark = { 0 };

	if (n < 0)
		return;
	text[n] = 0;
	read_control(marks, &message, &mark);
	if (marks_parse(text, &mark))
		queue(marks, &mark);
}

static void *run(void *arg)
{
	struct marks *marks = arg;
	struct pollfd fds[] = { { .fd = marks->fd, .events = POLLIN },
				{ .fd = marks->thread.stop_fd, .events = POLLIN } };

	/* Datagrams that arrived before the stop are read first. */
	while (poll(fds, 2, -1) > 0 && (fds[0].revents & POLLIN || !fds[1].revents))
		receive(marks);
	return NULL;
}

int marks_start(struct marks *marks, uint64_t realtime_ahead)
{
	if (marks->fd < 0)
		return 0;
	marks->ahead = realtime_ahead;
	return side_thread_start(&marks->thread, run, marks);
}

void marks_stop(struct marks *marks)
{
	side_thread_stop(&marks->thread);
}

static bool take(struct marks *marks, uint64_t until, struct mark *ret)
{
	bool has_one;

	pthread_mutex_lock(&marks->lock);
	has_one = marks->n && marks->waiting[marks->first].time <= until;
	if (has_one) {
		*ret = marks->waiting[marks->first];
		marks->first = (marks->first + 1) % MARKS_WAITING_MAX;
		marks->n--;
		note_oldest(marks);
	}
	pthread_mutex_unlock(&marks->lock);
	return has_one;
}

int marks_emit(struct marks *marks, struct stage *stage, struct processes *processes,
	       uint64_t until)
{
	struct mark mark;
	int r = 0;

	while (r == 0 && marks_have(marks, until) && take(marks, until, &mark)) {
		struct wire_mark record = {
			.time = mark.time,
			.duration = mark.duration < mark.time ? mark.duration : mark.time,
			.group = wire_string("application", 23),
			.name = wire_string(mark.name, 39),
			.text = wire_string(mark.text, MARK_SIZE_MAX),
		};

		if (mark.pid)
			r = processes_of_sample(processes, mark.pid, 0, mark.time, &record.process);
		if (r == 0)
			r = stage_put(stage, WIRE_RECORD_mark, &record);
		marks->n_emitted++;
	}
	return r;
}
