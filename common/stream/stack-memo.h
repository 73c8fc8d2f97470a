/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A cache of fixed size that maps a whole stack to a value which a stage derived from it. The key
 * is a hash of 64 + STACK_MEMO_BITS bits, seeded at random in each process so that an attacker
 * cannot construct two stacks with the same key.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	STACK_MEMO_BITS = 17,
	STACK_MEMO_WAYS = 4, /* a cache line */
};

struct stack_memo_entry {
	uint64_t tag, value; /* value 0: no entry */
};

struct stack_memo {
	struct stack_memo_entry (*buckets)[STACK_MEMO_WAYS]; /* NULL: not initialized */
	uint64_t seeds[2];
};

struct stack_key {
	uint64_t tag;
	uint32_t bucket;
};

/* 0 or -errno (getrandom(2) failed, -ENOMEM) */
int stack_memo_init(struct stack_memo *memo);
void stack_memo_deinit(struct stack_memo *memo);

/* Hashes, with the seed, what a stack's value depends on besides the stack. */
uint64_t stack_memo_state(const struct stack_memo *memo, const uint64_t *words, size_t n);

/* The key of the `n` words of a stack, found in `state` (see stack_memo_state()). */
struct stack_key stack_memo_key(const struct stack_memo *memo, const uint64_t *words, size_t n,
				uint64_t state);

/* The value of a key; 0: none, or it was evicted. */
uint64_t stack_memo_find(const struct stack_memo *memo, struct stack_key key);
void stack_memo_keep(struct stack_memo *memo, struct stack_key key, uint64_t value);
