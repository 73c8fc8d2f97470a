/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What programs publish about a sample (contexts.h), as a text by which samples are grouped. */
#pragma once

#include "profile/profile.h"

enum label_kind { LABEL_NONE, LABEL_TRACE, LABEL_SPAN, LABEL_SERVICE, LABEL_ATTRIBUTE };

struct label {
	enum label_kind kind;
	const char *key; /* of an attribute; borrowed */
};

#define LABEL_WORDS "trace, span, service or attribute:NAME"

/* Parses one of LABEL_WORDS; false: it is none. `ret` borrows the text. */
bool label_parse(const char *text, struct label *ret);

/*
 * The text of a sample, as a name; 0: it has none. An attribute is that of the sample's trace
 * context or, if it has none of that name, of its process's resource.
 */
uint32_t label_of(const struct profile *profile, const struct label *label,
		  const struct profile_sample *sample);
