/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes one JSON object to a file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Writes a quoted string: cleaned (text.h), and cut at 24 KiB. */
void json_put_text(FILE *out, const char *text);

struct json {
	FILE *out; /* borrowed */
	bool has_member;
};

/* `name` is NULL for the outermost object. */
void json_begin(struct json *json, const char *name);
void json_end(struct json *json);
void json_number(struct json *json, const char *name, uint64_t value);
void json_seconds(struct json *json, const char *name, double value);
void json_text(struct json *json, const char *name, const char *value);
