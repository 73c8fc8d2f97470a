/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The pieces of a memory record of a method of HotSpot, behind the object: what walk programs lead
 * to, in the order in which perf-source's has it.
 */
#pragma once

#include "common/script/memory-pieces.h"
#include "common/script/runtime-table.h"

enum hotspot_method_piece {
	HOTSPOT_METHOD_CODE,  /* ConstMethod: what never changes of it, with its table of lines */
	HOTSPOT_METHOD_POOL,  /* ConstantPool, by whose numbers it has names: */
	HOTSPOT_METHOD_NAME,  /* its own, */
	HOTSPOT_METHOD_CLASS, /* its class, */
	HOTSPOT_METHOD_CLASS_NAME,
	HOTSPOT_METHOD_CLASS_POOL, /* which has a pool, */
	HOTSPOT_METHOD_FILE,	   /* and in that the file */
	HOTSPOT_METHOD_PIECES_MAX,
};

/* Whether a record is one of a method, and not of code. */
static inline bool hotspot_is_method(const struct hotspot_fields *fields,
				     const struct wire_memory *record)
{
	uint64_t type;

	return memory_field(&record->bytes, 0, &type, sizeof(type)) && type &&
	       (type == (uint64_t)fields->method_type || type == (uint64_t)fields->method_archived);
}
