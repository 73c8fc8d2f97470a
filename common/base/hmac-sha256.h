/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HMAC-SHA256 (RFC 2104 with FIPS 180-4): proves possession of a key without revealing it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { HMAC_SHA256_SIZE = 32 };

/* `key_size` is at most 64 bytes, a block of SHA-256; longer keys would have to be hashed first. */
void hmac_sha256(const void *key, size_t key_size, const void *data, size_t size,
		 uint8_t ret[static HMAC_SHA256_SIZE]);
