/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/stream/process-context.h"
#include "common/stream/thread-context.h"
#include "live-unwinder/trace-contexts.h"

/* What of a process's last context its threads' contexts need. */
struct published_context {
	UT_hash_handle hh;
	uint64_t process;
	uint64_t number; /* unique: an update gives another one */
	bool has_threads;
	size_t n_keys, n_bytes;			    /* bytes: of `text` */
	const char *keys[PROCESS_CONTEXT_KEYS_MAX]; /* NULL: none */
	char text[];				    /* of the keys */
};

struct known_context {
	UT_hash_handle hh; /* by `key` */
	struct lru_link use;
	uint64_t number;
	size_t key_size;
	struct context_key {
		uint64_t published;
		char bytes[];
	} key;
};

struct attribute {
	const uint8_t *value; /* NULL: absent */
	size_t size;
};

static void free_known(struct trace_contexts *contexts, struct known_context *known)
{
	lru_remove(&contexts->by_use, &known->use);
	HASH_DEL(contexts->known, known);
	free(known);
}

static void free_published(struct trace_contexts *contexts, struct published_context *published)
{
	HASH_DEL(contexts->published, published);
	contexts->n_bytes -= published->n_bytes;
	free(published);
}

void trace_contexts_deinit(struct trace_contexts *contexts)
{
	struct published_context *published, *next_published;
	struct known_context *known, *next_known;

	HASH_ITER(hh, contexts->published, published, next_published)
	{
		free_published(contexts, published);
	}
	HASH_ITER(hh, contexts->known, known, next_known)
	{
		free_known(contexts, known);
	}
}

static struct published_context *find_published(const struct trace_contexts *contexts,
						uint64_t process)
{
	struct published_context *published;

	HASH_FIND(hh, contexts->published, &process, sizeof(process), published);
	return published;
}

void trace_contexts_forget(struct trace_contexts *contexts, uint64_t process)
{
	struct published_context *published = find_published(contexts, process);

	if (published)
		free_published(contexts, published);
}

static size_t size_of_keys(const struct process_context *context)
{
	size_t size = 0;

	for (size_t i = 0; i < context->n_keys; i++)
		size += context->keys[i] ? strlen(context->keys[i]) + 1 : 0;
	return size;
}

static void copy_keys(struct published_context *published, const struct process_context *context)
{
	char *at = published->text;

	published->n_keys = context->n_keys;
	for (size_t i = 0; i < context->n_keys; i++) {
		if (!context->keys[i])
			continue;
		published->keys[i] = at;
		at = stpcpy(at, context->keys[i]) + 1;
	}
}

/* Keeps what threads' contexts need. 0 or -ENOMEM; without room, the process has none. */
static int keep(struct trace_contexts *contexts, uint64_t process,
		const struct process_context *context)
{
	size_t n_bytes = size_of_keys(context);
	struct published_context *published;

	if (HASH_COUNT(contexts->published) == TRACE_CONTEXTS_PROCESSES_MAX ||
	    contexts->n_bytes + n_bytes > TRACE_CONTEXTS_BYTES_MAX) {
		contexts->n_refused++;
		return 0;
	}
	published = calloc(1, sizeof(*published) + n_bytes);
	if (!published)
		return -ENOMEM;
	published->process = process;
	published->number = ++contexts->n_published;
	published->has_threads = process_context_has_threads(context);
	published->n_bytes = n_bytes;
	copy_keys(published, context);
	HASH_ADD(hh, contexts->published, process, sizeof(published->process), published);
	if (!HASH_HAS(hh, published)) {
		free(published);
		return -ENOMEM;
	}
	contexts->n_bytes += n_bytes;
	return 0;
}

