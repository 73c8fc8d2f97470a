/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was found out about a whole stack, for when it comes again: a cache of fixed size, by a hash
 * of 64 + STACK_MEMO_BITS bits with a seed of this process's own, so that nobody can make two
 * stacks that are taken for one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	STACK_MEMO_BITS = 17,
	STACK_MEMO_WAYS = 4, /* a cache line */
};

struct stack_memo_entry {
	uint64_t tag, value; /* value 0: nothing */
};

struct stack_memo {
	struct stack_memo_entry (*buckets)[STACK_MEMO_WAYS]; /* NULL: it remembers nothing */
	uint64_t seeds[2];
};

struct stack_key {
	uint64_t tag;
	uint32_t bucket;
};

/* 0 or -errno (getrandom(2), no memory) */
int stack_memo_init(struct stack_memo *memo);
void stack_memo_deinit(struct stack_memo *memo);

/* What a stack depends on besides its own words, as one of them: a hash with the seed, too. */
uint64_t stack_memo_state(const struct stack_memo *memo, const uint64_t *words, size_t n);

/* `n` words that are the stack, and the state that it was met in. */
struct stack_key stack_memo_key(const struct stack_memo *memo, const uint64_t *words, size_t n,
				uint64_t state);

/* What was kept for a key; 0: nothing, or it was pushed out. */
uint64_t stack_memo_find(const struct stack_memo *memo, struct stack_key key);
void stack_memo_keep(struct stack_memo *memo, struct stack_key key, uint64_t value);
