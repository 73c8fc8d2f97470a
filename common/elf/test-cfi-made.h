/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: call frame information made by hand, including what a hostile file could hold. */
#pragma once

#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/elf/cfi.h"

/* A growing section. Its memory has no spare byte, so sanitizers detect reads past its end. */
struct made {
	enum cfi_kind kind;
	uint64_t address;
	uint8_t *bytes;
	size_t n;
};

/* Contents of a CIE; 0 stands for what compilers for x86-64 write. */
struct made_common {
	uint8_t version;
	const char *augmentation; /* "" for none */
	uint8_t encoding;	  /* for 'R' */
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t return_address;
	const uint8_t *program;
	size_t size;
};

struct made_description {
	size_t common;	  /* position of its CIE */
	uint8_t encoding; /* as in its CIE */
	uint64_t start, length;
	const uint8_t *augmentation; /* preceded by its size; NULL: the CIE has no 'z' */
	size_t augmentation_size;
	const uint8_t *program;
	size_t size;
};

/* Initializes the two fields above: the bytes of a program and their number. */
#define PROGRAM(...)                                                                               \
	.program = (const uint8_t[]){ __VA_ARGS__ },                                               \
	.size = sizeof((const uint8_t[]){ __VA_ARGS__ })

/* Empty augmentation data, as in almost every FDE of .eh_frame. */
#define NO_AUGMENTATION .augmentation = (const uint8_t[]){ 0 }, .augmentation_size = 1

static inline void made_deinit(struct made *made)
{
	free(made->bytes);
}

static inline void put_bytes(struct made *made, const void *bytes, size_t n)
{
	if (!n)
		return;
	made->bytes = realloc(made->bytes, made->n + n);
	assert_non_null(made->bytes);
	memcpy(made->bytes + made->n, bytes, n);
	made->n += n;
}

static inline void put_number(struct made *made, uint64_t value, size_t size)
{
	put_bytes(made, &value, size);
}

static inline void put_uleb(struct made *made, uint64_t value)
{
	do {
		put_number(made, (value & 0x7f) | (value > 0x7f ? 0x80 : 0), 1);
		value >>= 7;
	} while (value);
}

static inline void put_sleb(struct made *made, int64_t value)
{
	while (value < -64 || value > 63) {
		put_number(made, (value & 0x7f) | 0x80, 1);
		value >>= 7;
	}
	put_number(made, value & 0x7f, 1);
}

static inline void put_format(struct made *made, uint8_t format, uint64_t value)
{
	switch (format & 0x0f) {
	case DW_EH_PE_uleb128:
		put_uleb(made, value);
		break;
	case DW_EH_PE_sleb128:
		put_sleb(made, value);
		break;
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		put_number(made, value, 2);
		break;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		put_number(made, value, 4);
		break;
	default:
		put_number(made, value, 8);
	}
}

static inline void put_encoded(struct made *made, uint8_t encoding, uint64_t address)
{
	if ((encoding & 0x70) == DW_EH_PE_pcrel)
		address -= made->address + made->n;
	put_format(made, encoding, address);
}

/* Begins an entry; its length is filled in at its end. */
static inline size_t begin_entry(struct made *made)
{
	put_number(made, 0, 4);
	return made->n - 4;
}

static inline void end_entry(struct made *made, size_t at)
{
	uint32_t length = made->n - at - 4;

	memcpy(made->bytes + at, &length, sizeof(length));
}

/* Augmentation data, preceded by its size: one item for each character after "z". */
static inline void put_augmentation_data(struct made *made, const struct made_common *common)
{
	struct made data = { 0 };

	for (const char *c = common->augmentation + 1; *c; c++) {
		if (*c == 'R')
			put_number(&data, common->encoding, 1);
		if (*c == 'L')
			put_number(&data, DW_EH_PE_udata2, 1);
		if (*c == 'P') {
			put_number(&data, DW_EH_PE_udata4, 1);
			put_number(&data, 0xdeadbeef, 4);
		}
	}
	put_uleb(made, data.n);
	put_bytes(made, data.bytes, data.n);
	made_deinit(&data);
}

/* The part of a CIE after its id. */
static inline void put_common_body(struct made *made, const struct made_common *common)
{
	uint8_t version = common->version ? common->version : 1;
	uint64_t return_address = common->return_address ? common->return_address : 16;

	put_number(made, version, 1);
	put_bytes(made, common->augmentation, strlen(common->augmentation) + 1);
	if (version == 4) {
		put_number(made, 8, 1); /* address size */
		put_number(made, 0, 1); /* segment selector size */
	}
	put_uleb(made, common->code_factor ? common->code_factor : 1);
	put_sleb(made, common->data_factor ? common->data_factor : -8);
	if (version == 1)
		put_number(made, return_address, 1);
	else
		put_uleb(made, return_address);
	if (common->augmentation[0] == 'z')
		put_augmentation_data(made, common);
	put_bytes(made, common->program, common->size);
}

/* Returns the position of the CIE, for its FDEs. */
static inline size_t put_common(struct made *made, const struct made_common *common)
{
	size_t at = begin_entry(made);

	put_number(made, made->kind == CFI_EH_FRAME ? 0 : UINT32_MAX, 4);
	put_common_body(made, common);
	end_entry(made, at);
	return at;
}

/* The part of an FDE after its id. */
static inline void put_description_body(struct made *made,
					const struct made_description *description)
{
	put_encoded(made, description->encoding, description->start);
	put_format(made, description->encoding, description->length);
	put_bytes(made, description->augmentation, description->augmentation_size);
	put_bytes(made, description->program, description->size);
}

static inline void put_description(struct made *made, const struct made_description *description)
{
	size_t at = begin_entry(made);
	size_t common = description->common;

	put_number(made, made->kind == CFI_EH_FRAME ? made->n - common : common, 4);
	put_description_body(made, description);
	end_entry(made, at);
}

static inline struct cfi_section made_section(const struct made *made)
{
	return (struct cfi_section){ made->kind, made->bytes, made->n, made->address };
}
