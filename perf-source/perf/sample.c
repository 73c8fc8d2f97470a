/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/arch/arch.h"
#include "common/script/script-walk.h"
#include "perf-source/perf/sample.h"

/* The kernel's call chain: what lies between the leading PERF_CONTEXT_* marks and the next one. */
static struct wire_addrs kernel_chain(struct stage *stage, const struct perf_record_sample *sample)
{
	struct wire_addrs chain = { sample->chain, sample->n_chain };
	size_t n = 0;

	while (chain.n && *chain.data >= (uint64_t)-PERF_RECORD_CONTEXT_MARKS) {
		chain.data++;
		chain.n--;
	}
	while (n < chain.n && chain.data[n] < (uint64_t)-PERF_RECORD_CONTEXT_MARKS)
		n++;
	if (n > WIRE_KERNEL_FRAMES_MAX) {
		++*counters_get(&stage->counters, "refused", "kernel-frames");
		n = WIRE_KERNEL_FRAMES_MAX;
	}
	chain.n = n;
	return chain;
}

/* Counts what a thread's interpreter executes, by how the list of its frames ends. */
static void count_walk(struct stage *stage, const struct sample_context *context)
{
	struct walk_list_head head = { .end = context->walk_end };

	if (context->walk_size >= sizeof(head))
		memcpy(&head, context->walk, sizeof(head));
	if (head.end)
		++*counters_get(&stage->counters, "interpreter-frames",
				wire_name_text(&wire_names_walk_end, head.end));
}

/* Adds the words of a stack that the kernel has walked. */
static void add_words(struct stage *stage, const struct sample_part *part, struct wire_sample *out)
{
	out->words = (struct wire_words){
		.data = (const void *)(part + 1),
		.n = part->size / sizeof(*out->words.data),
	};
	out->flags |= WIRE_sample_flags_KERNEL_WALK;
	++*counters_get(&stage->counters, "kernel-walks", "walked");
}

int sample_put(struct stage *stage, struct processes *processes,
	       const struct perf_record_sample *sample, uint64_t time,
	       const struct sample_of_event *of)
{
	struct wire_sample out = {
		.time = time,
		.tid = sample->tid,
		.cpu = sample->cpu,
		.weight = of->weight,
		.address = sample->address,
		.abi = sample->abi,
		.registers = { sample->registers, sample->n_registers },
		.kernel = kernel_chain(stage, sample),
		.stack = { sample->stack, sample->stack_size },
		.event = of->event,
		.flags = of->flags,
		.waker_tid = of->waker_tid,
		.thread_context = { of->context.bytes, of->context.size },
		.context_state = of->context.state,
		.walk = { of->context.walk, of->context.walk_size },
		.walk_end = of->context.walk_end,
	};
	uint64_t user_address = 0;
	int r = 0;

	if (of->parts && of->parts->words)
		add_words(stage, of->parts->words, &out);
	if (of->parts && of->parts->cut) {
		out.stack_parts = of->parts->n;
		out.stack_cut = of->parts->cut;
	}
	stage->samples_in++;
	if (out.context_state)
		++*counters_get(&stage->counters, "thread-contexts",
				wire_name_text(&wire_names_context_state, out.context_state));
	count_walk(stage, &of->context);
	if (sample->n_registers)
		user_address = arch_sampled(arch_host(), sample->registers, arch_host()->pc);
	if (of->waker_pid)
		r = processes_of_sample(processes, of->waker_pid, 0, time, &out.waker);
	if (r == 0)
		r = processes_of_sample(processes, sample->pid, user_address, time, &out.process);
	if (user_address && processes_is_unsure(processes, sample->pid, time))
		out.flags |= WIRE_sample_flags_MAPPINGS_LOST;
	if (r == 0 && out.stack_parts)
		r = sample_parts_put(of->parts, stage);
	return r < 0 ? r : stage_put(stage, WIRE_RECORD_sample, &out);
}
