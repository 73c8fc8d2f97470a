/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For each frame: finds the mapping that holds the pc (mostly the previous frame's), then the rule
 * for its location (mostly cached), then the caller's pc, stack pointer and frame pointer. Other
 * registers are known only for the sampled frame and for a frame that a signal interrupted.
 *
 * User rules come before all others. elfutils lacks them, and unwinds only the host's architecture:
 * a stack that used one, or is of another architecture, ends where the tables end.
 */
#include <errno.h>
#include <string.h>

#include "common/base/zero-pages.h"
#include "live-unwinder/engine-table.h"
#include "live-unwinder/frame-record.h"
#include "live-unwinder/jit-frames.h"
#include "live-unwinder/rule-cache.h"
#include "live-unwinder/stack-reads.h"
#include "live-unwinder/table-cut.h"
#include "live-unwinder/v8/v8-builtins.h"

enum {
	FILE_REACH = 1 << 28, /* bytes: no file extends this far from its code */
	NO_FILES_MAX = 64,    /* mappings without a file that a search skips */
};

struct engine_table {
	struct rule_cache cache;
	struct stack_reads reads[STACK_READS_THREADS];
	struct table_store *tables;
	struct jit_frames jit;
	struct v8_builtins builtins;
};

int engine_table_new(struct table_store *tables, struct engine_table **ret)
{
	struct engine_table *engine = zero_pages_get(sizeof(*engine));

	if (!engine)
		return -ENOMEM;
	engine->tables = tables;
	jit_frames_init(&engine->jit, tables->files);
	v8_builtins_init(&engine->builtins, tables->files);
	if (rule_cache_init(&engine->cache, tables) < 0) {
		engine_table_free(engine);
		return -ENOMEM;
	}
	*ret = engine;
	return 0;
}

struct engine_table *engine_table_free(struct engine_table *engine)
{
	if (engine) {
		jit_frames_deinit(&engine->jit);
		v8_builtins_deinit(&engine->builtins);
		rule_cache_deinit(&engine->cache);
	}
	zero_pages_give_back(engine, sizeof(*engine));
	return NULL;
}

void engine_table_forget_image(struct engine_table *engine, uint64_t image)
{
	call_sites_forget(engine->cache.call_sites, image);
	v8_builtins_forget(&engine->builtins, image);
}

void engine_table_forget(struct engine_table *engine, const struct process *process)
{
	jit_frames_forget(&engine->jit, process->number);
}

/* The frame that the walk has reached. */
struct table_walk {
	struct engine_table *engine;
	struct unwinding *unwinding;
	struct stack_reads *reads;
	uint64_t stack_start;
	uint64_t pc, sp, fp;
	bool knows_fp;
	enum wire_stack_end without_fp; /* end reason if `fp` is needed but not known */
	bool is_sampled;		/* the innermost frame: all of its registers are known */
	/* Address of the registers that a signal frame saved for this frame; 0: none. */
	uint64_t interrupted_at;
	bool is_exact; /* the pc is of an instruction that ran, not a return address */
	const struct mapping *mapping;	  /* holds the pc */
	const struct stored_table *entry; /* of the mapping's image */
	struct stack_words_passed passed; /* of unwinding->words */
	enum wire_stack_end end;	  /* 0: not ended */
	enum engine_table_outcome outcome;
};

static bool read_word(struct table_walk *walk, uint64_t address, uint64_t *ret)
{
	if (walk->unwinding->words.n)
		return stack_words_read(&walk->passed, address, ret);
	return stack_read_word(&walk->unwinding->sample->stack, walk->stack_start, address, ret);
}

/* Only the sampled frame and interrupted frames have all registers. */
static bool find_register(struct table_walk *walk, int64_t number, uint64_t *ret)
{
	const struct arch *arch = walk->unwinding->arch;

	if (number < 0 || number >= arch->n_registers)
		return false;
	if (walk->is_sampled) {
		*ret = unwinding_register(walk->unwinding, number);
		return true;
	}
	return walk->interrupted_at &&
	       read_word(walk, walk->interrupted_at + arch->interrupted_at[number], ret);
}

/* Without the stack nothing but a table helps, so one that is being compiled is waited for. */
static const struct stored_table *find_table(const struct table_walk *walk, uint64_t image)
{
	struct engine_table *engine = walk->engine;
	const struct stored_table *entry = rule_cache_table(&engine->cache, image);

	return entry && entry->state == TABLE_PENDING && walk->unwinding->words.n
		       ? table_store_await(engine->tables, image)
		       : entry;
}

/* Finds the mapping of the current code address, and its image's table. */
static void find_mapping(struct table_walk *walk, uint64_t code)
{
	const struct mapping *mapping = walk->mapping;

	if (mapping && code >= mapping->start && code < mapping->end)
		return;
	mapping = mapping_table_find(process_mappings(walk->unwinding->process), code);
	if (mapping && (!walk->mapping || mapping->image != walk->mapping->image))
		walk->entry = find_table(walk, mapping->image);
	walk->mapping = mapping;
}

static bool end(struct table_walk *walk, enum wire_stack_end reason)
{
	walk->end = reason;
	return false;
}

/* elfutils is not asked where it would contradict this engine, not come so far, or has no stack. */
static bool give_up(struct table_walk *walk, enum engine_table_outcome outcome)
{
	struct unwinding *unwinding = walk->unwinding;
	bool contradicts = unwinding->contradicts_cfi || unwinding->arch != arch_host() ||
			   (unwinding->n_made && outcome != ENGINE_TABLE_E_PENDING);

	if (!contradicts && !unwinding->words.n) {
		walk->outcome = outcome;
		return false;
	}
	if (!unwinding->n_frames)
		unwinding_add_sampled(unwinding);
	return end(walk, contradicts ? WIRE_stack_end_BAD_UNWIND_INFO : WIRE_stack_end_TRUNCATED);
}

/* The last frame was left by a step that elfutils cannot confirm. */
static void note_unconfirmable(struct table_walk *walk)
{
	struct unwinding *unwinding = walk->unwinding;

	if (!unwinding->n_verifiable)
		unwinding->n_verifiable = unwinding->n_frames;
}

/* The last frame was left by a step that elfutils may contradict. */
static void overrule(struct table_walk *walk)
{
	note_unconfirmable(walk);
	walk->unwinding->contradicts_cfi = true;
}

/* Whether an image consists only of what is mapped, with no file data before or behind it. */
static bool is_no_file(const struct table_walk *walk, const struct mapping *mapping)
{
	const struct image *image =
		image_table_find(walk->engine->tables->files->table, mapping->image);

	return image && image->kind != WIRE_image_kind_FILE;
}

/* Whether no file can be mapped at an address: it is near sp, or far from all files' code. */
static bool is_beyond_files(const struct table_walk *walk, uint64_t address)
{
	const struct mapping_table *mappings = process_mappings(walk->unwinding->process);
	const struct mapping *behind = mapping_table_next(mappings, address);
	const struct mapping *before = mapping_table_previous(mappings, address);

	if (address - walk->stack_start < STACK_REACH)
		return true;
	if (behind && behind->start <= address)
		return false; /* within code */
	for (int i = 0; i < NO_FILES_MAX && before && is_no_file(walk, before); i++)
		before = mapping_table_previous(mappings, before->start);
	for (int i = 0; i < NO_FILES_MAX && behind && is_no_file(walk, behind); i++)
		behind = mapping_table_next(mappings, behind->end);
	return (!before || address - before->end > FILE_REACH) &&
	       (!behind || behind->start - address > FILE_REACH);
}

/* Ends at a word that was not captured. elfutils may read it from a file, if one can be there. */
static bool miss(struct table_walk *walk, uint64_t address)
{
	/* No user address has higher bits. */
	if (address >> USER_BITS || !is_beyond_files(walk, address))
		return give_up(walk, ENGINE_TABLE_E_BAD);
	return end(walk, unwinding_end_without_word(walk->unwinding, address));
}

/* Reads a word that the step to the caller requires. */
static bool fetch_word(struct table_walk *walk, uint64_t address, uint64_t *ret)
{
	return read_word(walk, address, ret) || miss(walk, address);
}

/* Reads a word relative to fp, which is unknown if its save slot was not captured. */
static bool fetch_word_at_fp(struct table_walk *walk, int32_t offset, uint64_t *ret)
{
	if (!walk->knows_fp)
		return end(walk, walk->without_fp);
	return fetch_word(walk, walk->fp + offset, ret);
}

/* false: the caller cannot be found; the reason is recorded. */
static bool find_cfa(struct table_walk *walk, const struct unwind_rule *rule, uint64_t *ret)
{
	switch (rule->cfa) {
	case UNWIND_CFA_SP:
		*ret = walk->sp + rule->cfa_offset;
		return true;
	case UNWIND_CFA_FP:
		if (!walk->knows_fp)
			return end(walk, walk->without_fp);
		*ret = walk->fp + rule->cfa_offset;
		return true;
	case UNWIND_CFA_REGISTER:
		if (!find_register(walk, rule->cfa_register, ret))
			return give_up(walk, ENGINE_TABLE_E_REGISTER);
		*ret += rule->cfa_offset;
		return true;
	case UNWIND_CFA_AT_SP:
		if (!fetch_word(walk, walk->sp + rule->cfa_offset, ret))
			return false;
		*ret += rule->cfa_addend;
		return true;
	case UNWIND_CFA_AT_FP:
		if (!fetch_word_at_fp(walk, rule->cfa_offset, ret))
			return false;
		*ret += rule->cfa_addend;
		return true;
	case UNWIND_CFA_PLT:
		*ret = walk->sp + rule->cfa_offset +
		       ((walk->pc & 15) >= rule->cfa_register ? 8 : 0);
		return true;
	case UNWIND_CFA_LOST:
		overrule(walk);
		return end(walk, WIRE_stack_end_BAD_UNWIND_INFO);
	default:
		return give_up(walk, ENGINE_TABLE_E_RULE);
	}
}

static bool find_return_address(struct table_walk *walk, const struct unwind_rule *rule,
				uint64_t cfa, uint64_t *ret)
{
	int32_t offset = rule->return_address_offset;

	switch (rule->return_address) {
	case UNWIND_VALUE_AT_CFA:
		return fetch_word(walk, cfa + offset, ret);
	case UNWIND_VALUE_AT_SP:
		return fetch_word(walk, walk->sp + offset, ret);
	case UNWIND_VALUE_AT_FP:
		return fetch_word_at_fp(walk, offset, ret);
	case UNWIND_VALUE_SAME: /* in the return address register (aarch64) */
		offset = walk->unwinding->arch->return_address;
		/* fallthrough */
	case UNWIND_VALUE_REGISTER:
		return find_register(walk, offset, ret) || give_up(walk, ENGINE_TABLE_E_REGISTER);
	default:
		return give_up(walk, ENGINE_TABLE_E_RULE);
	}
}

/*
 * A realigned frame keeps its caller's frame pointer at the frame pointer until it returns. Where
 * code was seen to pop it, the table has that (common/unwind/unwind-popped.h). If the slot is still
 * outside this frame, another form of pop may have run, and the slot would be another frame's: fp
 * is then unknown.
 */
static bool may_be_popped(const struct table_walk *walk, const struct unwind_rule *rule,
			  uint64_t cfa)
{
	uint64_t place = walk->fp + rule->fp_offset;

	return cfa > walk->sp && place - walk->sp >= cfa - walk->sp;
}

/* A slot that was not captured leaves fp unknown, which is an error only if fp is needed later. */
static void load_fp(struct table_walk *walk, uint64_t address)
{
	walk->knows_fp = read_word(walk, address, &walk->fp);
	if (!walk->knows_fp)
		walk->without_fp = unwinding_end_without_word(walk->unwinding, address);
}

static bool find_fp(struct table_walk *walk, const struct unwind_rule *rule, uint64_t cfa)
{
	switch (rule->fp) {
	case UNWIND_VALUE_SAME:
		return true;
	case UNWIND_VALUE_UNDEFINED:
		walk->knows_fp = false;
		walk->without_fp = WIRE_stack_end_TRUNCATED; /* as elfutils ends there */
		return true;
	case UNWIND_VALUE_AT_CFA:
		load_fp(walk, cfa + rule->fp_offset);
		return true;
	case UNWIND_VALUE_AT_SP:
		load_fp(walk, walk->sp + rule->fp_offset);
		return true;
	case UNWIND_VALUE_AT_FP:
		if (walk->knows_fp && may_be_popped(walk, rule, cfa)) {
			overrule(walk);
			walk->knows_fp = false;
			walk->without_fp = WIRE_stack_end_BAD_UNWIND_INFO;
		} else if (walk->knows_fp) {
			load_fp(walk, walk->fp + rule->fp_offset);
		}
		return true;
	case UNWIND_VALUE_REGISTER:
		return find_register(walk, rule->fp_offset, &walk->fp) ||
		       give_up(walk, ENGINE_TABLE_E_REGISTER);
	default:
		return give_up(walk, ENGINE_TABLE_E_RULE);
	}
}

/*
 * The address of the registers that a signal frame saved; 0: none. Only the kernel's own frame has
 * a known layout, recognized by its rule's three registers.
 */
static uint64_t find_interrupted(const struct table_walk *walk, const struct unwind_rule *rule)
{
	const struct arch *arch = walk->unwinding->arch;
	const int16_t *at = arch->interrupted_at;

	return (rule->flags & UNWIND_FLAG_SIGNAL) && rule->cfa == UNWIND_CFA_AT_SP &&
			       rule->cfa_addend == 0 && rule->cfa_offset == at[arch->sp] &&
			       rule->return_address == UNWIND_VALUE_AT_SP &&
			       rule->return_address_offset == at[arch->pc] &&
			       rule->fp == UNWIND_VALUE_AT_SP && rule->fp_offset == at[arch->fp]
		       ? walk->sp
		       : 0;
}

/* Steps to the caller; false: the stack ends here. */
static bool step(struct table_walk *walk, const struct unwind_rule *rule)
{
	uint64_t cfa, pc;

	if (rule->flags & UNWIND_FLAG_INFERRED)
		note_unconfirmable(walk);
	if (rule->flags & UNWIND_FLAG_USER_RULE)
		overrule(walk);
	if (rule->return_address == UNWIND_VALUE_UNDEFINED)
		return end(walk, WIRE_stack_end_COMPLETE);
	if (!find_cfa(walk, rule, &cfa) || !find_return_address(walk, rule, cfa, &pc) ||
	    !find_fp(walk, rule, cfa))
		return false;
	pc &= walk->unwinding->arch->code_mask;
	/* No return address, or no progress. */
	if (pc == 0 || (pc == walk->pc && cfa <= walk->sp))
		return give_up(walk, ENGINE_TABLE_E_BAD);
	walk->interrupted_at = find_interrupted(walk, rule);
	stack_reads_add(walk->reads, cfa - sizeof(pc));
	walk->pc = pc;
	walk->sp = cfa;
	walk->is_sampled = false;
	walk->is_exact = rule->flags & UNWIND_FLAG_SIGNAL;
	return true;
}

static bool add_frame(struct table_walk *walk, const struct unwind_rule *rule)
{
	struct unwinding *unwinding = walk->unwinding;
	const struct mapping *mapping = walk->mapping;
	bool is_exact = walk->is_exact || (rule && rule->flags & UNWIND_FLAG_SIGNAL);

	/* A signal frame's rule is looked up one byte before its pc, its mapping at its pc. */
	if (mapping && is_exact && walk->pc == mapping->end)
		mapping = mapping_table_find(process_mappings(unwinding->process), walk->pc);
	if (unwinding->n_frames == unwinding->n_frames_max)
		return end(walk, WIRE_stack_end_FRAME_LIMIT);
	if (!mapping && !walk->is_sampled)
		return end(walk, WIRE_stack_end_NO_MAPPING);
	unwinding_note_stack_pointer(unwinding, walk->sp);
	unwinding->frames[unwinding->n_frames++] = (struct wire_frame){
		.address = walk->pc,
		.mapping = mapping ? mapping->number : 0,
		.flags = is_exact ? WIRE_frame_flags_EXACT : 0,
	};
	return mapping || end(walk, WIRE_stack_end_NO_MAPPING);
}

/* Nothing proves this step, so the frame is marked FRAME_POINTER. */
static bool step_by_record(struct table_walk *walk, const struct frame_record *record)
{
	struct unwinding *unwinding = walk->unwinding;

	unwinding->frames[unwinding->n_frames - 1].flags |= WIRE_frame_flags_FRAME_POINTER;
	unwinding->is_unproved = true;
	note_unconfirmable(walk);
	stack_reads_add(walk->reads, record->at);
	walk->pc = record->pc;
	walk->sp = record->at + unwinding->arch->frame_record_size;
	walk->fp = record->fp;
	walk->is_sampled = false;
	walk->interrupted_at = 0;
	walk->is_exact = false;
	return true;
}

static bool step_by_frame_pointer(struct table_walk *walk)
{
	struct frame_record record;

	if (!walk->knows_fp ||
	    !frame_record_find(walk->unwinding, &walk->engine->cache, walk->sp, walk->fp, &record))
		return end(walk, WIRE_stack_end_NO_UNWIND_INFO);
	return step_by_record(walk, &record);
}

/* Where the process itself has said how its code is left, nothing else counts. */
static bool step_by_call(struct table_walk *walk)
{
	struct unwinding *unwinding = walk->unwinding;
	const struct made_caller frame = { walk->pc, walk->sp, walk->knows_fp ? walk->fp : 0 };
	struct made_caller caller;

	if (!made_calls_find(&unwinding->calls, &frame, &caller))
		return end(walk, WIRE_stack_end_NO_UNWIND_INFO);
	if (!unwinding->told.sp)
		unwinding->told = frame;
	note_unconfirmable(walk);
	stack_reads_add(walk->reads, caller.sp - sizeof(caller.pc));
	walk->pc = caller.pc;
	walk->sp = caller.sp;
	walk->fp = caller.fp;
	walk->knows_fp = true;
	walk->is_sampled = false;
	walk->interrupted_at = 0;
	walk->is_exact = false;
	return true;
}

/* The last frame is code that an interpreter has called, and elfutils knows nothing of it. */
static void note_made(struct table_walk *walk)
{
	struct unwinding *unwinding = walk->unwinding;

	unwinding->made[unwinding->n_made++] = unwinding->n_frames - 1;
	note_unconfirmable(walk);
}

/* Code in the frame of an interpreter's loop may have pushed some words. */
static bool step_as_loop(struct table_walk *walk)
{
	static const uint64_t pushed[] = { 0, 16 };
	struct unwinding *unwinding = walk->unwinding;
	const struct unwind_rule *rule;
	size_t i = 0;

	if (unwinding->n_made == UNWINDING_MADE_MAX || !walk->knows_fp)
		return false;
	while (i < sizeof(pushed) / sizeof(*pushed) &&
	       !frame_record_find_rule(unwinding, &walk->engine->cache, walk->sp, walk->fp,
				       pushed[i], &rule))
		i++;
	if (i == sizeof(pushed) / sizeof(*pushed))
		return false;
	note_made(walk);
	walk->sp += pushed[i];
	return step(walk, rule);
}

/* To the interpreter that has called the code: it is proved by the call there. */
static bool step_to_interpreter(struct table_walk *walk)
{
	struct unwinding *unwinding = walk->unwinding;
	struct frame_record record;

	if (unwinding->calls.is_in_loop)
		return step_as_loop(walk);
	if (unwinding->n_made == UNWINDING_MADE_MAX ||
	    !frame_record_find_call(unwinding, &walk->engine->cache, walk->sp, &record))
		return false;
	note_made(walk);
	stack_reads_add(walk->reads, record.at);
	walk->pc = record.pc;
	walk->sp = record.at + sizeof(record.pc);
	walk->is_sampled = false;
	walk->interrupted_at = 0;
	walk->is_exact = false;
	return true;
}

/* The JIT compiler's jitdump may have the code. */
static bool step_out_of_jit_code(struct table_walk *walk)
{
	struct engine_table *engine = walk->engine;
	struct frame_record record;
	struct unwind_rule rule;

	if (walk->unwinding->calls.are_told)
		return step_by_call(walk);
	if (walk->unwinding->calls.interpreter && step_to_interpreter(walk))
		return true;
	switch (jit_frames_find(&engine->jit, walk->unwinding, walk->pc, walk->is_exact, &rule)) {
	case CODE_FRAME_RULE:
		return step(walk, &rule);
	case CODE_FRAME_NONE:
		return end(walk, WIRE_stack_end_NO_UNWIND_INFO);
	case CODE_FRAME_POINTER:
		return step_by_frame_pointer(walk);
	default:
		if (walk->is_exact && walk->knows_fp &&
		    frame_record_find_unmade(walk->unwinding, &engine->cache, &engine->builtins,
					     walk->sp, walk->fp, &record))
			return step_by_record(walk, &record);
		return step_by_frame_pointer(walk);
	}
}

/*
 * A builtin of V8 makes its frame where a part of it needs one: what calls others has one. Of one
 * that runs it must be proved: by its code, by a return address on top of the stack, or by the size
 * of its frame.
 */
static bool step_out_of_builtin(struct table_walk *walk, const struct v8_builtin_place *running)
{
	struct engine_table *engine = walk->engine;
	struct frame_record record;

	if (!running)
		return step_by_frame_pointer(walk);
	if (running->has_rule)
		return step(walk, &running->rule);
	if (frame_record_find_unmade(walk->unwinding, &engine->cache, &engine->builtins, walk->sp,
				     walk->fp, &record))
		return step_by_record(walk, &record);
	return v8_builtin_has_frame_of(running, walk->fp - walk->sp)
		       ? step_by_frame_pointer(walk)
		       : end(walk, WIRE_stack_end_NO_UNWIND_INFO);
}

/* Only V8's builtins are followed without unwind information, and stubs whose file is gone. */
static bool step_out_of_file(struct table_walk *walk)
{
	const struct image *image = walk->mapping && walk->entry ? walk->entry->image : NULL;
	struct v8_builtins *builtins = &walk->engine->builtins;
	const struct v8_builtin_place *running = NULL;
	uint64_t offset;

	if (image && walk->entry->state == TABLE_NO_FILE &&
	    made_calls_have_stub(&walk->unwinding->calls, walk->sp))
		return step_by_call(walk);
	if (!image || walk->entry->state != TABLE_READY || !walk->knows_fp)
		return end(walk, WIRE_stack_end_NO_UNWIND_INFO);
	offset = walk->pc - walk->mapping->start + walk->mapping->offset;
	if (walk->is_exact)
		running = v8_builtins_find(builtins, image, offset);
	if (walk->is_exact ? !running : !v8_builtins_has(builtins, image, offset - 1))
		return end(walk, WIRE_stack_end_NO_UNWIND_INFO);
	return step_out_of_builtin(walk, running);
}

/* Adds a frame in a file content that no longer exists: only its address is known. */
static bool add_lost_frame(struct table_walk *walk)
{
	struct unwinding *unwinding = walk->unwinding;

	if (unwinding->n_frames == unwinding->n_frames_max)
		return end(walk, WIRE_stack_end_FRAME_LIMIT);
	unwinding_note_stack_pointer(unwinding, walk->sp);
	unwinding->frames[unwinding->n_frames++] = (struct wire_frame){
		.address = walk->pc,
		.flags = walk->is_exact ? WIRE_frame_flags_EXACT : 0,
	};
	return end(walk, WIRE_stack_end_IMAGE_UNAVAILABLE);
}

/* Whether a missing rule means missing unwind information. */
static bool has_given_all(const struct stored_table *entry)
{
	return entry && entry->state != TABLE_PENDING && entry->state != TABLE_UNUSABLE;
}

/*
 * During the system call that ends a signal handler the pc is behind the last instruction that
 * sigreturn's FDE covers. false: this is not such a pc.
 */
static bool find_signal_return(struct table_walk *walk, uint64_t place, struct unwind_rule *ret)
{
	const struct unwind_rule *rule =
		walk->is_exact && place
			? rule_cache_find(&walk->engine->cache, walk->entry, place - 1)
			: NULL;

	if (!rule || !(rule->flags & UNWIND_FLAG_SIGNAL))
		return false;
	*ret = *rule;
	ret->flags |= UNWIND_FLAG_INFERRED;
	return true;
}

/*
 * A stack made by hand (a coroutine's) returns to the first instruction of a function; the
 * preceding instruction belongs to another function, or to none.
 */
static const struct unwind_rule *find_start(const struct table_walk *walk, uint64_t place)
{
	enum { ALIGNMENT = 16 };
	const struct unwind_rule *rule =
		place % ALIGNMENT ? NULL
				  : rule_cache_find(&walk->engine->cache, walk->entry, place);

	return rule && (rule->return_address == UNWIND_VALUE_UNDEFINED ||
			(rule->cfa == UNWIND_CFA_SP &&
			 rule->cfa_offset == walk->unwinding->arch->call_pushes))
		       ? rule
		       : NULL;
}

/* Without a rule the stack ends anyway, but it may end at a function's start. */
static bool lacks_call(const struct table_walk *walk, uint64_t place,
		       const struct unwind_rule *rule)
{
	struct rule_cache *cache = &walk->engine->cache;
	const struct image *image = walk->entry->image;

	if (rule)
		return rule_cache_lacks_call(cache, walk->entry, place, rule);
	return image &&
	       call_sites_find(cache->call_sites, image->number, place + 1) == UNWIND_CALL_NONE;
}

/* An uncalled function has no caller: complete if its rule agrees, else no unwind information. */
static bool visit_start(struct table_walk *walk, const struct unwind_rule *rule)
{
	overrule(walk);
	walk->is_exact = true;
	if (!add_frame(walk, rule))
		return false;
	return end(walk, rule->return_address == UNWIND_VALUE_UNDEFINED
				 ? WIRE_stack_end_COMPLETE
				 : WIRE_stack_end_NO_UNWIND_INFO);
}

/*
 * Checks a return address, whose rule is looked up one byte early. false: the stack ends, at a
 * function's start, or because the previous frame was left wrongly.
 */
static bool is_returned_to(struct table_walk *walk, uint64_t place, const struct unwind_rule *rule)
{
	const struct unwind_rule *start;

	if (!lacks_call(walk, place, rule))
		return true;
	start = find_start(walk, place + 1);
	if (start)
		return visit_start(walk, start);
	if (!rule)
		return true;
	overrule(walk);
	return end(walk, WIRE_stack_end_BAD_UNWIND_INFO);
}

/* Handles one frame; false: it is the last one. */
static bool visit(struct table_walk *walk)
{
	uint64_t code = walk->pc - !walk->is_exact;
	bool is_told = made_calls_have_frame(&walk->unwinding->calls, walk->pc, walk->sp);
	const struct unwind_rule *rule = NULL;
	struct unwind_rule of_signal;

	find_mapping(walk, code);
	if (walk->mapping && !is_told) {
		const struct stored_table *entry = walk->entry;
		uint64_t place = code - walk->mapping->start + walk->mapping->offset;

		if (entry &&
		    table_store_is_too_new(entry->not_before, walk->unwinding->sample->time))
			return add_lost_frame(walk);
		if (entry)
			rule = rule_cache_find(&walk->engine->cache, entry, place);
		if (!rule && !has_given_all(entry))
			return give_up(walk, ENGINE_TABLE_E_PENDING);
		if (!rule && find_signal_return(walk, place, &of_signal))
			rule = &of_signal;
		if (!walk->is_exact && !is_returned_to(walk, place, rule))
			return false;
	}
	if (!add_frame(walk, rule))
		return false;
	if (is_told)
		return step_by_call(walk);
	if (rule && made_calls_have(&walk->unwinding->calls, code)) {
		overrule(walk);
		return step_by_call(walk);
	}
	if (rule)
		return step(walk, rule);
	return walk->mapping && frame_record_may_be_made(walk->entry) ? step_out_of_jit_code(walk)
								      : step_out_of_file(walk);
}

/* An unreadable image, or a process's first code, is a more precise end reason than the walk's. */
static void explain_end(const struct table_walk *walk)
{
	struct unwinding *unwinding = walk->unwinding;
	struct elf_cache *files = walk->engine->tables->files;
	enum wire_stack_end of_image;

	unwinding->end = walk->end;
	unwinding->failed_image = NULL;
	if (walk->end == WIRE_stack_end_COMPLETE || walk->end == WIRE_stack_end_FRAME_LIMIT)
		return;
	if (walk->end == WIRE_stack_end_NO_UNWIND_INFO && walk->entry->state == TABLE_NO_FILE) {
		unwinding->end = walk->entry->end;
		unwinding->failed_image = walk->entry->image;
		return;
	}
	of_image = unwinding_end_of_image(unwinding, files);
	if (of_image) {
		unwinding->end = of_image;
	} else if (walk->end == WIRE_stack_end_NO_UNWIND_INFO &&
		   unwinding_is_process_entry(unwinding, files, walk->sp)) {
		unwinding->end = WIRE_stack_end_COMPLETE;
		unwinding->failed_image = NULL;
	}
}

/* The outermost frame may not be this stack's if a step was unproved. */
static void settle_end(const struct table_walk *walk)
{
	struct unwinding *unwinding = walk->unwinding;

	explain_end(walk);
	unwinding->last_fp = walk->knows_fp ? walk->fp : 0;
	if (unwinding->is_unproved && unwinding->end == WIRE_stack_end_COMPLETE)
		unwinding->end = WIRE_stack_end_UNPROVED;
}

enum engine_table_outcome engine_table_unwind(struct engine_table *engine,
					      struct unwinding *unwinding)
{
	const struct arch *arch = unwinding->arch;
	uint64_t sp = unwinding_register(unwinding, arch->sp);
	struct table_walk walk = {
		.engine = engine,
		.unwinding = unwinding,
		.passed = { &unwinding->words, 0 },
		.reads = stack_reads_begin(engine->reads, unwinding->sample, sp),
		.stack_start = sp,
		.pc = unwinding_register(unwinding, arch->pc),
		.sp = sp,
		.fp = unwinding_register(unwinding, arch->fp),
		.knows_fp = true,
		.without_fp = WIRE_stack_end_TRUNCATED, /* its slot was not captured */
		.is_sampled = true,
		.is_exact = true,
	};

	unwinding->n_frames = unwinding->n_verifiable = unwinding->n_made = 0;
	unwinding->contradicts_cfi = unwinding->is_unproved = false;
	unwinding->told = (struct made_caller){ 0 };
	unwinding->builtins = &engine->builtins;
	while (visit(&walk))
		;
	if (walk.outcome == ENGINE_TABLE_OK)
		settle_end(&walk);
	return walk.outcome;
}

void engine_table_cut(struct engine_table *engine, struct unwinding *unwinding)
{
	table_cut(&engine->cache, engine->tables->files, unwinding);
}
