/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a stage and the image server show each other that they know the key of `hello`, without
 * telling it: each end chooses a nonce, and shows a MAC of both and of its own role. So what one
 * end has shown cannot be shown by the other, nor on another connection. Whoever has taken the
 * server's name, or found it in /proc/net/unix, learns nothing of it.
 *
 *	stage				server
 *	image_challenge: its nonce
 *					image_proof: its nonce, and a MAC
 *	image_proof: a MAC
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hmac-sha256.h"
#include "common/wire/wire.h"

enum {
	IMAGE_NONCE_SIZE = 32, /* of ours, and the most of theirs */
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

/* Both nonces of a connection. */
struct image_nonces {
	struct image_nonce client, server;
};

/* A new one: false: the kernel gives none. */
bool image_nonce_make(struct image_nonce *ret);

/* Another's: false: it has no size that is allowed. */
bool image_nonce_take(const struct wire_blob *blob, struct image_nonce *ret);

/* What `role` shows. */
void image_proof_make(const struct image_key *key, const struct image_nonces *nonces,
		      enum image_role role, uint8_t ret[static HMAC_SHA256_SIZE]);

/* Whether that is what it has shown, in a time that does not depend on where it differs. */
bool image_proof_holds(const struct image_key *key, const struct image_nonces *nonces,
		       enum image_role role, const struct wire_blob *mac);
