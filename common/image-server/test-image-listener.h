/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: a server's socket and its side of the proofs, correct or slightly wrong. */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/image-server/image-message.h"
#include "common/image-server/image-proof.h"

struct test_door {
	int listen_fd;
	struct wire_hello hello;
	struct image_key key; /* that it proves */
	enum image_role role; /* role in its proof */
	pthread_t thread;
	int fd; /* the accepted connection */
};

static inline void test_door_open(struct test_door *door, int backlog)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	static unsigned n;
	socklen_t size;

	*door = (struct test_door){
		.hello = { .token_high = 11, .token_low = 22 },
		.key = { 11, 22 },
		.role = IMAGE_ROLE_SERVER,
		.fd = -1,
	};
	snprintf(door->hello.image_server, sizeof(door->hello.image_server), "stackpipe-test-%d-%u",
		 getpid(), n++);
	strcpy(address.sun_path + 1, door->hello.image_server);
	size = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(door->hello.image_server);
	door->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(door->listen_fd, (void *)&address, size), 0);
	assert_int_equal(listen(door->listen_fd, backlog), 0);
}

/* The server's thread makes no assertions: only the main thread may. */
static inline void *test_door_let_in(void *arg)
{
	_Alignas(8) char bytes[256];
	struct test_door *door = arg;
	struct wire_image_challenge challenge;
	struct image_nonces nonces;
	uint8_t mac[HMAC_SHA256_SIZE];
	ssize_t size;

	door->fd = accept(door->listen_fd, NULL, NULL);
	size = recv(door->fd, bytes, sizeof(bytes), 0);
	if (size <= 0 ||
	    wire_decode(wire_type(WIRE_RECORD_image_challenge), bytes, size, 0, &challenge) ||
	    !image_nonce_take(&challenge.nonce, &nonces.client) ||
	    !image_nonce_make(&nonces.server))
		return NULL;
	image_proof_make(&door->key, &nonces, door->role, mac);
	size = wire_encode(wire_type(WIRE_RECORD_image_proof),
			   &(struct wire_image_proof){ { nonces.server.bytes, nonces.server.size },
						       { mac, sizeof(mac) } },
			   bytes, NULL);
	image_message_ask(door->fd, bytes, size, 0);
	size = recv(door->fd, bytes, sizeof(bytes), 0);
	if (size <= 0) { /* the client rejected the proof */
		close(door->fd);
		door->fd = -1;
	}
	return NULL;
}

static inline void test_door_begin(struct test_door *door)
{
	assert_int_equal(pthread_create(&door->thread, NULL, test_door_let_in, door), 0);
}

/* Waits until a client has tried to connect. */
static inline void test_door_end(struct test_door *door)
{
	assert_int_equal(pthread_join(door->thread, NULL), 0);
}

static inline void test_door_close(struct test_door *door)
{
	if (door->fd >= 0)
		close(door->fd);
	close(door->listen_fd);
}
