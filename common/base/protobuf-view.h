/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads protobuf messages of others (protobuf.dev/programming-guides/encoding), field by field and
 * without a copy. Nothing is trusted: a field that does not lie within its message ends it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rest of a message. */
struct protobuf_view {
	const uint8_t *data;
	size_t size;
	bool is_damaged; /* what is left was no field */
};

struct protobuf_field {
	uint32_t number;
	bool has_bytes;		    /* a text, bytes or a message: `bytes`; else `value` */
	uint64_t value;		    /* a number of any type, as 64 bits */
	struct protobuf_view bytes; /* within the message */
};

static inline struct protobuf_view protobuf_view(const void *data, size_t size)
{
	return (struct protobuf_view){ data, size, false };
}

/* Takes the next field. False: there is none, or the message is damaged. */
bool protobuf_next(struct protobuf_view *message, struct protobuf_field *ret);
