/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks a stream's own statistics against its content. */
#pragma once

#include <stdio.h>

#include "common/wire/wire.h"

enum { SUMMARY_STAGES_MAX = 64 };

struct summary_stage {
	char name[65];
	uint64_t samples_in, samples_out, dropped;
};

struct summary {
	struct summary_stage stages[SUMMARY_STAGES_MAX];
	size_t n_stages;
	uint64_t n_refused;			  /* stats records beyond the limit */
	uint64_t stack_ends[WIRE_STACK_ENDS_MAX]; /* samples, by enum wire_stack_end */
	uint64_t n_stacks;			  /* samples of all stacks */
	uint64_t n_samples; /* present in any form, with allocations and frees */
};

void summary_add_stats(struct summary *summary, const struct wire_stats *stats);
void summary_add_count(struct summary *summary, const struct wire_count *count);
void summary_add_stack(struct summary *summary, const struct wire_stack *stack);

/*
 * Prints records by type, stages and end reasons. false if something does not add up: samples_in is
 * not samples_out + dropped, a stage read other samples than the one before it wrote, or the last
 * stage wrote other samples than are present.
 */
bool summary_print(FILE *out, const struct summary *summary, const uint64_t *totals);
