/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Converts records to the form that common/source/processes.c takes, that of today's kernel with
 * perf-source's attributes: a fixed part, a text, an id.
 */
#include <string.h>
#include <sys/mman.h>

#include "common/proc/proc.h"
#include "common/source/kernel-symbol.h"
#include "perfdata-source/kernel-names.h"
#include "perfdata-source/sideband.h"

enum {
	MISC_MMAP_DATA = 1 << 13, /* PERF_RECORD_MISC_MMAP_DATA: MMAP only; not executable */
	MISC_FORK_EXEC = 1 << 13, /* PERF_RECORD_MISC_FORK_EXEC: FORK only */
};

/* PERF_RECORD_MMAP, the predecessor of MMAP2. */
struct old_mmap {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, length, offset;
	char path[];
};

union canonical {
	struct perf_record_mmap2 mmap;
	struct perf_record_comm comm;
	struct perf_record_task task;
	struct perf_record_ksymbol ksymbol;
	uint64_t words[(sizeof(struct perf_record_mmap2) + PROC_PATH_MAX + 16 +
			sizeof(struct perf_record_id)) /
		       8];
};

static const char *text_of(const struct ordered *record, size_t fixed, size_t *ret_size)
{
	const char *text = (const char *)record->bytes + fixed;
	struct parsed_id id;

	if (!layout_parse_id(&record->event->layout, record->bytes, &id) ||
	    record->bytes->size < fixed + id.size)
		return NULL;
	*ret_size = strnlen(text, record->bytes->size - fixed - id.size);
	return *ret_size < PROC_PATH_MAX ? text : NULL;
}

/* Copies the fixed part and the text of a record; the id is not used and left zero. */
static bool make_canonical(const struct ordered *record, size_t fixed, union canonical *ret)
{
	size_t size;
	const char *text = text_of(record, fixed, &size);

	if (!text)
		return false;
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, record->bytes, fixed);
	memcpy((char *)ret + fixed, text, size);
	ret->mmap.header.size = fixed + ((size + 8) & ~7UL) + sizeof(struct perf_record_id);
	return true;
}

static bool make_mmap(const struct ordered *record, union canonical *ret)
{
	const struct old_mmap *old = (const void *)record->bytes;
	const char *text;
	size_t size;

	if (record->bytes->type == PERF_RECORD_MMAP2)
		return make_canonical(record, sizeof(ret->mmap), ret);
	text = text_of(record, sizeof(*old), &size);
	if (!text)
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->mmap = (struct perf_record_mmap2){
		.header = { PERF_RECORD_MMAP2, 0,
			    sizeof(ret->mmap) + ((size + 8) & ~7UL) +
				    sizeof(struct perf_record_id) },
		.pid = old->pid,
		.tid = old->tid,
		.start = old->start,
		.length = old->length,
		.offset = old->offset,
		.protection = old->header.misc & MISC_MMAP_DATA ? PROT_READ : PROT_READ | PROT_EXEC,
	};
	memcpy(ret->mmap.path, text, size);
	return true;
}

/*
 * perf marks forks that it synthesizes since 4.20 (tools/perf/util/synthetic-events.c); older
 * versions gave them time 0 where records have times.
 */
static bool is_synthetic(const struct ordered *record)
{
	return record->bytes->misc & MISC_FORK_EXEC ||
	       (ordered_has_time(record) && record->time == 0);
}

static int take_task(struct perfdata_replay *replay, const struct ordered *record, uint64_t time)
{
	struct perf_record_task task;

	memcpy(&task, record->bytes, sizeof(task));
	if (record->bytes->type == PERF_RECORD_EXIT)
		return processes_exit(&replay->processes, &task, time);
	/* A process found in /proc at perf's start inherits nothing: its own mappings follow. */
	if (is_synthetic(record) && task.pid != task.parent_pid)
		task.parent_pid = 0;
	return processes_fork(&replay->processes, &task, time);
}

static int refuse(struct stage *stage)
{
	++*counters_get(&stage->counters, "refused", "short-records");
	return 0;
}

int sideband_take(struct stage *stage, struct perfdata_replay *replay, const struct ordered *record,
		  uint64_t time)
{
	union canonical canonical;

	if (!perf_record_is_whole(record->bytes) || (record->bytes->type == PERF_RECORD_MMAP &&
						     record->bytes->size < sizeof(struct old_mmap)))
		return refuse(stage);
	switch (record->bytes->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		if (!make_mmap(record, &canonical))
			return refuse(stage);
		if (canonical.mmap.pid != UINT32_MAX)
			return processes_mmap(&replay->processes, &canonical.mmap, time);
		/* Kernel locations are addresses; kernel mappings serve to find names only. */
		if (replay->has_host)
			kernel_names_take(&replay->kernel_names, &canonical.mmap);
		return 0;
	case PERF_RECORD_COMM:
		if (!make_canonical(record, sizeof(canonical.comm), &canonical))
			return refuse(stage);
		return processes_comm(&replay->processes, &canonical.comm, time);
	case PERF_RECORD_KSYMBOL: /* perf synthesizes those for code present at its start */
		if (!make_canonical(record, sizeof(canonical.ksymbol), &canonical))
			return refuse(stage);
		return kernel_symbol_put(stage, &canonical.ksymbol, time);
	default:
		return take_task(replay, record, time);
	}
}