static int emit_resource(struct stage *stage, const struct wire_process_context *record,
			 const struct process_context *context)
{
	int r = 0;

	for (size_t i = 0; i < context->n_attributes && r == 0; i++) {
		const struct wire_resource_attribute out = {
			.process = record->process,
			.time = record->time,
			.number = i,
			.key = wire_string(context->attributes[i].key, WIRE_ATTRIBUTE_MAX),
			.value = wire_string(context->attributes[i].value, WIRE_NAME_MAX),
		};

		r = stage_put(stage, WIRE_RECORD_resource_attribute, &out);
	}
	return r;
}

int trace_contexts_publish(struct trace_contexts *contexts, struct stage *stage,
			   const struct wire_process_context *record)
{
	struct process_context context;
	int decoded = process_context_decode(record->payload, &context), r = decoded;

	trace_contexts_forget(contexts, record->process);
	contexts->n_refused += decoded > 0;
	contexts->n_resource_refused += context.n_refused;
	if (decoded == 0)
		r = keep(contexts, record->process, &context);
	if (r >= 0)
		r = stage_put(stage, WIRE_RECORD_process_context, record);
	if (r == 0)
		r = emit_resource(stage, record, &context);
	process_context_deinit(&context);
	return r;
}

/* Finds the attributes by the index of their keys; of several with one key the last counts. */
static size_t find_attributes(struct trace_contexts *contexts,
			      const struct published_context *process,
			      const struct thread_context *thread, size_t size,
			      struct attribute attributes[PROCESS_CONTEXT_KEYS_MAX])
{
	enum { KEY, SIZE, BYTES };
	const uint8_t *at = (const void *)(thread + 1);
	size_t left = size - sizeof(*thread), n = 0;

	if (left > thread->attributes_size)
		left = thread->attributes_size;
	while (left >= BYTES && left - BYTES >= at[SIZE]) {
		struct attribute *attribute = &attributes[at[KEY]];
		size_t attribute_size = at[SIZE];
		bool is_known = at[KEY] < process->n_keys && process->keys[at[KEY]];
		bool is_text = !memchr(at + BYTES, 0, attribute_size);

		contexts->n_attributes_refused += !is_known || !is_text;
		if (is_known) {
			n -= attribute->value != NULL;
			*attribute =
				(struct attribute){ is_text ? at + BYTES : NULL, attribute_size };
			n += attribute->value != NULL;
		}
		at += BYTES + attribute_size;
		left -= BYTES + attribute_size;
	}
	return n;
}

/* Writes an id in hexadecimal digits; nothing if all of it is zero. */
static void write_id(const uint8_t *id, size_t size, char *ret)
{
	static const uint8_t none[WIRE_TRACE_ID_SIZE];

	if (!memcmp(id, none, size))
		return;
	for (size_t i = 0; i < size; i++)
		sprintf(ret + 2 * i, "%02x", id[i]);
}

static int emit_attributes(struct stage *stage, uint64_t number,
			   const struct published_context *process,
			   const struct attribute attributes[PROCESS_CONTEXT_KEYS_MAX])
{
	int r = 0;

	for (size_t i = 0; i < process->n_keys && r == 0; i++) {
		const struct wire_trace_attribute out = {
			.trace_context = number,
			.key = wire_string(process->keys[i] ? process->keys[i] : "",
					   WIRE_ATTRIBUTE_MAX),
			.value = { (const char *)attributes[i].value, attributes[i].size },
		};

		if (attributes[i].value)
			r = stage_put(stage, WIRE_RECORD_trace_attribute, &out);
	}
	return r;
}

/* Emits a context with its attributes, if it has anything. 0 or -errno of the output. */
static int emit(struct trace_contexts *contexts, struct stage *stage,
		const struct published_context *published, const struct thread_context *thread,
		size_t size, uint64_t *ret_number)
{
	struct attribute attributes[PROCESS_CONTEXT_KEYS_MAX] = { 0 };
	struct wire_trace_context out = {
		.number = contexts->n_numbers + 1,
		.process = published->process,
		.flags = thread->flags,
		.n_attributes = find_attributes(contexts, published, thread, size, attributes),
	};
	int r;

	write_id(thread->trace_id, sizeof(thread->trace_id), out.trace_id);
	write_id(thread->span_id, sizeof(thread->span_id), out.span_id);
	*ret_number = 0;
	if (!*out.trace_id && !*out.span_id && !out.n_attributes)
		return 0;
	*ret_number = ++contexts->n_numbers;
	r = stage_put(stage, WIRE_RECORD_trace_context, &out);
	return r < 0 ? r : emit_attributes(stage, out.number, published, attributes);
}

