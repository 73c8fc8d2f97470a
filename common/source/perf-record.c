/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/arch/arch.h"
#include "common/source/perf-record.h"

enum {
	MISC_MMAP_BUILD_ID = 1 << 14, /* PERF_RECORD_MISC_MMAP_BUILD_ID of Linux 5.12 */
	BUILD_ID_BYTES = 20,
	WORD_BYTES = 8,
};

bool perf_record_comm_is_exec(const struct perf_event_header *header)
{
	return header->misc & PERF_RECORD_MISC_COMM_EXEC;
}

bool perf_record_mmap_has_build_id(const struct perf_record_mmap2 *mmap)
{
	return mmap->header.misc & MISC_MMAP_BUILD_ID;
}

size_t perf_record_mmap_build_id(const struct perf_record_mmap2 *mmap, const uint8_t **ret)
{
	const uint8_t *bytes = (const uint8_t *)&mmap->major;

	*ret = bytes + 4;
	return bytes[0] < BUILD_ID_BYTES ? bytes[0] : BUILD_ID_BYTES;
}

bool perf_record_is_whole(const struct perf_event_header *header)
{
	size_t size = sizeof(*header);

	switch (header->type) {
	case PERF_RECORD_MMAP2:
		size = sizeof(struct perf_record_mmap2);
		break;
	case PERF_RECORD_COMM:
		size = sizeof(struct perf_record_comm);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		size = sizeof(struct perf_record_task);
		break;
	case PERF_RECORD_KSYMBOL:
		size = sizeof(struct perf_record_ksymbol);
		break;
	case PERF_RECORD_LOST:
		size = sizeof(struct perf_record_lost);
		break;
	}
	return header->size >= size;
}

size_t record_end(const struct perf_event_header *header, size_t id_size)
{
	const struct perf_record_ksymbol *ksymbol = (const void *)header;
	size_t end;

	if (header->type != PERF_RECORD_KSYMBOL || header->size < sizeof(*ksymbol))
		return header->size;
	end = sizeof(*ksymbol) + strnlen(ksymbol->name, header->size - sizeof(*ksymbol));
	end = (end / WORD_BYTES + 1) * WORD_BYTES + id_size; /* zeros up to a whole word */
	return end < header->size ? end : header->size;
}

const struct perf_record_id *perf_record_id(const struct perf_event_header *header)
{
	if (header->size < sizeof(*header) + sizeof(struct perf_record_id))
		return NULL;
	return (const void *)((const char *)header +
			      record_end(header, sizeof(struct perf_record_id)) -
			      sizeof(struct perf_record_id));
}

uint64_t perf_record_time(const struct perf_event_header *header)
{
	enum { IP_AND_TID = 16 }; /* precedes the time in a sample */
	const struct perf_record_id *id;

	if (header->type == PERF_RECORD_SAMPLE) {
		if (header->size < sizeof(*header) + IP_AND_TID + sizeof(uint64_t))
			return 0;
		return *(const uint64_t *)((const char *)(header + 1) + IP_AND_TID);
	}
	id = perf_record_id(header);
	return id ? id->time : 0;
}

/* The words of a record that are not parsed yet. */
struct record_words {
	const uint64_t *at, *end;
};

static bool take(struct record_words *words, uint64_t *ret)
{
	if (words->at == words->end)
		return false;
	*ret = *words->at++;
	return true;
}

static bool take_many(struct record_words *words, uint64_t n, const uint64_t **ret)
{
	if (n > (size_t)(words->end - words->at))
		return false;
	*ret = words->at;
	words->at += n;
	return true;
}

/* Parses a size of 32 bits, that many bytes, and padding to a whole word. */
static bool take_data(struct record_words *words, struct perf_record_sample *sample)
{
	const uint64_t *head = words->at, *rest;
	uint32_t size;

	if (words->at == words->end)
		return false;
	memcpy(&size, head, sizeof(size));
	if ((size + sizeof(size)) % WORD_BYTES ||
	    !take_many(words, (size + sizeof(size)) / WORD_BYTES, &rest))
		return false;
	sample->data = (const char *)head + sizeof(size);
	sample->data_size = size;
	return true;
}

static bool take_registers(struct record_words *words, struct perf_record_sample *sample)
{
	if (!take(words, &sample->abi))
		return false;
	/* A task without a user side has no registers (perf_output_sample()). */
	if (sample->abi == PERF_SAMPLE_REGS_ABI_NONE)
		return true;
	sample->n_registers = arch_host()->n_registers;
	return take_many(words, sample->n_registers, &sample->registers);
}

static bool take_stack(struct record_words *words, struct perf_record_sample *sample)
{
	const uint64_t *bytes;
	uint64_t size, filled;

	if (!take(words, &size))
		return false;
	if (size == 0)
		return true;
	if (size % 8 || !take_many(words, size / 8, &bytes) || !take(words, &filled))
		return false;
	/* Behind `filled` the kernel leaves stale ring content. */
	sample->stack = bytes;
	sample->stack_size = filled < size ? filled : size;
	return true;
}

bool perf_record_parse_sample(const struct perf_event_header *header, uint64_t type,
			      struct perf_record_sample *ret)
{
	struct record_words words = {
		(const uint64_t *)(header + 1),
		(const uint64_t *)header + header->size / 8,
	};
	uint64_t ids, cpu;

	memset(ret, 0, sizeof(*ret));
	if (header->size < sizeof(*header))
		return false;
	if (!take(&words, &ret->address) || !take(&words, &ids) || !take(&words, &ret->time) ||
	    !take(&words, &ret->event_id) || !take(&words, &cpu) ||
	    (type & PERF_SAMPLE_PERIOD && !take(&words, &ret->period)) ||
	    !take(&words, &ret->n_chain) || !take_many(&words, ret->n_chain, &ret->chain))
		return false;
	ret->pid = ids;
	ret->tid = ids >> 32;
	ret->cpu = cpu;
	if (type & PERF_SAMPLE_RAW && !take_data(&words, ret))
		return false;
	return take_registers(&words, ret) && take_stack(&words, ret);
}

const char *record_text(const struct perf_event_header *header, size_t fixed)
{
	const char *text = (const char *)header + fixed;

	if (header->size <= fixed + sizeof(struct perf_record_id))
		return NULL;
	return memchr(text, 0, header->size - fixed - sizeof(struct perf_record_id)) ? text : NULL;
}

bool perf_record_raw_has(const struct perf_record_raw *raw, uint32_t offset, uint32_t size)
{
	const size_t fixed = offsetof(struct perf_record_raw, data);

	return raw->header.size >= fixed && raw->size <= raw->header.size - fixed &&
	       size <= raw->size && offset <= raw->size - size;
}
