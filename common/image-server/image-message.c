/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/cleanup.h"
#include "common/image-server/image-message.h"

enum { MESSAGE_MAX = 128 };

int image_message_ask(int socket, const void *record, size_t size, int flags)
{
	struct iovec part = { (void *)record, size };
	const struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	return sendmsg(socket, &message, flags | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int image_message_send(int socket, const struct wire_image_state *state, int fd)
{
	_Alignas(8) char record[MESSAGE_MAX];
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec part = { record, wire_encode(wire_type(WIRE_RECORD_image_state), state, record,
						  NULL) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int image_message_receive(int socket, int flags, struct wire_image_state *ret, int *ret_fd)
{
	_Alignas(8) char record[MESSAGE_MAX];
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { record, sizeof(record) };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_LEN(sizeof(int)), /* CMSG_SPACE() would have room for two */
	};
	_cleanup_fd_ int fd = -1;
	ssize_t size;

	*ret_fd = -1;
	do {
		size = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
	} while (size < 0 && errno == EINTR);
	if (size < 0)
		return -errno;
	/* Even an empty message, which looks like the end, may carry a descriptor. */
	if (message.msg_controllen >= CMSG_LEN(sizeof(int)) &&
	    control.header.cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(&control.header), sizeof(int));
	if (size == 0)
		return -ENOTCONN;
	if (wire_decode(wire_type(WIRE_RECORD_image_state), record, size, 0, ret))
		return -EBADMSG;
	*ret_fd = take_fd(&fd);
	return 0;
}
