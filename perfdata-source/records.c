/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "common/base/growing-list.h"
#include "perfdata-source/records.h"

void records_init(struct records *records, struct input *input)
{
	*records = (struct records){ .input = input };
}

void records_deinit(struct records *records)
{
	ZSTD_freeDCtx(records->decoder);
	free(records->plain);
	*records = (struct records){ 0 };
}

/* Doubles the buffer, up to the limit, so that its bytes move only a few times. */
static int reserve_plain(struct records *records, size_t size)
{
	size_t least = records->end + size, wanted = 2 * records->n_allocated;

	if (least <= records->n_allocated)
		return 0;
	if (least > RECORDS_PLAIN_MAX)
		return PERFDATA_E_DAMAGED;
	if (wanted > RECORDS_PLAIN_MAX)
		wanted = RECORDS_PLAIN_MAX;
	if (wanted < least)
		wanted = least;
	if (GROWING_LIST_RESIZE(records->plain, wanted) < 0)
		return -ENOMEM;
	records->n_allocated = wanted;
	return 0;
}

static int decompress(struct records *records, const uint8_t *bytes, size_t size)
{
	ZSTD_inBuffer in = { bytes, size, 0 };
	size_t step = ZSTD_DStreamOutSize();
	int r;

	if (!records->decoder) {
		records->decoder = ZSTD_createDCtx();
		if (!records->decoder)
			return -ENOMEM;
		ZSTD_DCtx_setParameter(records->decoder, ZSTD_d_windowLogMax,
				       RECORDS_WINDOW_LOG_MAX);
	}
	/* Move the start of a record that continues here to the front. */
	if (records->start) {
		records->end -= records->start;
		memmove(records->plain, records->plain + records->start, records->end);
		records->start = 0;
	}
	for (;;) {
		ZSTD_outBuffer out;
		size_t result;

		r = reserve_plain(records, step);
		if (r)
			return r;
		out = (ZSTD_outBuffer){ records->plain + records->end, step, 0 };
		result = ZSTD_decompressStream(records->decoder, &out, &in);
		if (ZSTD_isError(result))
			return PERFDATA_E_DAMAGED;
		records->end += out.pos;
		if (in.pos == in.size && out.pos < out.size)
			return 0;
	}
}

/* Takes a record from the decompressed bytes; PERFDATA_END: no whole one is left. */
static int next_plain(struct records *records, struct perf_event_header *ret,
		      const uint8_t **ret_bytes)
{
	const uint8_t *at;
	size_t left = records->end - records->start;

	if (left < sizeof(*ret))
		return PERFDATA_END;
	at = records->plain + records->start;
	memcpy(ret, at, sizeof(*ret));
	if (ret->size < sizeof(*ret))
		return PERFDATA_E_DAMAGED;
	if (ret->size > left)
		return PERFDATA_END;
	*ret_bytes = at;
	records->start += ret->size;
	return 0;
}

static int skip(struct input *input, uint64_t size)
{
	const void *bytes;
	int r = 0;

	while (size && r == 0) {
		size_t piece = size < INPUT_BUFFER ? size : INPUT_BUFFER;

		r = input_take(input, piece, &bytes);
		size -= piece;
	}
	return r == PERFDATA_END ? PERFDATA_E_CUT : r;
}

/*
 * Skips the bytes that follow two kinds of records without belonging to any. That invalidates the
 * record's own bytes, which are not used.
 */
static int skip_what_follows(struct records *records, const struct perf_event_header *header,
			     const uint8_t *bytes)
{
	uint64_t size = 0;

	if (header->type == RECORD_TRACING_DATA && header->size >= 12) {
		memcpy(&size, bytes + 8, 4);
		size = (size + 7) & ~7ULL;
	} else if (header->type == RECORD_AUXTRACE && header->size >= 16) {
		memcpy(&size, bytes + 8, 8);
	}
	return skip(records->input, size);
}

static int take_compressed(struct records *records, const struct perf_event_header *header,
			   const uint8_t *bytes)
{
	uint64_t size = header->size - sizeof(*header), emitted;

	bytes += sizeof(*header);
	if (header->type == RECORD_COMPRESSED2) { /* padded, so preceded by its size */
		if (size < sizeof(emitted))
			return PERFDATA_E_DAMAGED;
		memcpy(&emitted, bytes, sizeof(emitted));
		if (emitted > size - sizeof(emitted))
			return PERFDATA_E_DAMAGED;
		bytes += sizeof(emitted);
		size = emitted;
	}
	return decompress(records, bytes, size);
}

int records_next(struct records *records, struct perf_event_header *ret, const uint8_t **ret_bytes)
{
	for (;;) {
		const void *bytes;
		int r = next_plain(records, ret, ret_bytes);

		records->is_lasting = r == PERFDATA_END && records->input->is_our_own;
		if (r != PERFDATA_END)
			return r;
		r = input_peek(records->input, sizeof(*ret), &bytes);
		if (r == PERFDATA_END && records->start != records->end)
			return PERFDATA_E_CUT;
		if (r)
			return r;
		memcpy(ret, bytes, sizeof(*ret));
		if (ret->size < sizeof(*ret))
			return PERFDATA_E_DAMAGED;
		r = input_take(records->input, ret->size, &bytes);
		if (r)
			return r == PERFDATA_END ? PERFDATA_E_CUT : r;
		*ret_bytes = bytes;
		/* Most records have one size: prefetch the next one's end and the head after it. */
		input_look_ahead(records->input, ret->size - sizeof(uint64_t));
		if (ret->type == RECORD_COMPRESSED || ret->type == RECORD_COMPRESSED2)
			r = take_compressed(records, ret, bytes);
		else
			return skip_what_follows(records, ret, bytes);
		if (r)
			return r;
	}
}
