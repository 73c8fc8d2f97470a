/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/sum.h"
#include "common/base/text.h"
#include "frame-dump/summary.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

static struct summary_stage *find_stage(struct summary *summary, const struct wire_string *name)
{
	for (size_t i = summary->n_stages; i-- > 0;)
		if (!strcmp(summary->stages[i].name, name->data))
			return &summary->stages[i];
	return NULL;
}

void summary_add_stats(struct summary *summary, const struct wire_stats *stats)
{
	struct summary_stage *stage;

	if (summary->n_stages == SUMMARY_STAGES_MAX) {
		summary->n_refused++;
		return;
	}
	stage = &summary->stages[summary->n_stages++];
	snprintf(stage->name, sizeof(stage->name), "%s", stats->stage.data);
	stage->samples_in = stats->samples_in;
	stage->samples_out = stats->samples_out;
}

void summary_add_count(struct summary *summary, const struct wire_count *count)
{
	struct summary_stage *stage = find_stage(summary, &count->stage);

	if (stage && !strcmp(count->group.data, "dropped"))
		sum_add(&stage->dropped, count->value);
}

void summary_add_stack(struct summary *summary, const struct wire_stack *stack)
{
	summary->n_stacks += wire_stack_samples(stack);
	if (stack->end < ARRAY_SIZE(summary->stack_ends))
		summary->stack_ends[stack->end] += wire_stack_samples(stack);
}

static void print_totals(FILE *out, const uint64_t *totals)
{
	fprintf(out, "records:\n");
	for (uint16_t id = 0; id < WIRE_TYPE_MAX; id++) {
		const struct wire_type *type = wire_type(id);

		if (totals[id] && type)
			fprintf(out, "  %-14s %10" PRIu64 "\n", type->name, totals[id]);
		else if (totals[id])
			fprintf(out, "  type %-9u %10" PRIu64 "\n", id, totals[id]);
	}
}

static void print_stack_ends(FILE *out, const struct summary *summary)
{
	if (summary->n_stacks)
		fprintf(out, "stacks:\n");
	for (uint32_t end = 0; end < ARRAY_SIZE(summary->stack_ends); end++) {
		const char *name = wire_name_text(&wire_names_stack_end, end);

		if (summary->stack_ends[end])
			fprintf(out, "  %-17s %7" PRIu64 " %6.2f %%\n", name ? name : "?",
				summary->stack_ends[end],
				100.0 * summary->stack_ends[end] / summary->n_stacks);
	}
}

static bool check_stage(FILE *out, const struct summary_stage *stage,
			const struct summary_stage *before)
{
	uint64_t accounted = stage->samples_out;
	bool good = sum_add(&accounted, stage->dropped) && stage->samples_in == accounted;
	char name[TEXT_CLEAN_SIZE(sizeof(stage->name))], other[sizeof(name)];

	text_clean_string(stage->name, name, sizeof(name));
	fprintf(out,
		"  %-16s samples_in=%" PRIu64 " samples_out=%" PRIu64 " dropped=%" PRIu64 "%s\n",
		name, stage->samples_in, stage->samples_out, stage->dropped,
		good ? "" : ": DOES NOT ADD UP");
	if (before && before->samples_out != stage->samples_in) {
		fprintf(out, "  %s wrote %" PRIu64 " samples, %s read %" PRIu64 "\n",
			text_clean_string(before->name, other, sizeof(other)), before->samples_out,
			name, stage->samples_in);
		return false;
	}
	return good;
}

bool summary_print(FILE *out, const struct summary *summary, const uint64_t *totals)
{
	uint64_t present = summary->n_samples;
	bool good = summary->n_refused == 0;

	print_totals(out, totals);
	print_stack_ends(out, summary);
	fprintf(out, "stages:\n");
	for (size_t i = 0; i < summary->n_stages; i++)
		good &= check_stage(out, &summary->stages[i], i ? &summary->stages[i - 1] : NULL);
	if (summary->n_stages && summary->stages[summary->n_stages - 1].samples_out != present) {
		fprintf(out,
			"  the stream has %" PRIu64 " samples, the last stage wrote %" PRIu64 "\n",
			present, summary->stages[summary->n_stages - 1].samples_out);
		good = false;
	}
	fprintf(out, good ? "everything adds up\n" : "NOT everything adds up\n");
	return good;
}
