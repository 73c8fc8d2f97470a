/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "common/base/binary-search.h"
#include "common/base/cleanup.h"
#include "common/unwind/unwind-dropped.h"

enum {
	RUNS = 4,     /* sections that compilers fill in turns: hot, cold, startup, exit */
	GAP_MAX = 64, /* bytes between the functions of a section */
};

/* Consecutive functions of one section, the first of which does not begin in code. */
struct dropped_run {
	uint64_t end;
	size_t n;				    /* those that begin in code */
	const struct cfi_description *first, *last; /* of them */
};

struct dropping {
	const struct cfi *cfi; /* by start */
	const struct unwind_source *source;
	const struct cfi_description **order;	 /* in the section's order */
	const struct cfi_description **previous; /* the FDE before it in its run */
	bool *is_dropped;			 /* both by index in the list */
	struct dropped_run runs[RUNS];
	size_t n_begun;
};

bool unwind_source_is_code(const struct unwind_source *source, uint64_t address)
{
	const struct unwind_segment *segment = unwind_source_segment(source, address);

	return segment && address >= segment->code;
}

static int compare_places(const void *a, const void *b)
{
	const struct cfi_description *const *left = a, *const *right = b;

	return (*left)->range < (*right)->range ? -1 : (*left)->range > (*right)->range;
}

/* Number of FDEs that begin before an address. */
static size_t count_before(const struct cfi *cfi, uint64_t address)
{
	return BINARY_SEARCH(i, 0, cfi->n, cfi->list[i].start < address);
}

/* Whether a run overlaps another FDE that begins in code. */
static bool contradicts_others(const struct dropping *dropping, const struct dropped_run *run)
{
	size_t n_before = count_before(dropping->cfi, run->first->start);
	size_t n_within = count_before(dropping->cfi, run->end) - n_before;
	const struct cfi_description *list = dropping->cfi->list;

	if (n_within > run->n)
		return true;
	return n_before && list[n_before - 1].end > run->first->start &&
	       unwind_source_is_code(dropping->source, list[n_before - 1].start);
}

static void end_run(struct dropping *dropping, struct dropped_run *run)
{
	const struct cfi_description *list = dropping->cfi->list;

	if (run->n && contradicts_others(dropping, run))
		for (const struct cfi_description *each = run->last; each;
		     each = dropping->previous[each - list])
			dropping->is_dropped[each - list] = true;
	*run = (struct dropped_run){ 0 };
}

static void begin_run(struct dropping *dropping, const struct cfi_description *first)
{
	struct dropped_run *run = &dropping->runs[dropping->n_begun++ % RUNS];

	end_run(dropping, run);
	run->end = first->end;
}

/* Whether a function may follow one: at its end, or aligned. */
static bool is_behind(uint64_t start, uint64_t end)
{
	return end && start >= end && start - end < GAP_MAX && start - end < (start & -start);
}

static void go_on(struct dropping *dropping, const struct cfi_description *next)
{
	for (size_t i = 0; i < RUNS; i++) {
		struct dropped_run *run = &dropping->runs[i];

		if (!is_behind(next->start, run->end))
			continue;
		dropping->previous[next - dropping->cfi->list] = run->last;
		run->last = next;
		run->first = run->n ? run->first : next;
		run->end = next->end;
		run->n++;
		return;
	}
}

/* Each object file has its own CIE in .debug_frame, so that a new CIE ends all runs. */
static void follow(struct dropping *dropping)
{
	const struct cfi *cfi = dropping->cfi;

	for (size_t i = 0; i < cfi->n; i++) {
		const struct cfi_description *each = dropping->order[i];
		bool is_next_file = i && each->common != dropping->order[i - 1]->common;

		for (size_t k = 0; k < RUNS && is_next_file; k++)
			end_run(dropping, &dropping->runs[k]);
		if (dropping->is_dropped[each - cfi->list])
			begin_run(dropping, each);
		else
			go_on(dropping, each);
	}
	for (size_t k = 0; k < RUNS; k++)
		end_run(dropping, &dropping->runs[k]);
}

/* Marks FDEs of dropped functions that begin in code, by runs that begin elsewhere. */
static void find_in_code(const struct unwind_source *source, const struct cfi *cfi,
			 bool *is_dropped)
{
	_cleanup_free_ const struct cfi_description **order = calloc(cfi->n, sizeof(*order));
	_cleanup_free_ const struct cfi_description **previous = calloc(cfi->n, sizeof(*previous));
	struct dropping dropping = {
		.cfi = cfi,
		.source = source,
		.order = order,
		.previous = previous,
		.is_dropped = is_dropped,
	};

	if (!order || !previous)
		return;
	for (size_t i = 0; i < cfi->n; i++)
		order[i] = &cfi->list[i];
	qsort(order, cfi->n, sizeof(*order), compare_places);
	follow(&dropping);
}

size_t unwind_source_drop_others(const struct unwind_source *source, struct cfi *cfi)
{
	_cleanup_free_ bool *is_dropped = calloc(cfi->n + 1, sizeof(*is_dropped));
	size_t n = 0, n_before = cfi->n, n_dropped = 0;

	for (size_t i = 0; i < cfi->n; i++) {
		bool is_code = unwind_source_is_code(source, cfi->list[i].start);

		n_dropped += !is_code;
		if (is_dropped)
			is_dropped[i] = !is_code;
	}
	if (is_dropped && n_dropped && cfi->section.kind == CFI_DEBUG_FRAME)
		find_in_code(source, cfi, is_dropped);
	for (size_t i = 0; i < n_before; i++) {
		struct cfi_description each = cfi->list[i];

		if (is_dropped ? is_dropped[i] : !unwind_source_is_code(source, each.start))
			continue;
		cfi->list[i] = cfi->list[n];
		cfi->list[n++] = each;
	}
	cfi->n = n;
	return n_before - n;
}
