/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a process publishes about itself (OTEP 4719, the message ProcessContext): attributes of its
 * resource, as service.name, and the keys by which thread contexts name their attributes (OTEP
 * 4947, threadlocal.*). The process controls all of it.
 */
#pragma once

#include <stdbool.h>

#include "common/wire/wire.h"

enum {
	PROCESS_CONTEXT_KEYS_MAX = 256, /* an index has one byte */
	PROCESS_CONTEXT_ATTRIBUTES_MAX = 128,
	PROCESS_CONTEXT_DAMAGED = 1, /* not a whole message: nothing of it counts */
};

struct process_attribute {
	const char *key, *value;
};

struct process_context {
	char *text; /* owned; holds all below */
	/* Of the resource. Numbers and truth values are written out; lists are left out. */
	struct process_attribute attributes[PROCESS_CONTEXT_ATTRIBUTES_MAX];
	size_t n_attributes;
	const char *schema; /* of thread contexts; empty: none are published */
	const char *keys[PROCESS_CONTEXT_KEYS_MAX]; /* NULL: no text */
	size_t n_keys;
	size_t n_refused; /* beyond the limits, or not representable */
};

/* 0, -ENOMEM or PROCESS_CONTEXT_DAMAGED; `ret` is to be deinitialized in any case. */
int process_context_decode(struct wire_blob payload, struct process_context *ret);
void process_context_deinit(struct process_context *context);

/* Whether its thread contexts are of a form that is known (OTEP 4947). */
bool process_context_has_threads(const struct process_context *context);
