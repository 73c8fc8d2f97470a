/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/protobuf-view.h"
#include "common/stream/process-context.h"

/* Field numbers: processcontext.proto of OTEP 4719, and OTLP's resource.proto and common.proto. */
enum { CONTEXT_RESOURCE = 1, CONTEXT_ATTRIBUTES = 2 };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { PAIR_KEY = 1, PAIR_VALUE = 2 };
enum { VALUE_STRING = 1, VALUE_BOOL = 2, VALUE_INT = 3, VALUE_DOUBLE = 4, VALUE_ARRAY = 5 };
enum { ARRAY_VALUES = 1 };

enum { NUMBER_SIZE_MAX = 32 };

struct decoder {
	struct process_context *context;
	char *at; /* where the next text is put: texts are at most as long as the payload, */
	size_t left;
};

/* A text of its own, or NULL: it has a zero byte, or is too long. */
static const char *put_text(struct decoder *decoder, struct protobuf_view bytes)
{
	char *text = decoder->at;

	if (bytes.size >= decoder->left || memchr(bytes.data, 0, bytes.size)) {
		decoder->context->n_refused++;
		return NULL;
	}
	memcpy(text, bytes.data, bytes.size);
	text[bytes.size] = 0;
	decoder->at += bytes.size + 1;
	decoder->left -= bytes.size + 1;
	return text;
}

static const char *put_number(struct decoder *decoder, const struct protobuf_field *value)
{
	char text[NUMBER_SIZE_MAX];
	double number;

	switch (value->number) {
	case VALUE_BOOL:
		snprintf(text, sizeof(text), "%s", value->value ? "true" : "false");
		break;
	case VALUE_INT:
		snprintf(text, sizeof(text), "%" PRId64, (int64_t)value->value);
		break;
	default:
		memcpy(&number, &value->value, sizeof(number));
		snprintf(text, sizeof(text), "%.17g", number);
	}
	return put_text(decoder, protobuf_view(text, strlen(text)));
}

/* A value (AnyValue) as text; NULL: it has none. */
static const char *put_value(struct decoder *decoder, struct protobuf_view message)
{
	struct protobuf_field value;

	while (protobuf_next(&message, &value)) {
		if (value.number == VALUE_STRING && value.has_bytes)
			return put_text(decoder, value.bytes);
		if (value.number >= VALUE_BOOL && value.number <= VALUE_DOUBLE && !value.has_bytes)
			return put_number(decoder, &value);
	}
	decoder->context->n_refused++;
	return NULL;
}

/* A key and the message of its value. */
struct pair {
	struct protobuf_view key, value;
};

static struct pair take_pair(struct protobuf_view message)
{
	struct protobuf_field field;
	struct pair pair = { 0 };

	while (protobuf_next(&message, &field)) {
		if (field.number == PAIR_KEY && field.has_bytes)
			pair.key = field.bytes;
		else if (field.number == PAIR_VALUE && field.has_bytes)
			pair.value = field.bytes;
	}
	return pair;
}

static bool has_key(const struct pair *pair, const char *key)
{
	return pair->key.size == strlen(key) && !memcmp(pair->key.data, key, pair->key.size);
}

static void add_attribute(struct decoder *decoder, struct protobuf_view message)
{
	struct process_context *context = decoder->context;
	struct pair pair = take_pair(message);
	struct process_attribute attribute = { 0 };

	if (!pair.key.size || context->n_attributes == PROCESS_CONTEXT_ATTRIBUTES_MAX) {
		context->n_refused++;
		return;
	}
	attribute.key = put_text(decoder, pair.key);
	attribute.value = put_value(decoder, pair.value);
	if (attribute.key && attribute.value)
		context->attributes[context->n_attributes++] = attribute;
}

static void add_keys(struct decoder *decoder, struct protobuf_view array)
{
	struct process_context *context = decoder->context;
	struct protobuf_field value;

	while (protobuf_next(&array, &value)) {
		const char *key;

		if (value.number != ARRAY_VALUES || !value.has_bytes)
			continue;
		if (context->n_keys == PROCESS_CONTEXT_KEYS_MAX) {
			context->n_refused++;
			return;
		}
		key = put_value(decoder, value.bytes);
		if (key && (!*key || strlen(key) > WIRE_ATTRIBUTE_MAX)) {
			context->n_refused++;
			key = NULL;
		}
		context->keys[context->n_keys++] = key;
	}
}

/* An attribute for observers that is not of the resource. */
static void take_other(struct decoder *decoder, struct protobuf_view message)
{
	struct pair pair = take_pair(message);
	struct protobuf_field value;

	if (has_key(&pair, "threadlocal.schema_version")) {
		const char *schema = put_value(decoder, pair.value);

		decoder->context->schema = schema ? schema : "";
	} else if (has_key(&pair, "threadlocal.attribute_key_map")) {
		decoder->context->n_keys = 0;
		while (protobuf_next(&pair.value, &value))
			if (value.number == VALUE_ARRAY && value.has_bytes)
				add_keys(decoder, value.bytes);
	}
}

static void take_resource(struct decoder *decoder, struct protobuf_view resource)
{
	struct protobuf_field field;

	while (protobuf_next(&resource, &field))
		if (field.number == RESOURCE_ATTRIBUTES && field.has_bytes)
			add_attribute(decoder, field.bytes);
}

int process_context_decode(struct wire_blob payload, struct process_context *ret)
{
	struct protobuf_view message = protobuf_view(payload.data, payload.size);
	struct decoder decoder = { ret, NULL, payload.size * 2 + NUMBER_SIZE_MAX };
	struct protobuf_field field;

	*ret = (struct process_context){ .schema = "" };
	ret->text = decoder.at = malloc(decoder.left);
	if (!ret->text)
		return -ENOMEM;
	while (protobuf_next(&message, &field)) {
		if (field.number == CONTEXT_RESOURCE && field.has_bytes)
			take_resource(&decoder, field.bytes);
		else if (field.number == CONTEXT_ATTRIBUTES && field.has_bytes)
			take_other(&decoder, field.bytes);
	}
	if (!message.is_damaged)
		return 0;
	process_context_deinit(ret);
	return PROCESS_CONTEXT_DAMAGED;
}

void process_context_deinit(struct process_context *context)
{
	free(context->text);
	*context = (struct process_context){ .schema = "" };
}

bool process_context_has_threads(const struct process_context *context)
{
	return !strcmp(context->schema, "tls_v1") || !strcmp(context->schema, "tlsdesc_v1_dev");
}
