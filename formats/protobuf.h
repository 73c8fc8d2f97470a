/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Messages in protobuf's encoding (protobuf.dev/programming-guides/encoding): a message is made in
 * memory, and put whole into the one around it. Fields with their default value are left out. A
 * failure to get memory is kept until somebody asks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct protobuf {
	char *data;
	size_t size, n_allocated;
	bool has_failed; /* for want of memory: the message is not whole */
};

void protobuf_deinit(struct protobuf *message);

/* Empty again, with its memory. */
void protobuf_reset(struct protobuf *message);

void protobuf_put_uint(struct protobuf *message, uint32_t field, uint64_t value);
void protobuf_put_fixed64(struct protobuf *message, uint32_t field, uint64_t value);
void protobuf_put_bytes(struct protobuf *message, uint32_t field, const void *data, size_t size);
void protobuf_put_text(struct protobuf *message, uint32_t field, const char *text);

/* These even if they are 0 or empty: in a list they count, and in a oneof they say which it is. */
void protobuf_put_present_uint(struct protobuf *message, uint32_t field, uint64_t value);
void protobuf_put_element(struct protobuf *message, uint32_t field, const void *data, size_t size);
void protobuf_put_message(struct protobuf *message, uint32_t field, const struct protobuf *inner);

/* Fields that were gathered apart, and belong to this message. */
void protobuf_append(struct protobuf *message, const struct protobuf *fields);

/*
 * For lists of numbers in one field ("packed"): each is added to a message of their own, which is
 * then put as bytes.
 */
void protobuf_add_uint(struct protobuf *list, uint64_t value);
void protobuf_add_fixed64(struct protobuf *list, uint64_t value);
