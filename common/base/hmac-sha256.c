/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sha2.h>
#include <string.h>

#include "common/base/hmac-sha256.h"

/* SHA-256 of the key, padded with zeros to a block and XORed with `pad`, and then of the data. */
static void hash(const void *key, size_t key_size, uint8_t pad, const void *data, size_t size,
		 uint8_t ret[static HMAC_SHA256_SIZE])
{
	uint8_t block[SHA256_BLOCK_LENGTH] = { 0 };
	SHA2_CTX context;

	memcpy(block, key, key_size);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] ^= pad;
	SHA256Init(&context);
	SHA256Update(&context, block, sizeof(block));
	SHA256Update(&context, data, size);
	SHA256Final(ret, &context);
}

void hmac_sha256(const void *key, size_t key_size, const void *data, size_t size,
		 uint8_t ret[static HMAC_SHA256_SIZE])
{
	enum { INNER = 0x36, OUTER = 0x5c };
	uint8_t inner[HMAC_SHA256_SIZE];

	hash(key, key_size, INNER, data, size, inner);
	hash(key, key_size, OUTER, inner, sizeof(inner), ret);
}
