/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture-source/replay-sample.h"
#include "common/base/growing-list.h"
#include "common/base/hash.h"
#include "common/base/zero-pages.h"
#include "common/script/script-place.h"
#include "common/stream/stack-memo.h"

enum {
	CONTEXT_MARKS = 4095, /* PERF_CONTEXT_…: the largest values of 64 bits */
	NAME_MAX_SIZE = 4096,
	ADDRESSES_MAX = UINT16_MAX / sizeof(uint64_t),
	TAKEN_FRAMES = 1 << 17, /* a power of two */
	KEPT_FRAMES_MAX = 1 << 22,
};

/* The last stack: the next one mostly has the same outer frames. */
struct taken_stack {
	const uint64_t *addresses; /* in the file */
	size_t n_addresses;	   /* 0: none */
	uint64_t process, version;
	uint32_t end;
	size_t n_frames;
	struct wire_frame frames[WIRE_FRAMES_MAX];
	/* By address of the sample: the frames before it, and the state in which it was taken. */
	uint16_t n_before[ADDRESSES_MAX];
	uint8_t state[ADDRESSES_MAX];
};

/* A cache of frames by process and address. */
struct taken_frame {
	uint64_t process, version; /* version: of the process's mappings and of all names */
	uint64_t address;
	uint8_t state; /* state in which the address was taken: kernel, exact */
	struct wire_frame frame;
};

/* A converted stack, for when its addresses recur. */
struct kept_stack {
	uint32_t first_frame, n_frames, end;
};

struct taking {
	struct replay *replay;
	struct replayed_process *process;
	const struct syscap_frame *frame;
	struct location_name name; /* inlined calls that precede their function */
	char inlined[LOCATIONS_INLINED_MAX][NAME_MAX_SIZE];
	bool is_kernel, is_exact; /* of the next address */
	struct taken_stack stacks[2], *now, *last;
	struct taken_frame *frames; /* direct-mapped */
	struct stack_memo memo;	    /* whole stacks: index in `kept` + 1 */
	struct kept_stack *kept;
	struct wire_frame *kept_frames;
	size_t n_kept, n_kept_frames, n_kept_allocated;
	uint64_t era; /* incremented when the kept stacks are dropped */
};

/* "[file+0xoffset]": stackpipe's text for a location without a name. */
static bool is_nameless(const char *text, uint64_t *ret_offset)
{
	const char *plus = strrchr(text, '+');
	char *end;

	if (text[0] != '[' || !plus || strncmp(plus, "+0x", 3))
		return false;
	*ret_offset = strtoull(plus + 3, &end, 16);
	return !strcmp(end, "]");
}

static void name_kernel(struct taking *taking, uint64_t address)
{
	uint64_t size, code = address - !taking->is_exact;
	const struct kernel_symbol *symbol = kallsyms_find(&taking->replay->kallsyms, code, &size);

	if (!symbol || !strcmp(symbol->name, "unknown")) /* "unknown" marks the end of a function */
		return;
	taking->name.name = symbol->name;
	taking->name.module = symbol->module;
	taking->name.start = symbol->address;
	taking->name.size = size;
}

static int add_kernel_frame(struct taking *taking, uint64_t address, struct wire_frame *ret)
{
	uint32_t flags = WIRE_frame_flags_KERNEL | (taking->is_exact ? WIRE_frame_flags_EXACT : 0);
	int r = locations_add_kernel(&taking->replay->locations, taking->frame->time);

	name_kernel(taking, address);
	return r < 0 ? r
		     : locations_make_frame(&taking->replay->locations, NULL, address, flags,
					    &taking->name, ret);
}

