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
#include "live-unwinder/frame-record.h"
#include "live-unwinder/table-cut.h"
#include "live-unwinder/table-walk.h"

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

/* Whether nothing is known of a frame but its return address, stack pointer and frame pointer. */
static bool is_plain(const struct table_walk *walk)
{
	return walk->knows_fp && !walk->is_exact && !walk->is_sampled && !walk->interrupted_at;
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
		return table_walk_end(walk, WIRE_stack_end_FRAME_LIMIT);
	if (!mapping && !walk->is_sampled)
		return table_walk_end(walk, WIRE_stack_end_NO_MAPPING);
	unwinding_note_stack_pointer(unwinding, walk->sp);
	unwinding->frames[unwinding->n_frames++] = (struct wire_frame){
		.address = walk->pc,
		.mapping = mapping ? mapping->number : 0,
		.flags = is_exact ? WIRE_frame_flags_EXACT : 0,
	};
	passed_walk_add_place(&walk->engine->passed, walk->sp, walk->fp, is_plain(walk));
	return mapping || table_walk_end(walk, WIRE_stack_end_NO_MAPPING);
}

/* Nothing proves this step, so the frame is marked FRAME_POINTER. */
static bool step_by_record(struct table_walk *walk, const struct frame_record *record)
{
	struct unwinding *unwinding = walk->unwinding;

	unwinding->frames[unwinding->n_frames - 1].flags |= WIRE_frame_flags_FRAME_POINTER;
	unwinding->is_unproved = true;
	table_walk_note_unconfirmable(walk);
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
		return table_walk_end(walk, WIRE_stack_end_NO_UNWIND_INFO);
	return step_by_record(walk, &record);
}

/* Where the process itself has said how its code is left, nothing else counts. */
static bool step_by_call(struct table_walk *walk)
{
	struct unwinding *unwinding = walk->unwinding;
	const struct made_caller frame = { walk->pc, walk->sp, walk->knows_fp ? walk->fp : 0 };
	struct made_caller caller;

	if (!made_calls_find(&unwinding->calls, &frame, &caller))
		return table_walk_end(walk, WIRE_stack_end_NO_UNWIND_INFO);
	if (!unwinding->told.sp)
		unwinding->told = frame;
	table_walk_note_unconfirmable(walk);
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
	table_walk_note_unconfirmable(walk);
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
	return table_walk_step(walk, rule);
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
		return table_walk_step(walk, &rule);
	case CODE_FRAME_NONE:
		return table_walk_end(walk, WIRE_stack_end_NO_UNWIND_INFO);
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
		return table_walk_step(walk, &running->rule);
	if (frame_record_find_unmade(walk->unwinding, &engine->cache, &engine->builtins, walk->sp,
				     walk->fp, &record))
		return step_by_record(walk, &record);
	return v8_builtin_has_frame_of(running, walk->fp - walk->sp)
		       ? step_by_frame_pointer(walk)
		       : table_walk_end(walk, WIRE_stack_end_NO_UNWIND_INFO);
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
		return table_walk_end(walk, WIRE_stack_end_NO_UNWIND_INFO);
	offset = walk->pc - walk->mapping->start + walk->mapping->offset;
	if (walk->is_exact)
		running = v8_builtins_find(builtins, image, offset);
	if (walk->is_exact ? !running : !v8_builtins_has(builtins, image, offset - 1))
		return table_walk_end(walk, WIRE_stack_end_NO_UNWIND_INFO);
	return step_out_of_builtin(walk, running);
}

