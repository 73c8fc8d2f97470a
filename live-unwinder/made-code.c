/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/hash.h"
#include "common/base/clock.h"
#include "common/stream/jitdump-path.h"
#include "live-unwinder/made-code.h"

struct made_process {
	struct jitdump dump;
	int fd;		  /* of its jitdump; -1: it has none */
	uid_t user;	  /* whose that is */
	uint64_t version; /* of its mappings, when the jitdump was looked for */
	uint64_t read_at; /* of CLOCK_MONOTONIC */
	uint64_t memory;
	bool is_behind; /* there is more in the file */
	bool is_refused;
};

void made_code_init(struct made_code *made, struct image_files *files)
{
	made->files = files;
	made->arch = unwind_arch_find(files->client.machine);
	pair_map_init(&made->by_process, MADE_CODE_PROCESSES_MAX);
}

static void close_dump(struct made_code *made, struct made_process *process)
{
	if (process->fd >= 0)
		close(process->fd);
	process->fd = -1;
	jitdump_deinit(&process->dump);
	made->memory -= process->memory;
	process->memory = 0;
}

static void free_each(uint64_t number, uint64_t zero, uint64_t process, void *arg)
{
	close_dump(arg, (struct made_process *)process);
	free((struct made_process *)process);
}

void made_code_deinit(struct made_code *made)
{
	if (!made->files)
		return;
	pair_map_each(&made->by_process, free_each, made);
	pair_map_deinit(&made->by_process);
}

void made_code_forget(struct made_code *made, uint64_t process)
{
	uint64_t *known = made->files ? pair_map_find(&made->by_process, process, 0) : NULL;

	if (!known)
		return;
	free_each(process, 0, *known, made);
	pair_map_remove(&made->by_process, process, 0);
}

static void count(struct made_code *made, const char *name, uint64_t n)
{
	if (n) /* a counter is shown once it was asked for */
		*counters_get(&made->files->stage->counters, "made-code", name) += n;
}

/* NULL: there are too many, or there is no memory. */
static struct made_process *get_process(struct made_code *made, const struct process *process)
{
	uint64_t *known = pair_map_find(&made->by_process, process->number, 0);
	struct made_process *added;

	if (known)
		return (struct made_process *)*known;
	added = calloc(1, sizeof(*added));
	if (!added)
		return NULL;
	added->fd = -1;
	jitdump_init(&added->dump);
	jitdump_set_process(&added->dump, process, made->files->stage->hello.clock);
	if (pair_map_add(&made->by_process, process->number, 0, (uintptr_t)added) == 0)
		return added;
	count(made, "refused-processes", 1);
	free(added);
	return NULL;
}

/* The first one that it has mapped. */
static const struct image *find_dump(const struct made_code *made, const struct process *process)
{
	MAPPING_TABLE_EACH(mapping, process_mappings(process))
	{
		const struct image *image = image_table_find(made->files->table, mapping->image);

		if (image && image->kind == WIRE_image_kind_FILE && jitdump_path_is(image->path))
			return image;
	}
	return NULL;
}

static void open_dump(struct made_code *made, struct made_process *made_process,
		      const struct process *process)
{
	const struct image *image;
	struct stat status;

	if (made_process->version == process_version(process))
		return;
	made_process->version = process_version(process);
	image = find_dump(made, process);
	if (!image)
		return;
	made_process->fd = elf_image_open_file(image, &made->files->client);
	if (made_process->fd < 0) {
		made_process->fd = -1;
		return;
	}
	if (fstat(made_process->fd, &status) == 0)
		made_process->user = status.st_uid;
	count(made, "jitdumps", 1);
}

static void count_memory(struct made_code *made, struct made_process *process)
{
	made->memory -= process->memory;
	process->memory = jit_functions_memory(&process->dump.functions);
	made->memory += process->memory;
}

static void refuse(struct made_code *made, struct made_process *process)
{
	close_dump(made, process);
	process->is_refused = true;
	count(made, "refused-jitdumps", 1);
}

/*
 * What cannot be read any more stays as it was. A program may write more than we can read, and all
 * others wait meanwhile: of a live stream as much of the time as is left to them.
 */
