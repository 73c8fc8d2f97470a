/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages that the stages of a recording have printed, kept for the recording's readers. */
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
	struct message *list; /* distinct, in the order of arrival */
	size_t n;
	uint64_t n_more; /* beyond MESSAGES_MAX */
};

void messages_deinit(struct messages *messages);

/* 0 or -ENOMEM. */
int messages_add(struct messages *messages, const struct wire_message *message);

/* Prints one per line. */
void messages_print(const struct messages *messages, FILE *out);
