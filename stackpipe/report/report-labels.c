/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samples by what programs publish: which of them count, and the sum of each label. */
#include <stdlib.h>

#include "common/base/growing-list.h"
#include "common/base/sum.h"
#include "stackpipe/regex-option.h"
#include "stackpipe/report/report.h"

void report_labels_init(struct report_labels *labels)
{
	pair_map_init(&labels->index, PROFILE_CONTEXTS_MAX + 1);
}

void report_labels_deinit(struct report_labels *labels)
{
	pair_map_deinit(&labels->index);
	free(labels->rows);
}

bool report_labels_match(const struct report *report, const struct profile_sample *sample)
{
	const struct profile *profile = &report->recorder->profile;

	for (size_t i = 0; i < report->options->n_conditions; i++) {
		const struct report_condition *condition = &report->options->conditions[i];
		uint32_t name = label_of(profile, &condition->label, sample);

		if (!name || !regex_option_matches(condition->regex, profile_text(profile, name)))
			return false;
	}
	return true;
}

int report_labels_add(struct report *report, const struct profile_sample *sample, uint64_t n)
{
	struct report_labels *labels = &report->labels;
	uint32_t name = label_of(&report->recorder->profile, &report->options->by, sample);
	const uint64_t *known = pair_map_find(&labels->index, name, 0);
	int r;

	if (known) {
		sum_add(&labels->rows[*known].n, n);
		return 0;
	}
	r = pair_map_add(&labels->index, name, 0, labels->n);
	return r < 0 ? r
		     : GROWING_LIST_ADD(labels->rows, labels->n, (struct report_row){ name, n });
}

void report_labels_sort(struct report_labels *labels)
{
	if (labels->n)
		qsort(labels->rows, labels->n, sizeof(*labels->rows), report_compare_rows);
}