/* Adds a frame in a file content that no longer exists: only its address is known. */
static bool add_lost_frame(struct table_walk *walk)
{
	struct unwinding *unwinding = walk->unwinding;

	if (unwinding->n_frames == unwinding->n_frames_max)
		return table_walk_end(walk, WIRE_stack_end_FRAME_LIMIT);
	unwinding_note_stack_pointer(unwinding, walk->sp);
	unwinding->frames[unwinding->n_frames++] = (struct wire_frame){
		.address = walk->pc,
		.flags = walk->is_exact ? WIRE_frame_flags_EXACT : 0,
	};
	return table_walk_end(walk, WIRE_stack_end_IMAGE_UNAVAILABLE);
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
	table_walk_overrule(walk);
	walk->is_exact = true;
	if (!add_frame(walk, rule))
		return false;
	return table_walk_end(walk, rule->return_address == UNWIND_VALUE_UNDEFINED
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
	table_walk_overrule(walk);
	return table_walk_end(walk, WIRE_stack_end_BAD_UNWIND_INFO);
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
			return table_walk_give_up(walk, ENGINE_TABLE_E_PENDING);
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
		table_walk_overrule(walk);
		return step_by_call(walk);
	}
	if (rule)
		return table_walk_step(walk, rule);
	walk->engine->passed.is_other = true; /* not by its tables alone */
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

/*
 * Whether the words that led on from a frame are still there. If not, no frame is met up to the one
 * that the first other word led from.
 */
static bool has_same_words(struct table_walk *walk)
{
	const struct last_walk *last = walk->last;
	struct stack_words_passed words = walk->words;
	uint64_t word;

	for (uint32_t i = last->places[walk->met].words_at; i < LAST_WALK_WORDS_MAX; i++) {
		if (table_walk_find_word(walk, last->words[i].address, &word) &&
		    word == last->words[i].value)
			continue;
		walk->words = words;
		walk->met = last_walk_frame_of(last, i) + 1;
		return false;
	}
	return true;
}

/* The frames and reads of the rest of the last walk are this one's, too. */
static void add_rest(struct table_walk *walk, size_t n)
{
	struct unwinding *unwinding = walk->unwinding;
	const struct last_walk *last = walk->last;
	const struct walk_place *places = &last->places[walk->met];

	for (size_t i = 0; unwinding->stack_pointers && i < n; i++)
		unwinding->stack_pointers[unwinding->n_frames + i] = places[i].sp;
	memcpy(&unwinding->frames[unwinding->n_frames], &last->frames[walk->met],
	       n * sizeof(*last->frames));
	unwinding->n_frames += n;
	for (size_t i = 1; i < n && walk->reads->n < STACK_READS_MAX; i++)
		stack_reads_add(walk->reads, places[i].sp - sizeof(uint64_t));
}

/* Whether the walk has come to where the thread's last one was, so that it ends alike. */
static bool go_on_as_before(struct table_walk *walk)
{
	struct unwinding *unwinding = walk->unwinding;
	const struct last_walk *last = walk->last;
	size_t n;

	if (walk->met == LAST_WALK_FRAMES_MAX || !is_plain(walk) ||
	    !last_walk_has(last, &walk->met, walk->pc, walk->sp, walk->fp))
		return false;
	n = LAST_WALK_FRAMES_MAX - walk->met;
	if (n > unwinding->n_frames_max - unwinding->n_frames || !has_same_words(walk))
		return false;
	add_rest(walk, n);
	walk->goes_on = true;
	walk->fp = last->last_fp;
	walk->end = WIRE_stack_end_COMPLETE;
	return true;
}

/* Whether all of a walk follows from words, mappings and tables. */
static bool may_be_kept(const struct table_walk *walk, const struct walk_basis *basis)
{
	const struct unwinding *unwinding = walk->unwinding;

	return basis->version && walk->end == WIRE_stack_end_COMPLETE && walk->knows_fp &&
	       !walk->engine->passed.is_other && !unwinding->n_verifiable && !unwinding->n_made &&
	       !unwinding->contradicts_cfi;
}

static void keep(const struct table_walk *walk, const struct walk_basis *basis)
{
	struct engine_table *engine = walk->engine;
	struct last_walk *last = &engine->last[basis->tid & (LAST_WALKS_THREADS - 1)];

	last_walk_keep(last, &engine->passed, walk->unwinding->frames,
		       walk->goes_on ? walk->met : LAST_WALK_FRAMES_MAX);
	last->basis = *basis;
	last->time = walk->unwinding->sample->time;
	last->last_fp = walk->fp;
}

enum engine_table_outcome engine_table_unwind(struct engine_table *engine,
					      struct unwinding *unwinding)
{
	const struct arch *arch = unwinding->arch;
	uint64_t sp = unwinding_register(unwinding, arch->sp);
	const struct walk_basis basis = {
		.version = unwinding->is_alone || unwinding->calls.are_told
				   ? 0
				   : process_version(unwinding->process),
		.tables = engine->tables->n_removed,
		.tid = unwinding->sample->tid,
	};
	struct table_walk walk = {
		.engine = engine,
		.unwinding = unwinding,
		.words = { &unwinding->words, 0 },
		.last = last_walk_find(engine->last, &basis, unwinding->sample->time),
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
	passed_walk_begin(&engine->passed);
	walk.met = walk.last ? walk.last->first : LAST_WALK_FRAMES_MAX;
	while (!go_on_as_before(&walk) && visit(&walk))
		;
	if (walk.outcome != ENGINE_TABLE_OK)
		return walk.outcome;
	settle_end(&walk);
	if (may_be_kept(&walk, &basis))
		keep(&walk, &basis);
	return ENGINE_TABLE_OK;
}

void engine_table_cut(struct engine_table *engine, struct unwinding *unwinding)
{
	table_cut(&engine->cache, engine->tables->files, unwinding);
}
