/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "formats/syscap/counters.h"
#include "common/base/text.h"

enum { N_OWN = 2 };

int syscap_counters_begin(struct syscap_counters *counters, uint64_t time)
{
	const struct syscap_counter own[N_OWN] = {
		{ "Sampler", "Lost Samples", "Events lost because a ring was full", 1 },
		{ "Sampler", "Incomplete Stacks", "Stacks that do not reach their outermost frame",
		  2 },
	};

	return syscap_define_counters(counters->syscap, (struct syscap_time){ time, -1, -1 }, own,
				      N_OWN);
}

int syscap_counters_put(struct syscap_counters *counters, uint64_t time)
{
	const struct syscap_counter own[N_OWN] = {
		{ .id = 1, .value = counters->n_lost },
		{ .id = 2, .value = counters->n_incomplete },
	};

	counters->time = time;
	return syscap_set_counters(counters->syscap, (struct syscap_time){ time, -1, -1 }, own,
				   N_OWN);
}

int syscap_counters_add(struct syscap_counters *counters, const struct wire_counter *record,
			uint64_t time)
{
	char category[32], name[32], description[52];
	struct syscap_counter counter = {
		.category = text_clean_string(record->category.data, category, sizeof(category)),
		.name = text_clean_string(record->name.data, name, sizeof(name)),
		.description = text_clean_string(record->description.data, description,
						 sizeof(description)),
		.id = N_OWN + record->number,
		.divisor = record->divisor,
	};

	if (!record->number || record->number > SYSCAP_MACHINE_COUNTERS_MAX)
		return 0;
	counters->divisors[record->number] = record->divisor ? record->divisor : 1;
	return syscap_define_counters(counters->syscap, (struct syscap_time){ time, -1, -1 },
				      &counter, 1);
}

int syscap_counters_add_values(struct syscap_counters *counters,
			       const struct wire_counter_values *record)
{
	struct syscap_time when = { record->time, -1, -1 };
	struct syscap_counter some[SYSCAP_COUNTERS_A_GROUP];
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < record->values.n && r == 0; i++) {
		uint64_t number = record->values.data[i].counter;

		if (number > SYSCAP_MACHINE_COUNTERS_MAX || !counters->divisors[number])
			continue;
		some[n++] = (struct syscap_counter){ .id = N_OWN + number,
						     .value = record->values.data[i].value,
						     .divisor = counters->divisors[number] };
		if (n == SYSCAP_COUNTERS_A_GROUP) {
			r = syscap_set_counters(counters->syscap, when, some, n);
			n = 0;
		}
	}
	return r == 0 && n ? syscap_set_counters(counters->syscap, when, some, n) : r;
}
