/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata-source/order.h"

void order_deinit(struct order *order)
{
	for (size_t i = 0; i < order->n; i++)
		free(order->list[i].bytes);
	free(order->list);
	*order = (struct order){ 0 };
}

/* A pointer into a record, as one into its copy. */
static const uint8_t *rebase(const uint8_t *pointer, const uint8_t *from, const void *to)
{
	return pointer ? (const uint8_t *)to + (pointer - from) : NULL;
}

int order_add(struct order *order, const struct ordered *record, const uint8_t *bytes, size_t size)
{
	struct ordered *list = order->list, *copy;

	if (order->n == order->n_allocated) {
		size_t n = order->n ? order->n * 2 : 1024;

		list = reallocarray(list, n, sizeof(*list));
		if (!list)
			return -ENOMEM;
		order->list = list;
		order->n_allocated = n;
	}
	copy = &list[order->n];
	*copy = *record;
	copy->size = size;
	copy->sequence = order->sequence++;
	copy->bytes = malloc(size + 8);
	if (!copy->bytes)
		return -ENOMEM;
	memcpy(copy->bytes, bytes, size);
	memset((char *)copy->bytes + size, 0, 8); /* a stack is read a word at a time */
	copy->sample.chain = rebase(record->sample.chain, bytes, copy->bytes);
	copy->sample.registers = rebase(record->sample.registers, bytes, copy->bytes);
	copy->sample.stack = rebase(record->sample.stack, bytes, copy->bytes);
	order->n++;
	order->n_bytes += size;
	if (record->time > order->newest)
		order->newest = record->time;
	return 0;
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
	for (size_t i = 0; i < n; i++) {
		order->n_bytes -= order->list[i].size;
		free(order->list[i].bytes);
	}
	memmove(order->list, order->list + n, (order->n - n) * sizeof(*order->list));
	order->n -= n;
}
