/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages ProcessContext, for tests: each function puts a field into a message. */
#pragma once

#include <string.h>

#include "common/wire/wire.h"

struct test_message {
	char bytes[4096];
	size_t size;
};

/* Sizes and numbers below 128 take one byte, others two. */
static inline void test_put_number(struct test_message *message, size_t number)
{
	if (number >= 0x80)
		message->bytes[message->size++] = (number & 0x7f) | 0x80;
	message->bytes[message->size++] = number >= 0x80 ? number >> 7 : number;
}

static inline void test_put_bytes(struct test_message *message, uint32_t field, const void *bytes,
				  size_t size)
{
	test_put_number(message, field << 3 | 2);
	test_put_number(message, size);
	memcpy(message->bytes + message->size, bytes, size);
	message->size += size;
}

static inline void test_put_message(struct test_message *message, uint32_t field,
				    const struct test_message *inner)
{
	test_put_bytes(message, field, inner->bytes, inner->size);
}

/* A KeyValue whose value (AnyValue) is given. */
static inline void test_put_pair(struct test_message *message, uint32_t field, const char *key,
				 const struct test_message *value)
{
	struct test_message pair = { 0 };

	test_put_bytes(&pair, 1, key, strlen(key));
	test_put_message(&pair, 2, value);
	test_put_message(message, field, &pair);
}

static inline struct test_message test_text(const char *text)
{
	struct test_message value = { 0 };

	test_put_bytes(&value, 1, text, strlen(text));
	return value;
}

/* The attributes of OTEP 4947: a schema and the keys of thread contexts, up to NULL. */
static inline void test_put_threads(struct test_message *context, const char *schema,
				    const char *const *keys)
{
	struct test_message text = test_text(schema), array = { 0 }, value = { 0 };

	test_put_pair(context, 2, "threadlocal.schema_version", &text);
	for (; *keys; keys++) {
		text = test_text(*keys);
		test_put_message(&array, 1, &text);
	}
	test_put_message(&value, 5, &array);
	test_put_pair(context, 2, "threadlocal.attribute_key_map", &value);
}

static inline void test_put_resource(struct test_message *context, const char *key,
				     const char *value)
{
	struct test_message resource = { 0 }, text = test_text(value);

	test_put_pair(&resource, 1, key, &text);
	test_put_message(context, 1, &resource);
}
