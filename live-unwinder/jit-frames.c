/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/stream/jitdump-path.h"
#include "live-unwinder/jit-frames.h"

struct jit_process_frames {
	struct jitdump dump;
	int fd;		  /* of its jitdump; -1: none */
	uid_t user;	  /* owner of the jitdump */
	uint64_t version; /* of its mappings when a jitdump was last looked for */
	uint64_t read_at; /* in CLOCK_MONOTONIC */
	uint64_t memory;
	bool is_behind; /* the file has unread records */
	bool is_refused;
};

void jit_frames_init(struct jit_frames *jit, struct elf_cache *files)
{
	jit->files = files;
	jit->arch = unwind_arch_find(files->client.machine);
	pair_map_init(&jit->by_process, JIT_FRAMES_PROCESSES_MAX);
}

static void close_dump(struct jit_frames *jit, struct jit_process_frames *process)
{
	if (process->fd >= 0)
		close(process->fd);
	process->fd = -1;
	jitdump_deinit(&process->dump);
	jit->memory -= process->memory;
	process->memory = 0;
}

static void free_each(uint64_t number, uint64_t zero, uint64_t process, void *arg)
{
	close_dump(arg, (struct jit_process_frames *)process);
	free((struct jit_process_frames *)process);
}

void jit_frames_deinit(struct jit_frames *jit)
{
	if (!jit->files)
		return;
	pair_map_each(&jit->by_process, free_each, jit);
	pair_map_deinit(&jit->by_process);
}

void jit_frames_forget(struct jit_frames *jit, uint64_t process)
{
	uint64_t *known = jit->files ? pair_map_find(&jit->by_process, process, 0) : NULL;

	if (!known)
		return;
	free_each(process, 0, *known, jit);
	pair_map_remove(&jit->by_process, process, 0);
}

static void count(struct jit_frames *jit, const char *name, uint64_t n)
{
	if (n) /* counters_get() makes the counter visible */
		*counters_get(&jit->files->stage->counters, "made-code", name) += n;
}

/* NULL: too many processes, or no memory. */
static struct jit_process_frames *get_process(struct jit_frames *jit, const struct process *process)
{
	uint64_t *known = pair_map_find(&jit->by_process, process->number, 0);
	struct jit_process_frames *added;

	if (known)
		return (struct jit_process_frames *)*known;
	added = calloc(1, sizeof(*added));
	if (!added)
		return NULL;
	added->fd = -1;
	jitdump_init(&added->dump);
	jitdump_set_process(&added->dump, process, jit->files->stage->hello.clock);
	if (pair_map_add(&jit->by_process, process->number, 0, (uintptr_t)added) == 0)
		return added;
	count(jit, "refused-processes", 1);
	free(added);
	return NULL;
}

/* The first jitdump that the process has mapped. */
static const struct image *find_dump(const struct jit_frames *jit, const struct process *process)
{
	MAPPING_TABLE_EACH(mapping, process_mappings(process))
	{
		const struct image *image = image_table_find(jit->files->table, mapping->image);

		if (image && image->kind == WIRE_image_kind_FILE && jitdump_path_is(image->path))
			return image;
	}
	return NULL;
}

static void open_dump(struct jit_frames *jit, struct jit_process_frames *jit_process,
		      const struct process *process)
{
	const struct image *image;
	struct stat status;

	if (jit_process->version == process_version(process))
		return;
	jit_process->version = process_version(process);
	image = find_dump(jit, process);
	if (!image)
		return;
	jit_process->fd = elf_image_open_file(image, &jit->files->client);
	if (jit_process->fd < 0) {
		jit_process->fd = -1;
		return;
	}
	if (fstat(jit_process->fd, &status) == 0)
		jit_process->user = status.st_uid;
	count(jit, "jitdumps", 1);
}

static void count_memory(struct jit_frames *jit, struct jit_process_frames *process)
{
	jit->memory -= process->memory;
	process->memory = jit_functions_memory(&process->dump.functions);
	jit->memory += process->memory;
}

static void refuse(struct jit_frames *jit, struct jit_process_frames *process)
{
	close_dump(jit, process);
	process->is_refused = true;
	count(jit, "refused-jitdumps", 1);
}

/*
 * After a read error the known code stays. A program may write more than this stage can read while
 * all samples wait, so a live stream gets only its share of the time.
 */
