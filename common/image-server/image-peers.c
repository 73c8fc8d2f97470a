/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/image-server/image-message.h"
#include "common/image-server/image-peers.h"

#define TURN_NS (NANOSECONDS_A_SECOND / IMAGE_STRANGERS_A_SECOND)

static bool is_stranger(const struct image_peer *peer)
{
	return peer->state == IMAGE_PEER_STRANGER || peer->state == IMAGE_PEER_CHALLENGED;
}

void image_peers_drop(struct image_peers *peers, struct image_peer *peer, uint64_t now)
{
	if (peer->state == IMAGE_PEER_GONE)
		return;
	if (peer->state == IMAGE_PEER_CLIENT) {
		peers->last_went_at = now;
		peers->n_clients--;
	}
	close(peer->fd);
	*peer = (struct image_peer){ .fd = -1, .state = IMAGE_PEER_GONE };
}

void image_peers_sweep(struct image_peers *peers)
{
	size_t n = 0;

	for (size_t i = 0; i < peers->n; i++)
		if (peers->list[i].state != IMAGE_PEER_GONE)
			peers->list[n++] = peers->list[i];
	peers->n = n;
}

static void drop_stranger(struct image_peers *peers, struct image_peer *peer,
			  enum image_server_count reason, uint64_t now)
{
	peers->counts[reason]++;
	image_peers_drop(peers, peer, now);
}

static size_t count_strangers(const struct image_peers *peers, uid_t user)
{
	size_t n = 0;

	for (size_t i = 0; i < peers->n; i++)
		n += is_stranger(&peers->list[i]) && peers->list[i].user == user;
	return n;
}

/* The oldest stranger of a user that has at least one. */
static struct image_peer *find_first(struct image_peers *peers, uid_t user)
{
	struct image_peer *peer = peers->list;

	while (!is_stranger(peer) || peer->user != user)
		peer++;
	return peer;
}

/* The user with the most strangers. */
static uid_t find_most(const struct image_peers *peers)
{
	size_t n, most = 0;
	uid_t user = 0;

	for (size_t i = 0; i < peers->n; i++) {
		n = count_strangers(peers, peers->list[i].user);
		if (n <= most)
			continue;
		most = n;
		user = peers->list[i].user;
	}
	return user;
}

/* Drops a stranger to admit one of the same user, or of a user with fewer strangers. */
static void make_room(struct image_peers *peers, uid_t user, uint64_t now)
{
	size_t n_strangers = peers->n - peers->n_clients;
	struct image_peer *peer = NULL;

	if (count_strangers(peers, user) >= IMAGE_STRANGERS_OF_USER_MAX)
		peer = find_first(peers, user);
	else if (n_strangers == IMAGE_STRANGERS_MAX ||
		 (n_strangers && peers->n == IMAGE_SERVER_CLIENTS_MAX))
		peer = find_first(peers, find_most(peers));
	if (peer)
		drop_stranger(peers, peer, IMAGE_SERVER_CROWDED_OUT, now);
}

static void let_in(struct image_peers *peers, int taken, uint64_t now)
{
	_cleanup_fd_ int fd = taken;
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return;
	make_room(peers, peer.uid, now);
	image_peers_sweep(peers);
	if (peers->n == IMAGE_SERVER_CLIENTS_MAX) {
		peers->counts[IMAGE_SERVER_TURNED_AWAY]++;
		return;
	}
	peers->list[peers->n++] = (struct image_peer){
		.fd = take_fd(&fd),
		.user = peer.uid,
		.came_at = now,
	};
}

/* Unused turns accumulate up to a second's worth (take_turn()). */
bool image_peers_has_turn(const struct image_peers *peers, uint64_t now)
{
	return now >= peers->next_turn;
}

static void take_turn(struct image_peers *peers, uint64_t now)
{
	uint64_t earliest = now > NANOSECONDS_A_SECOND ? now - NANOSECONDS_A_SECOND : 0;

	if (peers->next_turn < earliest)
		peers->next_turn = earliest;
	peers->next_turn += TURN_NS;
}

void image_peers_let_in(struct image_peers *peers, int listen_fd, uint64_t now)
{
	image_peers_sweep(peers);
	while (image_peers_has_turn(peers, now)) {
		int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		take_turn(peers, now);
		let_in(peers, fd, now);
	}
}

static bool answer_challenge(const struct image_peers *peers, struct image_peer *peer,
			     const struct wire_image_challenge *challenge)
{
	uint8_t mac[HMAC_SHA256_SIZE];
	struct wire_image_proof proof = { .mac = { mac, sizeof(mac) } };
	_Alignas(8) char record[256];
	size_t size;

	if (!image_nonce_take(&challenge->nonce, &peer->nonces.client) ||
	    !image_nonce_make(&peer->nonces.server))
		return false;
	image_proof_make(&peers->key, &peer->nonces, IMAGE_ROLE_SERVER, mac);
	proof.nonce = (struct wire_blob){ peer->nonces.server.bytes, peer->nonces.server.size };
	size = wire_encode(wire_type(WIRE_RECORD_image_proof), &proof, record, NULL);
	peer->state = IMAGE_PEER_CHALLENGED;
	return image_message_ask(peer->fd, record, size, MSG_DONTWAIT) == 0;
}

static bool take_proof(struct image_peers *peers, struct image_peer *peer,
		       const struct wire_image_proof *proof)
{
	if (!image_proof_holds(&peers->key, &peer->nonces, IMAGE_ROLE_CLIENT, &proof->mac))
		return false;
	peer->state = IMAGE_PEER_CLIENT;
	peers->n_clients++;
	peers->any_came = true;
	return true;
}

bool image_peers_receive(struct image_peers *peers, struct image_peer *peer, const void *record,
			 size_t size, uint64_t now)
{
	struct wire_image_challenge challenge;
	struct wire_image_proof proof;
	bool holds = false;

	if (peer->state == IMAGE_PEER_STRANGER &&
	    !wire_decode(wire_type(WIRE_RECORD_image_challenge), record, size, 0, &challenge))
		holds = answer_challenge(peers, peer, &challenge);
	else if (peer->state == IMAGE_PEER_CHALLENGED &&
		 !wire_decode(wire_type(WIRE_RECORD_image_proof), record, size, 0, &proof))
		holds = take_proof(peers, peer, &proof);
	if (!holds)
		drop_stranger(peers, peer, IMAGE_SERVER_WITHOUT_KEY, now);
	return holds;
}

void image_peers_drop_silent(struct image_peers *peers, uint64_t now)
{
	for (size_t i = 0; i < peers->n; i++) {
		struct image_peer *peer = &peers->list[i];

		if (is_stranger(peer) &&
		    now - peer->came_at >= IMAGE_STRANGER_MS * NANOSECONDS_A_MILLISECOND)
			drop_stranger(peers, peer, IMAGE_SERVER_SILENT, now);
	}
}