/* Makes a frame from its name alone. */
static int add_named_frame(struct taking *taking, const char *text, struct wire_frame *ret)
{
	char cut[NAME_MAX_SIZE], proved[NAME_MAX_SIZE];
	bool is_jit = locations_cut_mark(text, "_[j]", cut, sizeof(cut));
	uint32_t flags = 0;
	int r;

	taking->name.name =
		locations_cut_step_mark(is_jit ? cut : text, proved, sizeof(proved), &flags);
	r = locations_make_synthetic_frame(&taking->replay->locations, &taking->process->process,
					   is_jit ? LOCATION_JIT : LOCATION_CODE, &taking->name,
					   taking->frame->time, ret);
	ret->flags |= flags;
	return r;
}

/* Makes a frame at a real address, with the capture's name for it. */
static int add_user_frame(struct taking *taking, uint64_t address, struct wire_frame *ret)
{
	const struct syscap_bundled_symbol *symbol;
	const char *text =
		bundle_find(&taking->replay->bundle, taking->frame->pid, address, &symbol);
	bool is_script = script_has(address);
	uint32_t flags = (taking->is_exact || is_script ? WIRE_frame_flags_EXACT : 0) |
			 (is_script ? WIRE_frame_flags_SCRIPT : 0);
	char cut[NAME_MAX_SIZE], proved[NAME_MAX_SIZE];
	int r;

	if (text && is_nameless(text, &taking->name.start)) {
		taking->name.name = "";
		taking->name.size = 1; /* the size is not known, but the start is */
	} else if (text) {
		const char *name = locations_cut_mark(text, "_[j]", cut, sizeof(cut)) ? cut : text;

		name = locations_cut_step_mark(name, proved, sizeof(proved), &flags);
		if (strcmp(name, "[unknown]"))
			taking->name.name = name;
	}
	r = locations_make_frame(&taking->replay->locations, &taking->process->process, address,
				 flags, &taking->name, ret);
	if (r < 0 || ret->mapping || !taking->name.name || !*taking->name.name)
		return r;
	return add_named_frame(taking, text, ret); /* Sysprof's captures lack some mappings */
}

/* Resets a name, except the long list behind `n_inlined`. */
static void forget_name(struct location_name *name)
{
	name->name = name->module = NULL;
	name->start = name->size = name->n_inlined = 0;
}

/* Keeps an inlined call until its function comes. */
static void keep_inlined(struct taking *taking, const char *text)
{
	size_t n = taking->name.n_inlined;

	if (n == LOCATIONS_INLINED_MAX)
		return;
	snprintf(taking->inlined[n], sizeof(taking->inlined[n]), "%.*s",
		 (int)sizeof(taking->inlined[n]) - 1, text);
	taking->name.inlined[n] = taking->inlined[n];
	taking->name.n_inlined++;
}

/* The cache entry for a frame without inlined calls. */
static struct taken_frame *find_taken(const struct taking *taking, uint64_t address)
{
	return &taking->frames[hash_place(
		address ^ taking->process->process.number << 40 ^ taking->is_exact, TAKEN_FRAMES)];
}

/* What the next address depends on, including whether inlined calls precede it. */
static uint8_t state_of(const struct taking *taking)
{
	return (taking->name.n_inlined > 0) << 2 | taking->is_kernel << 1 | taking->is_exact;
}

/* Of the process's mappings and of all emitted names. */
static uint64_t version_of(const struct taking *taking)
{
	return taking->replay->locations.n_retold << 32 ^ taking->process->process.n_changes;
}

/* Makes a frame of any kind, from the cache if possible. */
static int add_frame(struct taking *taking, uint64_t address, const char *entry,
		     struct wire_frame *ret)
{
	struct taken_frame *known = find_taken(taking, address);
	bool is_alone = !taking->name.n_inlined;
	int r;

	if (is_alone && known->process == taking->process->process.number &&
	    known->version == version_of(taking) && known->state == state_of(taking) &&
	    known->address == address) {
		*ret = known->frame;
		return 0;
	}
	if (taking->is_kernel)
		r = add_kernel_frame(taking, address, ret);
	else if (entry)
		r = add_named_frame(taking, entry, ret);
	else
		r = add_user_frame(taking, address, ret);
	if (r == 0 && is_alone)
		*known = (struct taken_frame){
			.process = taking->process->process.number,
			.version = version_of(taking),
			.address = address,
			.state = state_of(taking),
			.frame = *ret,
		};
	return r;
}

