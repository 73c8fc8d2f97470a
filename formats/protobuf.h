/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Encodes protobuf messages (protobuf.dev/programming-guides/encoding). A message is built in
 * memory and then put into the enclosing one. Fields with default values are omitted. Running out
 * of memory only sets `has_failed`, which callers check at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct protobuf {
	char *data;
	size_t size, n_allocated;
	bool has_failed; /* out of memory: the message is incomplete */
};

void protobuf_deinit(struct protobuf *message);

/* Empties a message, but keeps its memory. */
void protobuf_reset(struct protobuf *message);

void protobuf_put_uint(struct protobuf *message, uint32_t field, uint64_t value);
void protobuf_put_fixed64(struct protobuf *message, uint32_t field, uint64_t value);
/* Of numbers that were added to `list` one after the other; as put_bytes(), nothing if empty. */
void protobuf_put_packed(struct protobuf *message, uint32_t field, const struct protobuf *list);

void protobuf_put_bytes(struct protobuf *message, uint32_t field, const void *data, size_t size);
void protobuf_put_text(struct protobuf *message, uint32_t field, const char *text);

/* For values that are written even if 0 or empty: elements of lists, and members of a oneof. */
void protobuf_put_present_uint(struct protobuf *message, uint32_t field, uint64_t value);
void protobuf_put_element(struct protobuf *message, uint32_t field, const void *data, size_t size);
void protobuf_put_message(struct protobuf *message, uint32_t field, const struct protobuf *inner);

/* Appends fields that were built separately. */
void protobuf_append(struct protobuf *message, const struct protobuf *fields);

/* For packed lists of numbers: append each number to a message of its own, then put its bytes. */
void protobuf_add_uint(struct protobuf *list, uint64_t value);
void protobuf_add_fixed64(struct protobuf *list, uint64_t value);
