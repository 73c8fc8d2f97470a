/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/growing-list.h"
#include "perfdata-source/order.h"

enum { ALLOCATED_AT_FIRST = 64 };

void order_deinit(struct order *order)
{
	for (size_t i = 0; i < order->n; i++)
		free(order->list[i].owned);
	free(order->list);
	*order = (struct order){ 0 };
}

/* Maps a pointer into a record to its copy. */
static const uint8_t *rebase(const uint8_t *pointer, const uint8_t *from, const void *to)
{
	return pointer ? (const uint8_t *)to + (pointer - from) : NULL;
}

int order_add(struct order *order, const struct ordered *record)
{
	if (GROWING_LIST_RESERVE(order->list, order->n_allocated, ALLOCATED_AT_FIRST,
				 order->n + 1) < 0)
		return -ENOMEM;
	order->list[order->n] = *record;
	order->list[order->n++].sequence = order->sequence++;
	order->n_bytes += record->size;
	if (record->time > order->newest)
		order->newest = record->time;
	return 0;
}

int order_add_copy(struct order *order, const struct ordered *record)
{
	const uint8_t *bytes = (const uint8_t *)record->bytes;
	struct ordered copy = *record;
	int r;

	copy.owned = malloc(record->size);
	if (!copy.owned)
		return -ENOMEM;
	copy.bytes = memcpy(copy.owned, bytes, record->size);
	copy.sample.values = rebase(record->sample.values, bytes, copy.owned);
	copy.sample.chain = rebase(record->sample.chain, bytes, copy.owned);
	copy.sample.registers = rebase(record->sample.registers, bytes, copy.owned);
	copy.sample.stack = rebase(record->sample.stack, bytes, copy.owned);
	r = order_add(order, &copy);
	if (r < 0)
		free(copy.owned);
	return r;
}

uint64_t order_end_round(struct order *order)
{
	uint64_t until = order->newest_before;

	order->newest_before = order->newest;
	return until;
}

static int compare(const void *a, const void *b)
{
	const struct ordered *left = a, *right = b;

	if (left->time != right->time)
		return left->time < right->time ? -1 : 1;
	return left->sequence < right->sequence ? -1 : left->sequence > right->sequence;
}

static bool is_sorted(const struct order *order)
{
	for (size_t i = 1; i < order->n; i++)
		if (compare(&order->list[i - 1], &order->list[i]) > 0)
			return false;
	return true;
}

size_t order_sort(struct order *order, uint64_t until)
{
	size_t n = 0;

	if (!is_sorted(order))
		qsort(order->list, order->n, sizeof(*order->list), compare);
	while (n < order->n && order->list[n].time <= until)
		n++;
	return n;
}

bool order_is_full(const struct order *order)
{
	return order->n_bytes > ORDER_BYTES_MAX;
}

uint64_t order_middle(struct order *order)
{
	order->n_forced++;
	order_sort(order, 0);
	return order->list[order->n / 2].time;
}

void order_drop(struct order *order, size_t n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n; i++) {
		order->n_bytes -= order->list[i].size;
		free(order->list[i].owned);
	}
	memmove(order->list, order->list + n, (order->n - n) * sizeof(*order->list));
	order->n -= n;
}
