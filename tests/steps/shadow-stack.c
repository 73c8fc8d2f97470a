/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "tests/steps/shadow-stack.h"

enum {
	WORD = sizeof(uint64_t),
	STACK_REACH = 8 << 20, /* of a handler without a stack of its own */
	SYSCALL_SIZE = 2,      /* a call of the kernel that is begun again */
};

/* What the kernel leaves for a handler (arch/x86/include/asm/sigframe.h). */
struct signal_frame {
	uint64_t return_address;
	ucontext_t context;
};

void shadow_stack_deinit(struct shadow_stack *shadow)
{
	free(shadow->frames);
	*shadow = (struct shadow_stack){ 0 };
}

static bool read_word(const struct shadow_place *place, uint64_t address, uint64_t *ret)
{
	uint64_t offset = address - place->sp;

	if (address < place->sp || offset + WORD > place->stack_size)
		return false;
	memcpy(ret, (const char *)place->stack + offset, WORD);
	return true;
}

static int push(struct shadow_stack *shadow, const struct shadow_frame *frame)
{
	if (shadow->n == shadow->n_allocated) {
		size_t n = shadow->n ? shadow->n * 2 : 64;
		struct shadow_frame *frames;

		if (shadow->n == SHADOW_STACK_MAX)
			return -ENOMEM;
		frames = reallocarray(shadow->frames, n, sizeof(*frames));
		if (!frames)
			return -ENOMEM;
		shadow->frames = frames;
		shadow->n_allocated = n;
	}
	shadow->frames[shadow->n++] = *frame;
	return 0;
}

static struct shadow_frame *top(const struct shadow_stack *shadow)
{
	return shadow->n ? &shadow->frames[shadow->n - 1] : NULL;
}

/* Handlers whose stack was left, as by siglongjmp(), are over. */
static void leave_handlers(struct shadow_stack *shadow, uint64_t sp)
{
	for (size_t i = shadow->n; i > 0; i--) {
		const struct shadow_frame *frame = &shadow->frames[i - 1];

		if (!frame->is_signal)
			continue;
		if (sp >= frame->low && sp < frame->high)
			return;
		shadow->n = i - 1;
	}
}

/* Functions whose return address is below the stack pointer are over. */
static void leave_functions(struct shadow_stack *shadow, uint64_t sp)
{
	size_t n = shadow->n;

	leave_handlers(shadow, sp);
	while (shadow->n && !top(shadow)->is_signal && top(shadow)->place < sp) {
		if (top(shadow)->is_taken && top(shadow)->place + WORD == sp)
			break;
		shadow->n--;
	}
	if (shadow->n != n)
		shadow->is_leaving = true;
}

static int add_call(struct shadow_stack *shadow, const struct shadow_place *now)
{
	struct shadow_frame frame = { .place = now->sp };

	if (!read_word(now, now->sp, &frame.address))
		return 0; /* it has overflown its stack, and a signal will follow */
	return push(shadow, &frame);
}

static void take_return(struct shadow_stack *shadow, uint64_t sp_before)
{
	if (shadow->n && !top(shadow)->is_signal && top(shadow)->place == sp_before)
		shadow->n--;
	else if (!shadow->n || top(shadow)->place != sp_before + WORD) /* else a thunk's jump */
		shadow->n_unmatched++;
}

int shadow_stack_step(struct shadow_stack *shadow, enum instruction instruction, uint64_t sp_before,
		      const struct shadow_place *now)
{
	bool is_jump = instruction == INSTRUCTION_JUMP;

	if (instruction == INSTRUCTION_CALL && now->sp == sp_before - WORD)
		return add_call(shadow, now);
	/* One that has failed has changed nothing. */
	if (instruction == INSTRUCTION_RETURN && now->sp > sp_before) {
		take_return(shadow, sp_before);
		is_jump = true;
	} else if (shadow->n && !top(shadow)->is_signal && top(shadow)->place == sp_before) {
		top(shadow)->is_taken = now->sp == sp_before + WORD;
	}
	if (instruction == INSTRUCTION_JUMP && shadow->n)
		top(shadow)->is_taken = false;
	leave_functions(shadow, now->sp);
	if (is_jump)
		shadow->is_leaving = false;
	return 0;
}

int shadow_stack_signal(struct shadow_stack *shadow, uint64_t pc, uint64_t sp,
			const struct shadow_place *now)
{
	const struct signal_frame *signal = now->stack;
	struct shadow_frame interrupted = { .is_exact = true, .is_signal = true };
	struct shadow_frame handler = { .is_exact = true };
	uint64_t saved_pc, saved_sp;
	const stack_t *own;
	int r;

	if (now->stack_size < sizeof(*signal))
		return 0;
	saved_pc = signal->context.uc_mcontext.gregs[REG_RIP];
	saved_sp = signal->context.uc_mcontext.gregs[REG_RSP];
	own = &signal->context.uc_stack;
	if ((saved_pc != pc && saved_pc != pc - SYSCALL_SIZE) || saved_sp != sp)
		return 0;
	interrupted.address = saved_pc;
	interrupted.place =
		now->sp + offsetof(struct signal_frame, context.uc_mcontext.gregs[REG_RIP]);
	interrupted.low = now->sp - STACK_REACH;
	interrupted.high = now->sp + sizeof(*signal);
	if (!(own->ss_flags & SS_DISABLE) && now->sp - (uintptr_t)own->ss_sp < own->ss_size) {
		interrupted.low = (uintptr_t)own->ss_sp;
		interrupted.high = interrupted.low + own->ss_size;
	}
	handler.address = signal->return_address;
	handler.place = now->sp;
	r = push(shadow, &interrupted);
	if (r == 0)
		r = push(shadow, &handler);
	return r < 0 ? r : 1;
}

void shadow_stack_sigreturn(struct shadow_stack *shadow, const struct shadow_place *now)
{
	while (shadow->n && !top(shadow)->is_signal)
		shadow->n--;
	if (shadow->n)
		shadow->n--;
	leave_functions(shadow, now->sp);
	shadow->is_leaving = false;
}

static bool is_captured(const struct shadow_frame *frame, const struct shadow_place *now)
{
	uint64_t word;

	return frame->is_taken || read_word(now, frame->place, &word);
}

void shadow_stack_print(const struct shadow_stack *shadow, const struct shadow_place *now,
			FILE *out)
{
	bool is_leaving = shadow->is_leaving, is_cut = false;

	fprintf(out, "0x%" PRIx64 ":exact", now->pc);
	for (size_t i = shadow->n; i > 0; i--) {
		const struct shadow_frame *frame = &shadow->frames[i - 1];
		uint64_t address = frame->address;

		if (!is_cut && !is_captured(frame, now)) {
			is_cut = true;
			fputs(" |", out);
		}
		/* A handler of signals, or of exceptions, may have written another one there. */
		if (read_word(now, frame->place, &address) && !frame->is_signal)
			is_leaving |= address != frame->address;
		fprintf(out, " 0x%" PRIx64 "%s", address, frame->is_exact ? ":exact" : "");
	}
	fputs(is_leaving ? " leaving\n" : "\n", out);
}
