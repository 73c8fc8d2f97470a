/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The terms of a filter (sample-filter.h), as its program has them. */
#pragma once

#include <stdint.h>

enum { SAMPLE_TERMS_MAX = 16, SAMPLE_COMM_SIZE = 16 };

enum sample_field {
	SAMPLE_PID,
	SAMPLE_TID,
	SAMPLE_UID,
	SAMPLE_GID,
	SAMPLE_COMM,
	SAMPLE_CGROUP,
};

struct sample_term {
	uint32_t field;
	uint32_t is_equal; /* else "!=" */
	uint32_t ends_group;
	uint32_t level;	 /* of a control group: its depth */
	uint64_t number; /* of a control group: its id */
	union {
		char comm[SAMPLE_COMM_SIZE]; /* padded with zeros */
		uint64_t comm_words[SAMPLE_COMM_SIZE / sizeof(uint64_t)];
	};
};
