/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the stages of a recording had to say: whoever reads it later is to know, too. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/wire/wire.h"

enum { MESSAGES_MAX = 16, MESSAGE_SIZE = 512 };

struct message {
	char stage[64], text[MESSAGE_SIZE]; /* clean: text.h */
};

struct messages {
	struct message *list; /* each once, in the order in which they came */
	size_t n;
	uint64_t n_more; /* that had no room */
};

void messages_deinit(struct messages *messages);

/* 0 or -ENOMEM. */
int messages_add(struct messages *messages, const struct wire_message *message);

/* A line each. */
void messages_print(const struct messages *messages, FILE *out);
