/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who is connected to the image server. Its name can be read by anybody (/proc/net/unix), and so
 * anybody can connect; a client is who shows that it knows the key
 * (common/image-server/image-proof.h).
 *
 * Strangers cost little: only so many are let in a second, each has a moment to show its proof, a
 * user has only so many at a time, and all of them together leave room for clients. Who has come
 * first goes first, so that no user can keep another one's stage from its turn.
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
	IMAGE_STRANGER_MS = 1000,	/* until it must have shown its proof */
	IMAGE_STRANGERS_A_SECOND = 500, /* that are let in, and a second's worth at once */
};

struct image_peer {
	int fd;
	uid_t user;	    /* by the kernel's word, when it connected */
	uint64_t came_at;   /* of CLOCK_MONOTONIC, as all times here */
	uint64_t waits_for; /* number of an image, 0: none; for the server's use */
	struct image_nonces nonces;
	enum {
		IMAGE_PEER_STRANGER,
		IMAGE_PEER_CHALLENGED,
		IMAGE_PEER_CLIENT,
		IMAGE_PEER_GONE, /* until the next sweep */
	} state;
};

struct image_peers {
	struct image_peer list[IMAGE_SERVER_CLIENTS_MAX]; /* in the order in which they came */
	size_t n, n_clients;
	struct image_key key;
	uint64_t *counts;      /* borrowed; of enum image_server_count */
	uint64_t next_turn;    /* when strangers may be let in again */
	uint64_t last_went_at; /* a client */
	bool any_came;	       /* a client */
};

/* Whether strangers may be let in now; else `next_turn` says when. */
bool image_peers_has_turn(const struct image_peers *peers, uint64_t now);

/* Lets in whoever waits, as many as there are turns; and sweeps. */
void image_peers_let_in(struct image_peers *peers, int listen_fd, uint64_t now);

/* Ends a connection. Nobody moves in the list by that. */
void image_peers_drop(struct image_peers *peers, struct image_peer *peer, uint64_t now);

/* Takes those that have gone out of the list. */
void image_peers_sweep(struct image_peers *peers);

/* What somebody has said who is no client yet. false: he was dropped. */
bool image_peers_receive(struct image_peers *peers, struct image_peer *peer, const void *record,
			 size_t size, uint64_t now);

/* Those who have had their moment. */
void image_peers_drop_silent(struct image_peers *peers, uint64_t now);
