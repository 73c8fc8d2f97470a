/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/unwind/cfi-program.h"
#include "common/unwind/unwind-inferred.h"

/* For code without a caller. */
static const struct unwind_rule outermost = {
	.cfa = UNWIND_CFA_SP,
	.cfa_offset = 8,
	.return_address = UNWIND_VALUE_UNDEFINED,
	.fp = UNWIND_VALUE_SAME,
	.flags = UNWIND_FLAG_INFERRED,
};

/* For code that switches stacks: FDEs lead to callers there that are none. */
static const struct unwind_rule nowhere = {
	.cfa = UNWIND_CFA_FALLBACK,
	.flags = UNWIND_FLAG_USER_RULE,
};

static int add(struct unwind_inferred *made, uint64_t from, uint64_t to,
	       const struct unwind_rule *rule)
{
	if (made->n == UNWIND_INFERRED_MAX) {
		made->n_refused++;
		return 0;
	}
	return GROWING_LIST_ADD(made->list, made->n,
				(struct unwind_inferred_row){ from, to, *rule });
}

static int add_better(struct unwind_inferred *made, uint64_t from, uint64_t to,
		      const struct unwind_rule *rule)
{
	if (made->n_better == UNWIND_INFERRED_BETTER_MAX) {
		made->n_refused++;
		return 0;
	}
	if (GROWING_LIST_ADD(made->better, made->n_better,
			     (struct unwind_inferred_row){ from, to, *rule }) < 0)
		return -ENOMEM;
	return add(made, from, to, rule);
}

/* A PLT whose rules are being added. */
struct maker {
	struct unwind_inferred *made;
	size_t n_before; /* rows before this PLT's */
	uint64_t bias;	 /* of an address: offset = address + bias */
	uint64_t end;	 /* offset of its end */
};

/* Adds a row up to the end; the row before ends here. */
static int add_row(uint64_t address, const struct unwind_rule *rule, void *arg)
{
	const struct maker *maker = arg;
	struct unwind_inferred *made = maker->made;
	uint64_t from = address + maker->bias;

	if (made->n > maker->n_before)
		made->list[made->n - 1].to = from;
	return add(made, from, maker->end, rule);
}

/* Returns the segment that holds all of a range of code; NULL: none does. */
static const struct unwind_segment *find_segment(const struct unwind_source *source,
						 uint64_t address, uint64_t size)
{
	const struct unwind_segment *segment = unwind_source_segment(source, address);

	return segment && size <= segment->size - (address - segment->address) ? segment : NULL;
}

static int add_plt(const struct unwind_source *source, const struct plt_code *plt,
		   struct unwind_inferred *made)
{
	const struct unwind_segment *segment = find_segment(source, plt->address, plt->size);
	struct maker maker = { .made = made, .n_before = made->n };
	const struct cfi_rows rows = { add_row, &maker };
	int r;

	if (!segment) {
		made->n_refused++;
		return 0;
	}
	maker.bias = segment->offset - segment->address;
	maker.end = plt->address + plt->size + maker.bias;
	r = source->arch->plt_rows(plt, &rows);
	made->n_refused += r > 0;
	return r < 0 ? r : 0;
}

/*
 * Where a Go frame keeps the frame pointer depends on how far its prologue has got, which is not
 * recorded: within a frame it is unknown. (Go's own callers do not need it.)
 */
static int add_go_rows(const struct go_pclntab *table, const struct go_function *function,
		       uint64_t bias, struct unwind_inferred *made)
{
	struct go_walk walk = go_walk_begin(table, function, function->stack_at);
	struct unwind_rule rule = {
		.cfa = UNWIND_CFA_SP,
		.return_address = UNWIND_VALUE_AT_CFA,
		.return_address_offset = -8,
		.flags = UNWIND_FLAG_INFERRED,
	};
	int r = 0;

	while (r == 0 && go_stack_walk_next(&walk)) {
		rule.cfa_offset = walk.value + 8;
		rule.fp = walk.value ? UNWIND_VALUE_UNDEFINED : UNWIND_VALUE_SAME;
		r = add(made, walk.start + bias, walk.pc + bias, &rule);
	}
	return r;
}

/*
 * Goroutines begin in runtime.goexit(), as if it had called them. Other functions that the runtime
 * calls a top frame have callers all the same: the C library, the kernel's signal frame.
 */
