/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "live-unwinder/engines.h"

static const struct engine *const list[] = { &engine_of_tables, &engine_of_elfutils };

enum { N_ENGINES = sizeof(list) / sizeof(list[0]), REFERENCE = N_ENGINES - 1, BY_WORDS = 0 };

_Static_assert((int)N_ENGINES <= (int)ENGINES_MAX, "room for the states of all engines");

const struct engine *engines_find(const char *name, size_t *ret_index)
{
	for (size_t i = 0; i < N_ENGINES; i++)
		if (!strcmp(list[i]->name, name)) {
			*ret_index = i;
			return list[i];
		}
	return NULL;
}

const struct engine *engines_first(const struct engines *engines)
{
	return list[engines->first];
}

const struct engine *engines_reference(void)
{
	return list[REFERENCE];
}

static void count_reasons(struct engines *engines, size_t number, struct counters *counters)
{
	for (size_t i = ENGINE_ANSWERED + 1; i < ENGINE_OUTCOMES_MAX; i++)
		if (list[number]->reasons[i])
			engines->n_left[number][i] = counters_get(
				counters, list[number + 1]->left_to, list[number]->reasons[i]);
}

int engines_init(struct engines *engines, const struct engine_sources *sources,
		 struct counters *counters)
{
	int r = 0;

	for (size_t i = 0; i < N_ENGINES; i++)
		engines->n_answered[i] = counters_get(counters, "engine", list[i]->name);
	for (size_t i = 0; i < REFERENCE; i++)
		count_reasons(engines, i, counters);
	for (size_t i = 0; i < N_ENGINES && r == 0; i++)
		r = list[i]->new (sources, &engines->states[i]);
	return r;
}

void engines_deinit(struct engines *engines)
{
	for (size_t i = 0; i < N_ENGINES; i++) {
		if (engines->states[i])
			list[i]->free(engines->states[i]);
		engines->states[i] = NULL;
	}
}

static void cut_by_others(struct engines *engines, size_t number, struct unwinding *unwinding)
{
	for (size_t i = 0; i < N_ENGINES; i++)
		if (i != number && list[i]->cut)
			list[i]->cut(engines->states[i], unwinding);
}

bool engines_unwind(struct engines *engines, struct unwinding *unwinding)
{
	unsigned int outcome = ENGINE_ANSWERED;
	size_t i = engines->first;

	while ((outcome = list[i]->unwind(engines->states[i], unwinding)) != ENGINE_ANSWERED)
		++*engines->n_left[i++][outcome];
	++*engines->n_answered[i];
	cut_by_others(engines, i, unwinding);
	return i != REFERENCE;
}

void engines_unwind_by_words(struct engines *engines, struct unwinding *unwinding)
{
	list[BY_WORDS]->unwind(engines->states[BY_WORDS], unwinding);
	cut_by_others(engines, BY_WORDS, unwinding);
}

void engines_unwind_by_reference(struct engines *engines, struct unwinding *unwinding)
{
	list[REFERENCE]->unwind(engines->states[REFERENCE], unwinding);
	cut_by_others(engines, REFERENCE, unwinding);
}

void engines_forget_process(struct engines *engines, struct process *process)
{
	for (size_t i = 0; i < N_ENGINES; i++)
		if (engines->states[i])
			list[i]->forget_process(engines->states[i], process);
}

void engines_forget_image(struct engines *engines, uint64_t image)
{
	for (size_t i = 0; i < N_ENGINES; i++)
		list[i]->forget_image(engines->states[i], image);
}
