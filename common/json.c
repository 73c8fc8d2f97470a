/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"

static void put_text(struct json *json, const char *text)
{
	char clean[4096];

	text_clean(text, strlen(text), clean, sizeof(clean));
	fputc('"', json->out);
	for (const char *at = clean; *at; at++) {
		if (*at == '"' || *at == '\\')
			fputc('\\', json->out);
		fputc(*at, json->out);
	}
	fputc('"', json->out);
}

static void put_name(struct json *json, const char *name)
{
	if (json->has_member)
		fputs(", ", json->out);
	json->has_member = true;
	if (!name)
		return;
	put_text(json, name);
	fputs(": ", json->out);
}

void json_begin(struct json *json, const char *name)
{
	put_name(json, name);
	fputc('{', json->out);
	json->has_member = false;
}

void json_end(struct json *json)
{
	fputc('}', json->out);
	json->has_member = true;
}

void json_number(struct json *json, const char *name, uint64_t value)
{
	put_name(json, name);
	fprintf(json->out, "%" PRIu64, value);
}

void json_seconds(struct json *json, const char *name, double value)
{
	put_name(json, name);
	fprintf(json->out, "%.6f", value);
}

void json_text(struct json *json, const char *name, const char *value)
{
	put_name(json, name);
	put_text(json, value);
}