static bool is_outermost(const struct go_function *function)
{
	return function->flags & GO_FUNCTION_TOP_FRAME && !strcmp(function->name, "runtime.goexit");
}

/* runtime.sigreturn(), since Go 1.20 runtime.sigreturn__sigaction(). */
static bool is_signal_return(const struct go_function *function)
{
	return !strncmp(function->name, "runtime.sigreturn", strlen("runtime.sigreturn"));
}

/*
 * The code that signal handlers return to: the kernel's frame is at the stack pointer, as in the
 * unwind information of glibc's __restore_rt. As it is never called, its frame is looked up one
 * byte early, which is padding.
 */
static int add_signal_return(const struct arch *arch, struct unwind_inferred *made, uint64_t from,
			     uint64_t to)
{
	const struct unwind_rule rule = {
		.cfa = UNWIND_CFA_AT_SP,
		.cfa_offset = arch->interrupted_at[arch->sp],
		.return_address = UNWIND_VALUE_AT_SP,
		.return_address_offset = arch->interrupted_at[arch->pc],
		.fp = UNWIND_VALUE_AT_SP,
		.fp_offset = arch->interrupted_at[arch->fp],
		.flags = UNWIND_FLAG_SIGNAL | UNWIND_FLAG_USER_RULE,
	};
	int r = from ? add(made, from - 1, from, &rule) : 0;

	return r < 0 ? r : add_better(made, from, to, &rule);
}

static int add_go_function(const struct unwind_source *source, const struct go_function *function,
			   struct unwind_inferred *made)
{
	const struct unwind_segment *segment =
		find_segment(source, function->start, function->end - function->start);
	uint64_t bias = segment ? segment->offset - segment->address : 0;

	if (!segment) {
		made->n_refused++;
		return 0;
	}
	if (is_outermost(function))
		return add_better(made, function->start + bias, function->end + bias, &outermost);
	if (function->flags & GO_FUNCTION_WRITES_STACK)
		return add_better(made, function->start + bias, function->end + bias, &nowhere);
	if (!source->arch->base->call_pushes)
		return 0; /* Go's frames are not known on this machine */
	if (is_signal_return(function))
		return add_signal_return(source->arch->base, made, function->start + bias,
					 function->end + bias);
	return add_go_rows(source->go, function, bias, made);
}

static int add_go(const struct unwind_source *source, struct unwind_inferred *made)
{
	int r = 0;

	for (uint64_t i = 0; i < source->go->n && r == 0; i++) {
		struct go_function function;

		if (go_pclntab_function(source->go, i, &function))
			r = add_go_function(source, &function, made);
		else
			made->n_refused++;
	}
	return r;
}

static int compare(const void *a, const void *b)
{
	const struct unwind_inferred_row *left = a, *right = b;

	return left->from < right->from ? -1 : left->from > right->from;
}

/* Only forged sections overlap: the one that begins first is used. */
static void cut_overlaps(struct unwind_inferred *made)
{
	uint64_t end = 0;
	size_t n = 0;

	for (size_t i = 0; i < made->n; i++) {
		struct unwind_inferred_row *row = &made->list[i];

		if (row->from < end)
			row->from = end;
		if (row->from >= row->to)
			continue;
		end = row->to;
		made->list[n++] = *row;
	}
	made->n = n;
}

int unwind_inferred_find(const struct unwind_source *source, struct unwind_inferred *ret)
{
	_cleanup_(unwind_inferred_deinit) struct unwind_inferred made = { 0 };
	int r = 0;

	for (size_t i = 0; i < source->n_plts && r == 0; i++)
		r = add_plt(source, &source->plts[i], &made);
	if (r == 0 && source->go)
		r = add_go(source, &made);
	if (r < 0)
		return r;
	if (made.n)
		qsort(made.list, made.n, sizeof(*made.list), compare);
	cut_overlaps(&made);
	*ret = made;
	made = (struct unwind_inferred){ 0 };
	return 0;
}

const struct unwind_rule *unwind_inferred_better(const struct unwind_inferred *made,
						 uint64_t offset)
{
	for (size_t i = 0; i < made->n_better; i++)
		if (offset >= made->better[i].from && offset < made->better[i].to)
			return &made->better[i].rule;
	return NULL;
}

void unwind_inferred_deinit(struct unwind_inferred *made)
{
	free(made->list);
	free(made->better);
	*made = (struct unwind_inferred){ 0 };
}
