/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Folded stacks: "comm;outermost;…;leaf N", one line a distinct stack, in the order of the text;
 * flamegraph.pl's mark _[k] behind names of the kernel. The sink has counted all stacks by the
 * time that they are written, at the end.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture-sink/capture.h"
#include "common/cleanup.h"

enum { LINE_SIZE_MAX = OUTPUT_BUFFER / 2 }; /* a longer one is cut, and counted */

static int compare(const void *a, const void *b, void *arg)
{
	const struct stack_count *left = a, *right = b;
	const struct names *names = arg;

	for (size_t i = 0; i < left->n_names && i < right->n_names; i++) {
		int order;

		if (left->names[i] == right->names[i])
			continue;
		order = strcmp(names_text(names, left->names[i]),
			       names_text(names, right->names[i]));
		if (order)
			return order;
	}
	return (left->n_names > right->n_names) - (left->n_names < right->n_names);
}

/* A frame's name: the separator may not stand in it. */
static size_t put_name(char *line, size_t used, const char *name)
{
	for (; *name && used < LINE_SIZE_MAX; name++)
		line[used++] = *name == ';' ? ':' : *name;
	return used;
}

static int put_line(struct capture *capture, const struct stack_count *count, char *line)
{
	size_t used = 0;

	for (size_t i = 0; i < count->n_names; i++) {
		if (i && used < LINE_SIZE_MAX)
			line[used++] = ';';
		used = put_name(line, used, names_text(&capture->names, count->names[i]));
	}
	if (used == LINE_SIZE_MAX)
		++*counters_get(&capture->stage->counters, "refused", "long-lines");
	used += sprintf(line + used, " %" PRIu64 "\n", count->n_samples);
	return output_add(&capture->output, line, used);
}

static int end_file(struct capture *capture, enum stage_stream_end end)
{
	_cleanup_free_ struct stack_count *list = NULL;
	_cleanup_free_ char *line = malloc(LINE_SIZE_MAX + 32);
	char other[64];
	size_t n;
	int r;

	if (!line)
		return -ENOMEM;
	r = stack_counts_list(&capture->counts, compare, &capture->names, &list, &n);
	for (size_t i = 0; i < n && r == 0; i++)
		r = put_line(capture, &list[i], line);
	if (r == 0 && capture->counts.n_other) {
		int size =
			sprintf(other, "[too-many-stacks] %" PRIu64 "\n", capture->counts.n_other);

		r = output_add(&capture->output, other, size);
	}
	return r;
}

const struct format format_folded = {
	.name = "folded",
	.end = end_file,
};
