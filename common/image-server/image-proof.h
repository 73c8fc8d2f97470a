/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a stage and the image server prove to each other that they have the key of `hello` without
 * sending it. Each end chooses a nonce, and sends a MAC of both nonces and its own role, so no MAC
 * can be replayed by the other end or on another connection. A process that took the server's name,
 * or read it in /proc/net/unix, learns nothing about the key.
 *
 *	stage				server
 *	image_challenge: nonce
 *					image_proof: nonce, MAC
 *	image_proof: MAC
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hmac-sha256.h"
#include "common/wire/wire.h"

enum {
	IMAGE_NONCE_SIZE = 32, /* of our nonces; of the other end's, the maximum */
	IMAGE_NONCE_MIN = 16,
};

struct image_key {
	uint64_t high, low;
};

enum image_role {
	IMAGE_ROLE_SERVER,
	IMAGE_ROLE_CLIENT,
};

struct image_nonce {
	uint8_t bytes[IMAGE_NONCE_SIZE];
	size_t size;
};

/* The nonces of a connection. */
struct image_nonces {
	struct image_nonce client, server;
};

/* Makes a nonce; false: getrandom(2) failed. */
bool image_nonce_make(struct image_nonce *ret);

/* Copies the other end's nonce; false: it has an invalid size. */
bool image_nonce_take(const struct wire_blob *blob, struct image_nonce *ret);

/* Computes the MAC that `role` has to send. */
void image_proof_make(const struct image_key *key, const struct image_nonces *nonces,
		      enum image_role role, uint8_t ret[static HMAC_SHA256_SIZE]);

/* Whether `mac` is the MAC of `role`, in constant time. */
bool image_proof_holds(const struct image_key *key, const struct image_nonces *nonces,
		       enum image_role role, const struct wire_blob *mac);
