/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture-source/bundle.h"
#include "common/base/binary-search.h"
#include "common/file/gzip.h"

static int compare(const void *a, const void *b)
{
	const struct syscap_bundled_symbol *left = a, *right = b;

	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return left->begin < right->begin ? -1 : left->begin > right->begin;
}

static bool is_zero(const struct syscap_bundled_symbol *symbol)
{
	static const struct syscap_bundled_symbol zero;

	return !memcmp(symbol, &zero, sizeof(zero));
}

static int unpack(struct bundle *bundle, const char *data, size_t size)
{
	if (gzip_is_compressed(data, size))
		return gzip_decompress(data, size, BUNDLE_BYTES_MAX, &bundle->data, &bundle->size);
	bundle->data = malloc(size + 1);
	if (!bundle->data)
		return -ENOMEM;
	memcpy(bundle->data, data, size);
	bundle->data[size] = 0;
	bundle->size = size;
	return 0;
}

int bundle_init(struct bundle *bundle, const char *data, size_t size)
{
	const struct syscap_bundled_symbol *entry;
	int r;

	*bundle = (struct bundle){ 0 };
	r = unpack(bundle, data, size);
	if (r < 0)
		return r;
	bundle->list = calloc(bundle->size / sizeof(*entry) + 1, sizeof(*entry));
	if (!bundle->list)
		return -ENOMEM;
	entry = (const void *)bundle->data;
	for (size_t i = 0; i < bundle->size / sizeof(*entry) && !is_zero(&entry[i]); i++) {
		if (!entry[i].name || entry[i].name >= bundle->size ||
		    entry[i].begin >= entry[i].end)
			bundle->n_refused++;
		else
			bundle->list[bundle->n++] = entry[i];
	}
	qsort(bundle->list, bundle->n, sizeof(*bundle->list), compare);
	return 0;
}

void bundle_deinit(struct bundle *bundle)
{
	free(bundle->data);
	free(bundle->list);
	*bundle = (struct bundle){ 0 };
}

const char *bundle_find(const struct bundle *bundle, uint32_t pid, uint64_t address,
			const struct syscap_bundled_symbol **ret_symbol)
{
	const struct syscap_bundled_symbol key = { .begin = address, .pid = pid };
	/* The first entry after the address. */
	size_t low = BINARY_SEARCH(i, 0, bundle->n, compare(&bundle->list[i], &key) <= 0);

	if (!low || bundle->list[low - 1].pid != pid || bundle->list[low - 1].end <= address)
		return NULL;
	*ret_symbol = &bundle->list[low - 1];
	return bundle->data + bundle->list[low - 1].name; /* a zero byte follows the data */
}
