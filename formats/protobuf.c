/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/growing-list.h"
#include "formats/protobuf.h"

enum { VARINT_MAX = 10 };

enum wire_type { VARINT = 0, FIXED64 = 1, LENGTH_DELIMITED = 2 };

void protobuf_deinit(struct protobuf *message)
{
	free(message->data);
	*message = (struct protobuf){ 0 };
}

void protobuf_reset(struct protobuf *message)
{
	message->size = 0;
}

/* Room for `size` more bytes; NULL: no memory. */
static char *reserve(struct protobuf *message, size_t size)
{
	if (GROWING_LIST_RESERVE(message->data, message->n_allocated, 256, message->size + size) ==
	    0)
		return message->data + message->size;
	message->has_failed = true;
	return NULL;
}

void protobuf_add_uint(struct protobuf *list, uint64_t value)
{
	char *at = reserve(list, VARINT_MAX);

	if (!at)
		return;
	for (; value > 0x7f; value >>= 7)
		*at++ = value | 0x80;
	*at++ = value;
	list->size = at - list->data;
}

void protobuf_add_fixed64(struct protobuf *list, uint64_t value)
{
	char *at = reserve(list, sizeof(value));

	value = htole64(value);
	if (!at)
		return;
	memcpy(at, &value, sizeof(value));
	list->size += sizeof(value);
}

static void put_key(struct protobuf *message, uint32_t field, enum wire_type type)
{
	protobuf_add_uint(message, (uint64_t)field << 3 | type);
}

void protobuf_put_uint(struct protobuf *message, uint32_t field, uint64_t value)
{
	if (value)
		protobuf_put_present_uint(message, field, value);
}

void protobuf_put_present_uint(struct protobuf *message, uint32_t field, uint64_t value)
{
	put_key(message, field, VARINT);
	protobuf_add_uint(message, value);
}

void protobuf_put_fixed64(struct protobuf *message, uint32_t field, uint64_t value)
{
	if (!value)
		return;
	put_key(message, field, FIXED64);
	protobuf_add_fixed64(message, value);
}

static void append(struct protobuf *message, const void *data, size_t size)
{
	char *at = reserve(message, size);

	if (!at || !size)
		return;
	memcpy(at, data, size);
	message->size += size;
}

void protobuf_append(struct protobuf *message, const struct protobuf *fields)
{
	message->has_failed |= fields->has_failed;
	append(message, fields->data, fields->size);
}

void protobuf_put_element(struct protobuf *message, uint32_t field, const void *data, size_t size)
{
	put_key(message, field, LENGTH_DELIMITED);
	protobuf_add_uint(message, size);
	append(message, data, size);
}

void protobuf_put_bytes(struct protobuf *message, uint32_t field, const void *data, size_t size)
{
	if (size)
		protobuf_put_element(message, field, data, size);
}

void protobuf_put_packed(struct protobuf *message, uint32_t field, const struct protobuf *list)
{
	message->has_failed |= list->has_failed;
	protobuf_put_bytes(message, field, list->data, list->size);
}

void protobuf_put_text(struct protobuf *message, uint32_t field, const char *text)
{
	protobuf_put_bytes(message, field, text, strlen(text));
}

void protobuf_put_message(struct protobuf *message, uint32_t field, const struct protobuf *inner)
{
	message->has_failed |= inner->has_failed;
	protobuf_put_element(message, field, inner->data, inner->size);
}