/* Remembers a context, instead of the one that has not been used for longest. 0 or -ENOMEM. */
static int remember(struct trace_contexts *contexts, const struct context_key *key, size_t key_size,
		    uint64_t number)
{
	struct known_context *known;

	if (contexts->by_use.n == TRACE_CONTEXTS_KNOWN_MAX)
		free_known(contexts, lru_oldest(&contexts->by_use));
	known = calloc(1, sizeof(*known) + key_size);
	if (!known)
		return -ENOMEM;
	known->number = number;
	known->key_size = key_size;
	memcpy(&known->key, key, key_size);
	HASH_ADD(hh, contexts->known, key, key_size, known);
	if (!HASH_HAS(hh, known)) {
		free(known);
		return -ENOMEM;
	}
	lru_add(&contexts->by_use, &known->use, known);
	return 0;
}

static int find(struct trace_contexts *contexts, struct stage *stage,
		const struct published_context *published, struct wire_blob bytes,
		uint64_t *ret_number)
{
	union {
		struct context_key key;
		char bytes[sizeof(struct context_key) + WIRE_THREAD_CONTEXT_MAX];
	} key = { .key.published = published->number };
	size_t key_size = sizeof(key.key) + bytes.size;
	struct known_context *known;
	int r;

	memcpy(key.key.bytes, bytes.data, bytes.size);
	HASH_FIND(hh, contexts->known, &key, key_size, known);
	if (known) {
		lru_use(&contexts->by_use, &known->use);
		*ret_number = known->number;
		return 0;
	}
	r = emit(contexts, stage, published, bytes.data, bytes.size, ret_number);
	return r < 0 ? r : remember(contexts, &key.key, key_size, *ret_number);
}

/* Why a sample has no context that can be decoded; NULL: it has one. */
static const char *why_none(const struct published_context *published,
			    const struct wire_sample *sample)
{
	const struct thread_context *thread = sample->thread_context.data;

	if (sample->context_state != WIRE_context_state_READ &&
	    sample->context_state != WIRE_context_state_CUT)
		return wire_name_text(&wire_names_context_state, sample->context_state);
	if (!published || !published->has_threads)
		return "unknown-schema";
	if (sample->thread_context.size < sizeof(*thread))
		return "damaged";
	return thread->valid == THREAD_CONTEXT_IS_VALID ? NULL : "being-written";
}

int trace_contexts_find(struct trace_contexts *contexts, struct stage *stage,
			const struct wire_sample *sample, uint64_t *ret_number)
{
	const struct published_context *published;
	const char *why;

	*ret_number = 0;
	if (!sample->context_state)
		return 0;
	published = find_published(contexts, sample->process);
	why = why_none(published, sample);
	++*counters_get(&stage->counters, "thread-contexts",
			why ? why
			    : wire_name_text(&wire_names_context_state, sample->context_state));
	if (why)
		return 0;
	return find(contexts, stage, published, sample->thread_context, ret_number);
}

void trace_contexts_count(const struct trace_contexts *contexts, struct stage *stage)
{
	if (contexts->n_refused)
		*counters_get(&stage->counters, "refused", "process-contexts") =
			contexts->n_refused;
	if (contexts->n_resource_refused)
		*counters_get(&stage->counters, "refused", "resource-attributes") =
			contexts->n_resource_refused;
	if (contexts->n_attributes_refused)
		*counters_get(&stage->counters, "refused", "trace-attributes") =
			contexts->n_attributes_refused;
}