static void read_dump(struct made_code *made, struct made_process *process)
{
	bool is_live = made->files->client.has_server && !made->files->client.is_recorded;
	uint64_t now = clock_now(CLOCK_MONOTONIC), before = process->dump.size;
	uint64_t n_of_others = process->dump.n_of_others, most = UINT64_MAX;
	int r;

	if (is_live)
		most = reading_share_allows(&made->share, process->user, READING_PIECE, now);
	if (!most)
		return;
	process->read_at = now;
	r = jitdump_read(&process->dump, process->fd, most);
	count(made, "records-of-others", process->dump.n_of_others - n_of_others);
	process->is_behind = process->dump.size - before >= most;
	reading_share_use(&made->share, process->user, now, clock_now(CLOCK_MONOTONIC));
	count_memory(made, process);
	if (r == -ENOMEM || made->memory > MADE_CODE_MEMORY_MAX)
		refuse(made, process);
}

/* What is known of a process's code at a time; NULL: nothing. */
static const struct made_process *look_at(struct made_code *made, const struct process *process,
					  uint64_t time)
{
	struct made_process *found = get_process(made, process);

	if (!found || found->is_refused)
		return NULL;
	if (found->fd < 0)
		open_dump(made, found, process);
	/* What was made before this sample is in the file by now. */
	if (found->fd >= 0 && (found->read_at <= time || found->is_behind))
		read_dump(made, found);
	if (found->fd < 0 || found->is_behind ||
	    (made->files->client.has_server && found->read_at <= time))
		return NULL;
	/* The CPU's counter tells nothing of the stream's time. */
	return found->dump.has_arch_clock ? NULL : found;
}

static size_t read_bytes(const struct made_process *process, const struct jit_code *code,
			 uint64_t offset, uint8_t to[CODE_FRAME_BYTES])
{
	uint64_t size = code->size - offset;
	ssize_t n;

	if (size > CODE_FRAME_BYTES)
		size = CODE_FRAME_BYTES;
	n = pread(process->fd, to, size, code->function->code_at + offset);
	return n > 0 ? n : 0;
}

static enum code_frame find_frame(const struct made_code *made, const struct made_process *process,
				  const struct jit_code *code, struct code_place place,
				  struct unwind_rule *ret)
{
	uint8_t begin[CODE_FRAME_BYTES], at[CODE_FRAME_BYTES];

	place.begin = begin;
	place.n_begin = read_bytes(process, code, 0, begin);
	place.at = at;
	place.n_at = place.is_exact ? read_bytes(process, code, place.offset, at) : 0;
	return made->arch->find_frame(&place, ret);
}

static struct made_place *cached_place(struct made_code *made, uint64_t process, uint64_t place)
{
	return &made->cached[hash_place(process << 32 ^ place, MADE_CODE_CACHED)];
}

/* Pieces of code are few, and so are the bytes of a function that is looked at. */
static uint64_t pack(const struct jit_code *code, const struct code_place *place)
{
	return (uint64_t)code->piece << 32 | (uint32_t)place->offset << 1 | place->is_exact;
}

enum code_frame made_code_find(struct made_code *made, const struct unwinding *unwinding,
			       uint64_t pc, bool is_exact, struct unwind_rule *ret)
{
	uint64_t process = unwinding->process->number, time = unwinding->sample->time;
	struct code_place place = { .is_exact = is_exact };
	const struct made_process *found;
	struct made_place *cached;
	struct jit_code code;
	uint64_t generation;

	if (!made->arch || !made->arch->find_frame)
		return CODE_FRAME_UNKNOWN;
	found = look_at(made, unwinding->process, time);
	if (!found || !jit_functions_find(&found->dump.functions, pc - !is_exact, time, &code) ||
	    !code.function->code_at || code.size >> 31)
		return CODE_FRAME_UNKNOWN;
	place.size = code.size;
	place.offset = pc - code.start;
	generation = found->dump.n_anew + found->dump.n_forgotten_pieces;
	cached = cached_place(made, process, pack(&code, &place));
	if (cached->process != process || cached->generation != generation ||
	    cached->place != pack(&code, &place)) {
		*cached = (struct made_place){ process, generation, pack(&code, &place) };
		cached->frame = find_frame(made, found, &code, place, &cached->rule);
	}
	*ret = cached->rule;
	return cached->frame;
}
