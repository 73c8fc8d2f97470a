/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/script/memory-pieces.h"
#include "live-unwinder/script/cpython-trait.h"

enum { WORD = 8 };

/* Only a stack of frames needs the number. */
static uint64_t words_of_frames(const struct cpython_fields *fields,
				const struct wire_memory *record)
{
	uint32_t words, locals;

	if (fields->frame_unit > 0)
		return 1;
	if (fields->code_framesize >= 0)
		return memory_field(&record->bytes, fields->code_framesize, &words, sizeof(words))
			       ? words
			       : 0;
	if (!memory_field(&record->bytes, fields->code_stacksize, &words, sizeof(words)) ||
	    !memory_field(&record->bytes, fields->code_nlocalsplus, &locals, sizeof(locals)))
		return 0;
	return (uint64_t)words + locals + fields->frame_size / WORD;
}

uint64_t cpython_code_words(const struct cpython_fields *fields, const struct wire_memory *record)
{
	uint64_t type;

	/* PyObject ends with ob_type. */
	return memory_field(&record->bytes, fields->object - WORD, &type, sizeof(type)) &&
			       type == (uint64_t)fields->code_type
		       ? words_of_frames(fields, record)
		       : 0;
}
