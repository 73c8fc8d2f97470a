/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/image-server/image-connect.h"
#include "common/image-server/image-message.h"
#include "common/image-server/image-proof.h"

enum { RECORD_MAX = 256 };

/* The time left until `deadline`; false: none. */
static bool time_left(uint64_t deadline, struct timeval *ret)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);
	uint64_t left = now < deadline ? (deadline - now) / 1000 : 0;

	*ret = (struct timeval){ left / 1000000, left % 1000000 };
	return left > 0;
}

/* Limits both directions: connect(2) waits by SO_SNDTIMEO, recv(2) by SO_RCVTIMEO. */
static int limit(int fd, uint64_t deadline)
{
	struct timeval left;

	if (!time_left(deadline, &left))
		return -ETIMEDOUT;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof(left)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &left, sizeof(left)) < 0)
		return -errno;
	return 0;
}

/*
 * Connects to an abstract address (unix(7)). If others fill the backlog, the kernel admits one
 * after the other in their order, up to the deadline.
 */
static int open_socket(const char *name, uint64_t deadline)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t size = strlen(name);
	_cleanup_fd_ int fd = -1;
	int r;

	if (!size || size >= sizeof(address.sun_path) - 1)
		return -ECONNREFUSED;
	memcpy(address.sun_path + 1, name, size);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	do {
		r = limit(fd, deadline);
		if (r < 0)
			return r;
		r = connect(fd, (void *)&address,
			    offsetof(struct sockaddr_un, sun_path) + 1 + size);
	} while (r < 0 && errno == EINTR);
	if (r < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	return take_fd(&fd);
}

/* Whether the user who called listen(2), by SO_PEERCRED, may run the server. */
static bool may_be_the_server(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid() || peer.uid == getuid());
}

static int ask(int fd, const struct wire_type *type, const void *record)
{
	_Alignas(8) char bytes[RECORD_MAX];

	return image_message_ask(fd, bytes, wire_encode(type, record, bytes, NULL), 0);
}

/* The server's proof is checked before ours is sent. */
static int exchange_proofs(int fd, const struct image_key *key, uint64_t deadline)
{
	_Alignas(8) char bytes[RECORD_MAX];
	struct image_nonces nonces;
	struct wire_image_proof proof;
	uint8_t mac[HMAC_SHA256_SIZE];
	ssize_t size;
	int r;

	if (!image_nonce_make(&nonces.client))
		return -EIO;
	r = ask(fd, wire_type(WIRE_RECORD_image_challenge),
		&(struct wire_image_challenge){ { nonces.client.bytes, nonces.client.size } });
	if (r < 0)
		return r;
	do {
		r = limit(fd, deadline);
		size = r < 0 ? r : recv(fd, bytes, sizeof(bytes), 0);
	} while (r == 0 && size < 0 && errno == EINTR);
	if (r < 0 || size < 0)
		return r < 0 ? r : errno == EAGAIN ? -ETIMEDOUT : -errno;
	if (size == 0)
		return -ECONNRESET; /* no room; an impostor would have sent something */
	if (wire_decode(wire_type(WIRE_RECORD_image_proof), bytes, size, 0, &proof) ||
	    !image_nonce_take(&proof.nonce, &nonces.server) ||
	    !image_proof_holds(key, &nonces, IMAGE_ROLE_SERVER, &proof.mac))
		return -EPERM;
	image_proof_make(key, &nonces, IMAGE_ROLE_CLIENT, mac);
	return ask(fd, wire_type(WIRE_RECORD_image_proof),
		   &(struct wire_image_proof){ .mac = { mac, sizeof(mac) } });
}

static int try_once(const struct wire_hello *hello, uint64_t deadline)
{
	const struct image_key key = { hello->token_high, hello->token_low };
	_cleanup_fd_ int fd = open_socket(hello->image_server, deadline);
	int r;

	if (fd < 0)
		return fd;
	if (!may_be_the_server(fd))
		return -EPERM;
	r = exchange_proofs(fd, &key, deadline);
	return r < 0 ? r : take_fd(&fd);
}

/* Retries if the connection was dropped because of other strangers. */
int image_connect(const struct wire_hello *hello)
{
	uint64_t deadline =
		clock_now(CLOCK_MONOTONIC) + IMAGE_CONNECT_PATIENCE_MS * NANOSECONDS_A_MILLISECOND;
	int r;

	do
		r = try_once(hello, deadline);
	while ((r == -ECONNRESET || r == -EPIPE) && clock_now(CLOCK_MONOTONIC) < deadline);
	return r;
}
