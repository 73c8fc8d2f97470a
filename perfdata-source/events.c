/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "perfdata-source/events.h"

enum { ATTR_LEAST = PERF_ATTR_SIZE_VER0 }; /* 64 bytes: of the first kernels that had perf */

void events_init(struct events *events)
{
	events->n = 0;
	pair_map_init(&events->by_id, EVENT_IDS_MAX);
}

void events_deinit(struct events *events)
{
	pair_map_deinit(&events->by_id);
}

int events_add(struct events *events, const void *attr_bytes, size_t size, const uint8_t *ids,
	       size_t n_ids)
{
	struct perf_event_attr attr = { 0 };
	struct event *event = &events->list[events->n];

	if (size < ATTR_LEAST || events->n == EVENTS_MAX)
		return PERFDATA_E_DAMAGED;
	/* What an older kernel did not have is 0, what a newer one has is of no use here. */
	memcpy(&attr, attr_bytes, size < sizeof(attr) ? size : sizeof(attr));
	*event = (struct event){
		.layout = {
			.sample_type = attr.sample_type,
			.read_format = attr.read_format,
			.branch_type = attr.branch_sample_type,
			.register_mask = attr.sample_regs_user,
			.sample_id_all = attr.sample_id_all,
		},
		.type = attr.type,
		.config = attr.config,
		.rate = attr.freq ? attr.sample_freq : 0,
		.period = attr.freq ? 0 : attr.sample_period,
		.stack_size = attr.sample_stack_user,
		.is_clockid = attr.use_clockid,
		.clockid = attr.clockid,
	};
	for (size_t i = 0; i < n_ids; i++)
		if (!pair_map_find(&events->by_id, layout_word(ids, i), 0) &&
		    pair_map_add(&events->by_id, layout_word(ids, i), 0, events->n) < 0)
			return PERFDATA_E_DAMAGED;
	events->n++;
	return 0;
}

const struct event *events_of_record(const struct events *events,
				     const struct perf_event_header *header)
{
	uint64_t id, *index;

	if (events->n == 1)
		return &events->list[0];
	if (!events->n || !layout_find_id(events->list[0].layout.sample_type, header, &id))
		return NULL;
	index = pair_map_find(&events->by_id, id, 0);
	if (index)
		return &events->list[*index];
	/* What perf itself has made up tells the id 0. */
	return id == 0 ? &events->list[0] : NULL;
}

const struct event *events_main(const struct events *events)
{
	for (size_t i = 0; i < events->n; i++)
		if (events->list[i].type != PERF_TYPE_SOFTWARE ||
		    events->list[i].config != PERF_COUNT_SW_DUMMY)
			return &events->list[i];
	return NULL;
}

const char *event_title(const struct event *event)
{
	static const struct {
		uint32_t type;
		uint64_t config;
		const char *name;
	} names[] = {
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "cycles" },
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, "instructions" },
		{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, "cpu-clock" },
		{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, "task-clock" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].type == event->type && names[i].config == event->config)
			return names[i].name;
	return "event";
}
