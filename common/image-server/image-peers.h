/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The connections of the image server. Any user can read its name (/proc/net/unix) and connect; a
 * peer is a client once it has proved that it has the key (image-proof.h), and a stranger before.
 *
 * Strangers cost little: their rate is limited, each has a deadline for its proof, a user may have
 * only a few at a time, and all together leave room for clients. The oldest is dropped first, so
 * that no user can keep another user's stage from its turn.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/image-server/image-proof.h"
#include "common/image-server/image-server.h"

enum {
	IMAGE_STRANGERS_MAX = 32, /* of IMAGE_SERVER_CLIENTS_MAX */
	IMAGE_STRANGERS_OF_USER_MAX = 8,
	IMAGE_STRANGER_MS = 1000,	/* until a stranger must have sent its proof */
	IMAGE_STRANGERS_A_SECOND = 500, /* accepted, with a burst of a second's worth */
};

struct image_peer {
	int fd;
	uid_t user;	    /* by SO_PEERCRED, at connect time */
	uint64_t came_at;   /* CLOCK_MONOTONIC, as all times here */
	uint64_t waits_for; /* number of an image, 0: none; for the server's use */
	struct image_nonces nonces;
	enum {
		IMAGE_PEER_STRANGER,
		IMAGE_PEER_CHALLENGED,
		IMAGE_PEER_CLIENT,
		IMAGE_PEER_GONE, /* removed by the next sweep */
	} state;
};

struct image_peers {
	struct image_peer list[IMAGE_SERVER_CLIENTS_MAX]; /* oldest first */
	size_t n, n_clients;
	struct image_key key;
	uint64_t *counts;      /* borrowed; of enum image_server_count */
	uint64_t next_turn;    /* when the next stranger may be accepted */
	uint64_t last_went_at; /* when a client disconnected */
	bool any_came;	       /* whether there ever was a client */
};

/* Whether a stranger may be accepted now; else `next_turn` is when. */
bool image_peers_has_turn(const struct image_peers *peers, uint64_t now);

/* Accepts waiting connections, as the rate allows. Sweeps. */
void image_peers_let_in(struct image_peers *peers, int listen_fd, uint64_t now);

/* Closes a connection. The list keeps its order until the next sweep. */
void image_peers_drop(struct image_peers *peers, struct image_peer *peer, uint64_t now);

/* Removes closed connections from the list. */
void image_peers_sweep(struct image_peers *peers);

/* Handles a record of a stranger. false: the stranger was dropped. */
bool image_peers_receive(struct image_peers *peers, struct image_peer *peer, const void *record,
			 size_t size, uint64_t now);

/* Drops strangers that have missed the deadline for their proof. */
void image_peers_drop_silent(struct image_peers *peers, uint64_t now);
