/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/source/register-writers.h"
#include "common/source/perf-record.h"

/* From arch/x86/kernel/signal*.c and arch/arm64/kernel/signal.c; some are inlined into others. */
static const char *const names[] = {
	"x64_setup_rt_frame",
	"x32_setup_rt_frame",
	"ia32_setup_frame",
	"ia32_setup_rt_frame",
	"setup_rt_frame",
	"handle_signal",
	"do_signal",
	"arch_do_signal_or_restart",
	"restore_sigcontext",
	"ia32_restore_sigcontext",
	"restore_sigframe",
	"__x64_sys_rt_sigreturn",
	"__arm64_sys_rt_sigreturn",
};

enum { N_NAMES = sizeof(names) / sizeof(*names), ENTRY_START = N_NAMES, ENTRY_END, N_RANGES };

void register_writers_find(struct register_writers *writers, const char *text, size_t size)
{
	struct kallsyms_range ranges[N_RANGES] = {
		[ENTRY_START] = { .name = "__entry_text_start" },
		[ENTRY_END] = { .name = "__entry_text_end" },
	};

	for (size_t i = 0; i < N_NAMES; i++)
		ranges[i].name = names[i];
	kallsyms_find_ranges(text, size, ranges, N_RANGES);
	*writers = (struct register_writers){
		.entry_start = ranges[ENTRY_START].start,
		.entry_end = ranges[ENTRY_END].start,
	};
	for (size_t i = 0; i < N_NAMES; i++)
		if (ranges[i].end)
			writers->list[writers->n++] = ranges[i];
}

static bool is_in_one(const struct register_writers *writers, uint64_t address)
{
	for (size_t i = 0; i < writers->n; i++)
		if (address >= writers->list[i].start && address < writers->list[i].end)
			return true;
	return false;
}

bool register_writers_were_interrupted(const struct register_writers *writers,
				       const uint64_t *chain, size_t n)
{
	bool is_interrupted = true;

	for (size_t i = 0; i < n && writers->n; i++) {
		bool is_mark = chain[i] >= (uint64_t)-PERF_RECORD_CONTEXT_MARKS;

		if (!is_mark && is_interrupted && is_in_one(writers, chain[i]))
			return true;
		is_interrupted = is_mark || (chain[i] >= writers->entry_start &&
					     chain[i] < writers->entry_end);
	}
	return false;
}
