/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "live-unwinder/scripts.h"
#include "common/script/script-place.h"
#include "live-unwinder/script/script-reader.h"

static const char *const outcome_names[SCRIPT_OUTCOMES_MAX] = {
	[SCRIPT_PARTLY] = "partly",	  [SCRIPT_WHOLE] = "whole",   [SCRIPT_LIMIT] = "limit",
	[SCRIPT_NO_FRAMES] = "no-frames", [SCRIPT_TORN] = "torn",     [SCRIPT_UNKNOWN] = "unknown",
	[SCRIPT_ABSENT] = "absent",	  [SCRIPT_BUDGET] = "budget", [SCRIPT_DAMAGED] = "damaged",
	[SCRIPT_UNPLACED] = "unplaced",	  [SCRIPT_CUT] = "cut",
};

void scripts_init(struct scripts *scripts)
{
	code_table_init(&scripts->codes);
}

void scripts_deinit(struct scripts *scripts)
{
	runtime_table_deinit(&scripts->runtimes);
	code_table_deinit(&scripts->codes);
}

int scripts_take_process(struct scripts *scripts, const struct wire_process *record)
{
	return runtime_table_fork(&scripts->runtimes, record);
}

int scripts_take_runtime(struct scripts *scripts, const struct wire_runtime *record)
{
	return runtime_table_add(&scripts->runtimes, record);
}

int scripts_take_memory(struct scripts *scripts, const struct wire_memory *record)
{
	const struct runtime_fields *fields =
		runtime_table_find(&scripts->runtimes, record->process);
	const struct script_reader *reader;
	uint64_t trait;

	if (!fields)
		return 0;
	reader = &script_readers[fields->language];
	trait = reader->trait(fields, record);
	return (trait && trait == reader->kept ? code_table_keep : code_table_add)(&scripts->codes,
										   record, trait);
}

void scripts_forget(struct scripts *scripts, uint64_t process)
{
	runtime_table_forget(&scripts->runtimes, process);
	code_table_prune(&scripts->codes, &scripts->runtimes);
}

struct made_calls scripts_find_calls(struct scripts *scripts, struct elf_cache *files,
				     const struct unwinding *unwinding)
{
	const struct made_code_context context = { &scripts->codes, files, unwinding->process };
	const struct wire_sample *sample = unwinding->sample;

	return made_calls_of(runtime_table_find(&scripts->runtimes, sample->process), &context,
			     sample, unwinding_register(unwinding, unwinding->arch->sp));
}

static struct script_thread thread_of(const struct unwinding *unwinding)
{
	size_t last = unwinding->n_frames - 1;

	return (struct script_thread){
		.arch = unwinding->arch,
		.sample = unwinding->sample,
		.sp = unwinding_register(unwinding, unwinding->arch->sp),
		.last = { unwinding->frames[last].address, unwinding->stack_pointers[last],
			  unwinding->last_fp },
		.told = unwinding->told,
	};
}

static enum script_outcome add_frames(struct scripts *scripts,
				      const struct process_table *processes, size_t n_frames_max,
				      const struct runtime_fields *fields,
				      struct unwinding *unwinding)
{
	const struct mapping *mapping = mapping_table_find(process_mappings(&processes->kernel),
							   script_start(fields->language));
	const struct script_thread thread = thread_of(unwinding);
	enum script_outcome outcome, merged;

	outcome = script_readers[fields->language].read(fields, &scripts->codes, &thread,
							&scripts->stack);
	if (!scripts->stack.n_segments)
		return outcome;
	if (!mapping || unwinding->n_frames + scripts->stack.n > n_frames_max)
		return SCRIPT_UNPLACED;
	scripts->stack.language = fields->language;
	scripts->stack.image = fields->image;
	merged = script_merge(&scripts->stack, &fields->loop, mapping->number, unwinding);
	return merged == SCRIPT_WHOLE ? outcome : merged;
}

void scripts_add(struct scripts *scripts, const struct process_table *processes,
		 size_t n_frames_max, struct unwinding *unwinding)
{
	const struct wire_sample *sample = unwinding->sample;
	const struct runtime_fields *fields =
		sample->walk.size || sample->walk_end
			? runtime_table_find(&scripts->runtimes, sample->process)
			: NULL;

	if (fields && unwinding->n_frames)
		scripts->n_outcomes[add_frames(scripts, processes, n_frames_max, fields,
					       unwinding)]++;
}

void scripts_count(const struct scripts *scripts, struct stage *stage)
{
	for (size_t i = 0; i < SCRIPT_OUTCOMES_MAX; i++)
		if (scripts->n_outcomes[i])
			*counters_get(&stage->counters, "script-frames", outcome_names[i]) +=
				scripts->n_outcomes[i];
	if (scripts->runtimes.n_refused)
		*counters_get(&stage->counters, "refused", "runtimes") +=
			scripts->runtimes.n_refused;
	if (scripts->codes.n_refused)
		*counters_get(&stage->counters, "refused", "kept-code") += scripts->codes.n_refused;
	if (scripts->codes.n_forgotten)
		*counters_get(&stage->counters, "script-frames", "forgotten-all") +=
			scripts->codes.n_forgotten;
}
