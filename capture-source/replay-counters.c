/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>

#include "capture-source/replay-counters.h"

enum {
	ID_BITS = 24,
	TYPE_DOUBLE = 1,
	HUNDREDTHS = 100,
	OURS_MAX = 2, /* ids of capture-sink's own counters, which the next sink counts again */
};

#define VALUE_MAX 9e15 /* doubles represent all whole numbers up to here */

void replay_counters_init(struct replay_counters *counters)
{
	*counters = (struct replay_counters){ 0 };
	pair_map_init(&counters->numbers, REPLAY_COUNTERS_MAX);
}

void replay_counters_deinit(struct replay_counters *counters)
{
	pair_map_deinit(&counters->numbers);
}

bool replay_counters_is_whole(const struct syscap_frame *frame)
{
	const struct syscap_counters_frame *counters = (const void *)frame;
	const struct syscap_counter_values_frame *values = (const void *)frame;
	size_t group = sizeof(values->ids) + sizeof(values->values);

	if ((frame->type & 0xff) == SYSCAP_CTRDEF)
		return frame->size >= sizeof(*counters) &&
		       counters->n <=
			       (frame->size - sizeof(*counters)) / sizeof(*counters->counters);
	return frame->size >= sizeof(*values) - group &&
	       values->n_groups <= (frame->size - (sizeof(*values) - group)) / group;
}

static struct wire_string text(const char *at, size_t size, size_t limit)
{
	size_t n = strnlen(at, size);

	return (struct wire_string){ at, n < limit ? n : limit };
}

int replay_counters_define(struct replay_counters *counters, struct stage *stage,
			   const struct syscap_counters_frame *frame, bool is_ours)
{
	int r = 0;

	for (size_t i = 0; i < frame->n && r == 0; i++) {
		const struct syscap_counter_frame_entry *entry = &frame->counters[i];
		uint32_t id = entry->id_and_type & ((1 << ID_BITS) - 1);
		bool is_double = entry->id_and_type >> ID_BITS == TYPE_DOUBLE;
		const struct wire_counter record = {
			.number = counters->n + 1,
			.divisor = is_double ? HUNDREDTHS : 1,
			.category = text(entry->category, sizeof(entry->category), 31),
			.name = text(entry->name, sizeof(entry->name), 31),
			.description = text(entry->description, sizeof(entry->description), 51),
		};

		if ((is_ours && id <= OURS_MAX) || pair_map_find(&counters->numbers, id, 0))
			continue;
		r = pair_map_add(&counters->numbers, id, 0,
				 (uint64_t)record.number << 1 | is_double);
		if (r == 0)
			r = stage_put(stage, WIRE_RECORD_counter, &record);
		counters->n += r == 0;
	}
	return r == -ENOSPC ? 0 : r;
}

/* false: streams cannot represent it, because it is negative or not a number. */
static bool convert(int64_t bits, bool is_double, uint64_t *ret)
{
	double value;

	*ret = bits;
	if (!is_double)
		return bits >= 0;
	memcpy(&value, &bits, sizeof(value));
	if (!(value >= 0 && value < VALUE_MAX / HUNDREDTHS))
		return false;
	*ret = value * HUNDREDTHS + 0.5;
	return true;
}

/* Groups are consecutive: eight ids, then eight values. */
int replay_counters_set(struct replay_counters *counters, struct stage *stage,
			const struct syscap_counter_values_frame *frame)
{
	const char *at = (const char *)frame->ids;
	struct wire_counter_value values[SYSCAP_COUNTERS_A_GROUP];
	struct wire_counter_values record = { .time = frame->frame.time, .values = { values, 0 } };
	int r = 0;

	for (size_t group = 0; group < frame->n_groups && r == 0; group++) {
		uint32_t ids[SYSCAP_COUNTERS_A_GROUP];
		int64_t emitted[SYSCAP_COUNTERS_A_GROUP];

		memcpy(ids, at, sizeof(ids));
		memcpy(emitted, at + sizeof(ids), sizeof(emitted));
		at += sizeof(ids) + sizeof(emitted);
		record.values.n = 0;
		for (size_t i = 0; i < SYSCAP_COUNTERS_A_GROUP; i++) {
			const uint64_t *known =
				ids[i] ? pair_map_find(&counters->numbers, ids[i], 0) : NULL;
			struct wire_counter_value *value = &values[record.values.n];

			if (!known || !convert(emitted[i], *known & 1, &value->value))
				continue;
			value->counter = *known >> 1;
			record.values.n++;
		}
		if (record.values.n)
			r = stage_put(stage, WIRE_RECORD_counter_values, &record);
	}
	return r;
}