/* Handles an address: a context mark, an end reason, an inlined call, or a frame. */
static int take_address(struct taking *taking, uint64_t address, bool is_outermost)
{
	const char *entry = address >> 32 == SYSCAP_JITMAP_MARK >> 32
				    ? syscap_file_jitmap(&taking->replay->syscap, address)
				    : NULL;
	struct taken_stack *now = taking->now;
	char cut[NAME_MAX_SIZE];
	int r;

	if (address >= (uint64_t)-CONTEXT_MARKS) {
		taking->is_kernel = address == SYSCAP_CONTEXT_KERNEL;
		taking->is_exact = true;
		return 0;
	}
	if (entry && !taking->is_kernel) {
		if (is_outermost && locations_find_end(entry, &now->end))
			return 0;
		if (locations_cut_mark(entry, "_[i]", cut, sizeof(cut))) {
			keep_inlined(taking, cut);
			return 0;
		}
	}
	if (now->n_frames == WIRE_FRAMES_MAX)
		return 0;
	r = add_frame(taking, address, entry, &now->frames[now->n_frames]);
	now->n_frames++;
	taking->is_exact = false;
	forget_name(&taking->name);
	return r;
}

/* The number of addresses, from the outermost, that the last stack shares. */
static size_t count_common(const struct taken_stack *last, const struct taken_stack *now)
{
	size_t n = now->n_addresses, n_last = last->n_addresses, i = 0;

	while (i < n && i < n_last && now->addresses[n - 1 - i] == last->addresses[n_last - 1 - i])
		i++;
	return i;
}

/*
 * Copies the frames from the i-th address on from the last stack, if the state was the same there.
 * `at` is the index of that address in the last stack.
 */
static bool take_rest(struct taking *taking, size_t i, size_t at)
{
	const struct taken_stack *last = taking->last;
	struct taken_stack *now = taking->now;
	size_t n_addresses = now->n_addresses - i, skipped = last->n_before[at];
	size_t n_frames = last->n_frames - skipped;

	if (last->process != now->process || last->version != version_of(taking) ||
	    taking->name.n_inlined || last->state[at] != state_of(taking) ||
	    now->n_frames + n_frames > WIRE_FRAMES_MAX)
		return false;
	for (size_t k = 0; k < n_addresses; k++)
		now->n_before[i + k] = last->n_before[at + k] - skipped + now->n_frames;
	memcpy(now->state + i, last->state + at, n_addresses);
	memcpy(now->frames + now->n_frames, last->frames + skipped,
	       n_frames * sizeof(*now->frames));
	now->n_frames += n_frames;
	now->end = last->end;
	return true;
}

/* Makes all frames of a sample; copies the outer ones that the last sample shares. */
static int take_addresses(struct taking *taking)
{
	struct taken_stack *now = taking->now;
	size_t n = now->n_addresses, n_common = count_common(taking->last, now);
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		if (n - i <= n_common && take_rest(taking, i, taking->last->n_addresses - (n - i)))
			break;
		now->n_before[i] = now->n_frames;
		now->state[i] = state_of(taking);
		r = take_address(taking, now->addresses[i], i + 1 == n);
	}
	now->version = version_of(taking);
	return r;
}

/* Prepares for the next sample. */
static void begin_taking(struct taking *taking, struct replayed_process *process,
			 const uint64_t *addresses, size_t n_addresses)
{
	struct taken_stack *now = taking->last ? taking->last : &taking->stacks[0];

	taking->last = taking->now ? taking->now : &taking->stacks[1];
	taking->now = now;
	forget_name(&taking->name);
	taking->is_kernel = false;
	taking->is_exact = true;
	now->addresses = addresses;
	now->n_addresses = n_addresses;
	now->process = process->process.number;
	now->n_frames = 0;
	now->end = taking->replay->is_ours ? WIRE_stack_end_COMPLETE : WIRE_stack_end_NOT_TOLD;
}

