/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "common/base/hash.h"
#include "common/base/zero-pages.h"
#include "common/stream/stack-memo.h"

#define BUCKETS_SIZE ((STACK_MEMO_WAYS << STACK_MEMO_BITS) * sizeof(struct stack_memo_entry))

int stack_memo_init(struct stack_memo *memo)
{
	if (getrandom(memo->seeds, sizeof(memo->seeds), 0) != sizeof(memo->seeds))
		return -errno;
	memo->buckets = zero_pages_get(BUCKETS_SIZE);
	return memo->buckets ? 0 : -ENOMEM;
}

void stack_memo_deinit(struct stack_memo *memo)
{
	zero_pages_give_back(memo->buckets, BUCKETS_SIZE);
	*memo = (struct stack_memo){ 0 };
}

/* The 128-bit product folded to 64 bits, so that every input bit affects every output bit. */
static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Two independent hashes, because a product with a factor of 0 would lose a word in one of them. */
struct stack_key stack_memo_key(const struct stack_memo *memo, const uint64_t *words, size_t n,
				uint64_t state)
{
	uint64_t first = memo->seeds[0] ^ state, second = memo->seeds[1] ^ n;

	for (size_t i = 0; i < n; i++) {
		first = mix(first ^ words[i], HASH_FACTOR);
		second = mix(second ^ words[i], 0xd1342543de82ef95ULL) + first;
	}
	return (struct stack_key){ second ^ mix(first, memo->seeds[1] | 1),
				   mix(first, second | 1) >> (64 - STACK_MEMO_BITS) };
}

uint64_t stack_memo_state(const struct stack_memo *memo, const uint64_t *words, size_t n)
{
	return stack_memo_key(memo, words, n, 0).tag;
}

uint64_t stack_memo_find(const struct stack_memo *memo, struct stack_key key)
{
	const struct stack_memo_entry *bucket = memo->buckets[key.bucket];

	for (int i = 0; i < STACK_MEMO_WAYS; i++)
		if (bucket[i].tag == key.tag)
			return bucket[i].value;
	return 0;
}

/* Inserts in front and evicts the oldest entry of the bucket. */
void stack_memo_keep(struct stack_memo *memo, struct stack_key key, uint64_t value)
{
	struct stack_memo_entry *bucket = memo->buckets[key.bucket];

	memmove(bucket + 1, bucket, (STACK_MEMO_WAYS - 1) * sizeof(*bucket));
	bucket[0] = (struct stack_memo_entry){ key.tag, value };
}
