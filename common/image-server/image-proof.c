/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <endian.h>
#include <string.h>
#include <sys/random.h>

#include "common/image-server/image-proof.h"

static const char server_role[] = "stackpipe image server";
static const char client_role[] = "stackpipe image client";

_Static_assert(sizeof(server_role) == sizeof(client_role), "one layout");

bool image_nonce_make(struct image_nonce *ret)
{
	ret->size = IMAGE_NONCE_SIZE;
	return getrandom(ret->bytes, ret->size, 0) == IMAGE_NONCE_SIZE;
}

bool image_nonce_take(const struct wire_blob *blob, struct image_nonce *ret)
{
	if (blob->size < IMAGE_NONCE_MIN || blob->size > IMAGE_NONCE_SIZE)
		return false;
	ret->size = blob->size;
	memcpy(ret->bytes, blob->data, blob->size);
	return true;
}

void image_proof_make(const struct image_key *key, const struct image_nonces *nonces,
		      enum image_role role, uint8_t ret[static HMAC_SHA256_SIZE])
{
	const uint64_t halves[] = { htole64(key->high), htole64(key->low) };
	uint8_t data[sizeof(server_role) + 2 * IMAGE_NONCE_SIZE];
	size_t size = sizeof(server_role);

	memcpy(data, role == IMAGE_ROLE_SERVER ? server_role : client_role, size);
	memcpy(data + size, nonces->client.bytes, nonces->client.size);
	size += nonces->client.size;
	memcpy(data + size, nonces->server.bytes, nonces->server.size);
	size += nonces->server.size;
	hmac_sha256(halves, sizeof(halves), data, size, ret);
}

bool image_proof_holds(const struct image_key *key, const struct image_nonces *nonces,
		       enum image_role role, const struct wire_blob *mac)
{
	uint8_t expected[HMAC_SHA256_SIZE], difference = 0;
	const uint8_t *shown = mac->data;

	if (mac->size != sizeof(expected))
		return false;
	image_proof_make(key, nonces, role, expected);
	for (size_t i = 0; i < sizeof(expected); i++)
		difference |= expected[i] ^ shown[i];
	return !difference;
}
