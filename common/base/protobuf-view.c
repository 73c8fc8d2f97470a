/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/base/protobuf-view.h"

enum {
	TYPE_BITS = 3,
	VARINT_BITS = 7,
	VARINT_BYTES_MAX = 10, /* of 64 bits */
	VARINT_CONTINUES = 0x80,
};

enum wire_type { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static bool take_varint(struct protobuf_view *message, uint64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < VARINT_BYTES_MAX && i < message->size; i++) {
		uint64_t byte = message->data[i];

		*ret |= (byte & ~(uint64_t)VARINT_CONTINUES) << (VARINT_BITS * i);
		if (byte & VARINT_CONTINUES)
			continue;
		message->data += i + 1;
		message->size -= i + 1;
		return true;
	}
	return false;
}

/* Numbers are little-endian, as this machine's are. */
static bool take_fixed(struct protobuf_view *message, size_t size, uint64_t *ret)
{
	*ret = 0;
	if (size > message->size)
		return false;
	memcpy(ret, message->data, size);
	message->data += size;
	message->size -= size;
	return true;
}

static bool take_bytes(struct protobuf_view *message, struct protobuf_field *ret)
{
	uint64_t size;

	if (!take_varint(message, &size) || size > message->size)
		return false;
	ret->has_bytes = true;
	ret->bytes = protobuf_view(message->data, size);
	message->data += size;
	message->size -= size;
	return true;
}

static bool take_field(struct protobuf_view *message, struct protobuf_field *ret)
{
	uint64_t tag;

	if (!take_varint(message, &tag) || tag >> TYPE_BITS == 0 || tag > UINT32_MAX)
		return false;
	ret->number = tag >> TYPE_BITS;
	switch ((enum wire_type)(tag & ((1 << TYPE_BITS) - 1))) {
	case VARINT:
		return take_varint(message, &ret->value);
	case FIXED64:
		return take_fixed(message, sizeof(uint64_t), &ret->value);
	case FIXED32:
		return take_fixed(message, sizeof(uint32_t), &ret->value);
	case BYTES:
		return take_bytes(message, ret);
	}
	return false;
}

bool protobuf_next(struct protobuf_view *message, struct protobuf_field *ret)
{
	*ret = (struct protobuf_field){ 0 };
	if (!message->size || message->is_damaged)
		return false;
	message->is_damaged = !take_field(message, ret);
	return !message->is_damaged;
}
