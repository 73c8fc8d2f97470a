/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>

#include "common/base/json.h"
#include "common/base/text.h"

void json_put_text(FILE *out, const char *text)
{
	char clean[TEXT_CLEAN_SIZE(4096)];

	text_clean_string(text, clean, sizeof(clean));
	putc_unlocked('"', out);
	for (const char *at = clean; *at; at++) {
		if (*at == '"' || *at == '\\')
			putc_unlocked('\\', out);
		putc_unlocked(*at, out);
	}
	putc_unlocked('"', out);
}

static void put_name(struct json *json, const char *name)
{
	if (json->has_member)
		fputs(", ", json->out);
	json->has_member = true;
	if (!name)
		return;
	json_put_text(json->out, name);
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
	json_put_text(json->out, value);
}