/* Everything on which the frames of a stack depend. */
static struct stack_key key_of(const struct taking *taking, const uint64_t *addresses,
			       size_t n_addresses)
{
	const uint64_t state[] = { taking->process->process.number, version_of(taking),
				   taking->era };

	return stack_memo_key(
		&taking->memo, addresses, n_addresses,
		stack_memo_state(&taking->memo, state, sizeof(state) / sizeof(*state)));
}

/* Makes room for more frames. 0 or -ENOMEM. */
static int make_room(struct taking *taking, size_t n_frames)
{
	return GROWING_LIST_RESERVE(taking->kept_frames, taking->n_kept_allocated, 4096,
				    taking->n_kept_frames + n_frames);
}

/* Keeps a stack. If there are too many, drops all before it. 0 or -ENOMEM. */
static int keep(struct taking *taking, struct stack_key key)
{
	const struct taken_stack *now = taking->now;

	if (taking->n_kept_frames + now->n_frames > KEPT_FRAMES_MAX) {
		taking->n_kept = taking->n_kept_frames = 0;
		taking->era++;
		key = key_of(taking, now->addresses, now->n_addresses);
	}
	if (make_room(taking, now->n_frames) < 0 ||
	    GROWING_LIST_MAKE_ROOM(taking->kept, taking->n_kept) < 0)
		return -ENOMEM;
	taking->kept[taking->n_kept++] = (struct kept_stack){
		.first_frame = taking->n_kept_frames,
		.n_frames = now->n_frames,
		.end = now->end,
	};
	if (now->n_frames)
		memcpy(taking->kept_frames + taking->n_kept_frames, now->frames,
		       now->n_frames * sizeof(*now->frames));
	taking->n_kept_frames += now->n_frames;
	stack_memo_keep(&taking->memo, key, taking->n_kept);
	return 0;
}

int taking_take(struct taking *taking, struct replayed_process *process,
		const struct syscap_frame *frame, const uint64_t *addresses, size_t n_addresses,
		struct wire_frames *ret, uint32_t *ret_end)
{
	const struct kept_stack *kept;
	struct stack_key key;
	uint64_t known;
	int r;

	taking->process = process;
	taking->frame = frame;
	key = key_of(taking, addresses, n_addresses);
	known = stack_memo_find(&taking->memo, key);
	if (known) {
		kept = &taking->kept[known - 1];
		*ret = (struct wire_frames){ 0 }; /* a sum of waits has no frames */
		if (kept->n_frames)
			*ret = (struct wire_frames){ taking->kept_frames + kept->first_frame,
						     kept->n_frames };
		*ret_end = kept->end;
		return 0;
	}
	begin_taking(taking, process, addresses, n_addresses);
	r = take_addresses(taking);
	*ret = (struct wire_frames){ taking->now->frames, taking->now->n_frames };
	*ret_end = taking->now->end;
	/* Makes a new key, because names may have changed. */
	return r < 0 ? r : keep(taking, key_of(taking, addresses, n_addresses));
}

void taking_free(struct taking *taking)
{
	if (!taking)
		return;
	stack_memo_deinit(&taking->memo);
	zero_pages_give_back(taking->frames, TAKEN_FRAMES * sizeof(*taking->frames));
	free(taking->kept);
	free(taking->kept_frames);
	zero_pages_give_back(taking, sizeof(*taking));
}

int taking_new(struct replay *replay, struct taking **ret)
{
	struct taking *taking = *ret = zero_pages_get(sizeof(*taking));

	if (!taking)
		return -ENOMEM;
	taking->replay = replay;
	taking->frames = zero_pages_get(TAKEN_FRAMES * sizeof(*taking->frames));
	if (!taking->frames)
		return -ENOMEM;
	return stack_memo_init(&taking->memo);
}