static void read_dump(struct jit_frames *jit, struct jit_process_frames *process)
{
	bool is_live = jit->files->client.has_server && !jit->files->client.is_recorded;
	uint64_t now = clock_now(CLOCK_MONOTONIC), before = process->dump.size;
	uint64_t n_of_others = process->dump.n_of_others, most = UINT64_MAX;
	int r;

	if (is_live)
		most = reading_share_allows(&jit->share, process->user, READING_PIECE, now);
	if (!most)
		return;
	process->read_at = now;
	r = jitdump_read(&process->dump, process->fd, most);
	count(jit, "records-of-others", process->dump.n_of_others - n_of_others);
	process->is_behind = process->dump.size - before >= most;
	reading_share_use(&jit->share, process->user, now, clock_now(CLOCK_MONOTONIC));
	count_memory(jit, process);
	if (r == -ENOMEM || jit->memory > JIT_FRAMES_MEMORY_MAX)
		refuse(jit, process);
}

/* The code of a process that is known at a time; NULL: none. */
static const struct jit_process_frames *look_at(struct jit_frames *jit,
						const struct process *process, uint64_t time)
{
	struct jit_process_frames *found = get_process(jit, process);

	if (!found || found->is_refused)
		return NULL;
	if (found->fd < 0)
		open_dump(jit, found, process);
	/* A read after the sample sees all code made before it. */
	if (found->fd >= 0 && (found->read_at <= time || found->is_behind))
		read_dump(jit, found);
	if (found->fd < 0 || found->is_behind ||
	    (jit->files->client.has_server && found->read_at <= time))
		return NULL;
	/* Times of the CPU's counter (TSC) cannot be compared with the stream's. */
	return found->dump.has_arch_clock ? NULL : found;
}

static size_t read_bytes(const struct jit_process_frames *process, const struct jit_code *code,
			 uint64_t offset, uint8_t to[CODE_FRAME_BYTES])
{
	uint64_t size = code->size - offset;
	ssize_t n;

	if (size > CODE_FRAME_BYTES)
		size = CODE_FRAME_BYTES;
	n = pread(process->fd, to, size, code->function->code_at + offset);
	return n > 0 ? n : 0;
}

static enum code_frame find_frame(const struct jit_frames *jit,
				  const struct jit_process_frames *process,
				  const struct jit_code *code, struct code_place place,
				  struct unwind_rule *ret)
{
	uint8_t begin[CODE_FRAME_BYTES], at[CODE_FRAME_BYTES];

	place.begin = begin;
	place.n_begin = read_bytes(process, code, 0, begin);
	place.at = at;
	place.n_at = place.is_exact ? read_bytes(process, code, place.offset, at) : 0;
	return jit->arch->find_frame(&place, ret);
}

static struct jit_frame *cached_place(struct jit_frames *jit, uint64_t process, uint64_t place)
{
	return &jit->cached[hash_place(process << 32 ^ place, JIT_FRAMES_CACHED)];
}

/* Piece numbers and offsets (below 2^31) fit into 64 bits. */
static uint64_t pack(const struct jit_code *code, const struct code_place *place)
{
	return (uint64_t)code->piece << 32 | (uint32_t)place->offset << 1 | place->is_exact;
}

enum code_frame jit_frames_find(struct jit_frames *jit, const struct unwinding *unwinding,
				uint64_t pc, bool is_exact, struct unwind_rule *ret)
{
	uint64_t process = unwinding->process->number, time = unwinding->sample->time;
	struct code_place place = { .is_exact = is_exact };
	const struct jit_process_frames *found;
	struct jit_frame *cached;
	struct jit_code code;
	uint64_t generation;

	if (!jit->arch || !jit->arch->find_frame)
		return CODE_FRAME_UNKNOWN;
	found = look_at(jit, unwinding->process, time);
	if (!found || !jit_functions_find(&found->dump.functions, pc - !is_exact, time, &code) ||
	    !code.function->code_at || code.size >> 31)
		return CODE_FRAME_UNKNOWN;
	place.size = code.size;
	place.offset = pc - code.start;
	generation = found->dump.n_anew + found->dump.n_forgotten_pieces;
	cached = cached_place(jit, process, pack(&code, &place));
	if (cached->process != process || cached->generation != generation ||
	    cached->place != pack(&code, &place)) {
		*cached = (struct jit_frame){ process, generation, pack(&code, &place) };
		cached->frame = find_frame(jit, found, &code, place, &cached->rule);
	}
	*ret = cached->rule;
	return cached->frame;
}
