/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/growing-list.h"
#include "common/elf/elf-image.h"
#include "common/image-server/image-message.h"
#include "common/jit/jitdump.h"
#include "common/stream/jit-memory.h"
#include "common/stream/jitdump-path.h"
#include "symbolizer/jit/jit-names.h"
#include "symbolizer/jit/perf-map.h"
#include "symbolizer/symbols/symbol-name.h"

/* A location since its name was last emitted, or since it was first seen. */
struct discovered_place {
	struct jit_location at;
	uint64_t first, last; /* times of its stacks */
	uint64_t reported;    /* jit_name.id; 0: no name */
};

struct jit_process {
	struct jit_files files;
	uint64_t settle_at;	  /* not before this; in CLOCK_MONOTONIC */
	uint64_t size_settled;	  /* bytes known at the last time */
	struct pair_map by_place; /* (image, offset) → index of `places` */
	struct discovered_place *places;
	size_t n_places;
	uint64_t memory; /* of its files and locations */
};

/* The name found for a location. */
struct jit_name {
	uint64_t id; /* differs for different code with the same name */
	uint64_t start, size;
	const char *name, *file;
	uint32_t line, column;
};

static void free_process(struct jit_process *process)
{
	jit_files_deinit(&process->files);
	pair_map_deinit(&process->by_place);
	free(process->places);
	free(process);
}

void jit_names_init(struct jit_names *names, struct stage *stage, struct identity *identity,
		    struct image_client *client)
{
	*names = (struct jit_names){
		.stage = stage,
		.identity = identity,
		.reader = { .stage = stage, .identity = identity, .client = client },
	};
	pair_map_init(&names->by_process, JIT_PROCESSES_MAX);
	pair_map_init(&names->makers, JIT_MAKERS_MAX);
}

static void free_each(uint64_t number, uint64_t zero, uint64_t process, void *arg)
{
	free_process((struct jit_process *)process);
}

void jit_names_deinit(struct jit_names *names)
{
	pair_map_each(&names->by_process, free_each, NULL);
	pair_map_deinit(&names->by_process);
	pair_map_deinit(&names->makers);
}

static uint64_t *count(struct jit_names *names, const char *name)
{
	return counters_get(&names->stage->counters, "jit", name);
}

static struct jit_process *find_process(struct jit_names *names, uint64_t number)
{
	uint64_t *known = pair_map_find(&names->by_process, number, 0);

	return known ? (struct jit_process *)*known : NULL;
}

/* An owner of JIT files, and their total usage. */
struct user {
	uid_t user;
	uint64_t memory;
	size_t n; /* processes */
};

struct users {
	struct user list[JIT_PROCESSES_MAX];
	size_t n;
	uid_t user; /* owner whose processes are searched */
	struct jit_process *largest;
};

static void add_to_user(uint64_t number, uint64_t zero, uint64_t value, void *arg)
{
	const struct jit_process *process = (struct jit_process *)value;
	struct users *users = arg;
	size_t i = 0;

	while (i < users->n && users->list[i].user != process->files.user)
		i++;
	if (i == users->n) {
		users->list[users->n].user = process->files.user;
		users->list[users->n].memory = users->list[users->n].n = 0;
		users->n++;
	}
	users->list[i].memory += process->memory;
	users->list[i].n++;
}

static void find_larger(uint64_t number, uint64_t zero, uint64_t value, void *arg)
{
	struct jit_process *process = (struct jit_process *)value;
	struct users *users = arg;

	if (process->files.user == users->user &&
	    (!users->largest || process->memory > users->largest->memory))
		users->largest = process;
}

static int compare_memory(const void *left, const void *right)
{
	const struct user *a = left, *b = right;

	return (a->memory > b->memory) - (a->memory < b->memory);
}

static int compare_processes(const void *left, const void *right)
{
	const struct user *a = left, *b = right;

	return (a->n > b->n) - (a->n < b->n);
}

/* The largest process of the heaviest user, so that no user displaces others' data. */
static struct jit_process *find_largest(const struct jit_names *names,
					int (*compare)(const void *, const void *))
{
	struct users users = { .n = 0 };
	const struct user *most = users.list;

	pair_map_each(&names->by_process, add_to_user, &users);
	for (size_t i = 1; i < users.n; i++)
		if (compare(&users.list[i], most) > 0)
			most = &users.list[i];
	users.user = most->user;
	pair_map_each(&names->by_process, find_larger, &users);
	return users.largest;
}

static void drop_process(struct jit_names *names, struct jit_process *process)
{
	names->memory -= process->memory;
	pair_map_remove(&names->by_process, process->files.process, 0);
	free_process(process);
}

/* NULL: no memory. */
static struct jit_process *get_process(struct jit_names *names, uint64_t number)
{
	struct jit_process *process = find_process(names, number);

	if (process)
		return process;
	if (names->by_process.n == JIT_PROCESSES_MAX) {
		++*count(names, "given-up");
		drop_process(names, find_largest(names, compare_processes));
	}
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	jit_files_init(&process->files, &names->reader, number);
	pair_map_init(&process->by_place, JIT_PLACES_MAX);
	if (pair_map_add(&names->by_process, number, 0, (uintptr_t)process) < 0) {
		free_process(process);
		return NULL;
	}
	return process;
}

/* 0 or -ENOMEM. */
static int note_maker(struct jit_names *names, const struct wire_mapping *mapping)
{
	int r;

	if (pair_map_find(&names->makers, mapping->image, 0))
		return 0;
	r = pair_map_add(&names->makers, mapping->image, 0, mapping->process);
	if (r == -ENOSPC)
		++*count(names, "refused");
	return r == -ENOMEM ? r : 0;
}

int jit_names_map(struct jit_names *names, const struct wire_mapping *mapping)
{
	struct image *image = image_table_find(&names->identity->images, mapping->image);
	struct jit_process *process;

	if (!image || image->kind != WIRE_image_kind_FILE)
		return 0;
	if (jit_memory_is_path(image->path))
		return note_maker(names, mapping);
	if (!jitdump_path_is(image->path))
		return 0;
	process = get_process(names, mapping->process);
	if (!process)
		return 0;
	if (!process->files.dump_image)
		process->files.dump_image = mapping->image;
	return 0;
}

bool jit_names_is_maker(const struct jit_names *names, uint64_t process, uint64_t image)
{
	const uint64_t *maker = pair_map_find(&names->makers, image, 0);

	return maker && *maker == process;
}

static bool is_of_living_image(uint64_t image, uint64_t zero, uint64_t maker, void *arg)
{
	const struct jit_names *names = arg;

	return image_table_find(&names->identity->images, image);
}

void jit_names_forget_ended(struct jit_names *names)
{
	pair_map_prune(&names->makers, is_of_living_image, names);
}

static void count_memory(struct jit_names *names, struct jit_process *process)
{
	uint64_t now = jit_files_memory(&process->files) + process->n_places * JIT_PLACE_SIZE;

	names->memory += now - process->memory;
	process->memory = now;
}

/* Drops the files and locations of a process. Emitted names stay. */
static void refuse(struct jit_names *names, struct jit_process *process)
{
	jit_files_refuse(&process->files, &names->reader);
	pair_map_deinit(&process->by_place);
	free(take_pointer(process->places));
	process->n_places = 0;
	pair_map_init(&process->by_place, JIT_PLACES_MAX);
	count_memory(names, process);
}

/* Refuses the largest processes beyond the limit, so that they do not displace the others. */
static void keep_within_limit(struct jit_names *names, struct jit_process *process)
{
	count_memory(names, process);
	while (names->memory > JIT_MEMORY_MAX)
		refuse(names, find_largest(names, compare_memory));
}

static void read_files(struct jit_names *names, struct jit_process *process, uint64_t time)
{
	if (!jit_files_read(&process->files, &names->reader, time))
		refuse(names, process);
	keep_within_limit(names, process);
}

enum source { OF_DUMP, OF_MAP };

/* How often a file's pieces of code were renumbered. */
static uint64_t generation_of(const struct jit_process *process, enum source source)
{
	return source == OF_DUMP
		       ? process->files.dump.n_anew + process->files.dump.n_forgotten_pieces
		       : process->files.map.n_anew + process->files.map.n_forgotten_entries;
}

static uint64_t make_id(const struct jit_process *process, enum source source, size_t piece)
{
	return (generation_of(process, source) << 32 | (piece + 1)) << 1 | source;
}

/* Whether the files still have the same pieces of code. */
static bool is_current(const struct jit_process *process, uint64_t id)
{
	return !process->files.is_refused && id >> 33 == generation_of(process, id & 1);
}

static bool find_in_dump(const struct jit_process *process, uint64_t address, uint64_t time,
			 struct jit_name *ret)
{
	const struct jitdump *dump = &process->files.dump;
	struct jit_place line = { 0 };
	struct jit_code code;

	/* jitdump records are in time order. */
	if (!jit_files_knows(&process->files, time) && time >= jit_functions_time(&dump->functions))
		return false;
	/* Times of the CPU's counter (TSC) cannot be compared with the stream's. */
	if (dump->has_arch_clock || !jit_functions_find(&dump->functions, address, time, &code) ||
	    !*code.name)
		return false;
	jit_functions_find_line(&dump->functions, &code, address, &line);
	*ret = (struct jit_name){
		.id = make_id(process, OF_DUMP, code.piece),
		.start = code.start,
		.size = code.size,
		.name = code.name,
		.file = line.file,
		.line = line.line,
		.column = line.column,
	};
	return true;
}

static bool find_in_map(const struct jit_process *process, uint64_t address, uint64_t time,
			struct jit_name *ret)
{
	const struct perf_map *map = &process->files.map;
	struct perf_map_entry entry;

	if (!jit_files_knows(&process->files, time)) /* an unread line may be about this address */
		return false;
	if (!perf_map_find_at(map, address, time, &entry))
		return false;
	*ret = (struct jit_name){
		.id = make_id(process, OF_MAP, entry.piece),
		.start = entry.start,
		.size = entry.size,
		.name = entry.name,
	};
	return true;
}

/* The name of an address at a time, as far as the files are known by now; id 0: unknown. */
static struct jit_name find_name(const struct jit_process *process, uint64_t address, uint64_t time)
{
	struct jit_name name = { .start = address };

	if (!find_in_dump(process, address, time, &name))
		find_in_map(process, address, time, &name);
	return name;
}

/* Emits a location's name for all stacks since `place->first`. 0 or -errno. */
static int report(struct jit_names *names, const struct discovered_place *place,
		  const struct jit_name *name)
{
	char room[LONG_NAME_MAX + 1];
	struct wire_symbol symbol = {
		.image = place->at.image,
		.offset = place->at.offset,
		.start = place->at.offset - (place->at.address - name->start),
		.size = name->size,
		.name = symbol_name_fit(names->stage, name->name, name->start, room),
		.file = wire_string(name->file, WIRE_NAME_MAX),
		.line = name->line,
		.column = name->column,
		.since = place->first,
	};

	return stage_put(names->stage, WIRE_RECORD_symbol, &symbol);
}

/* Adds a new location; NULL: too many, or no memory. */
static struct discovered_place *add_place(struct jit_process *process,
					  const struct jit_location *at, uint64_t time)
{
	if (GROWING_LIST_MAKE_ROOM(process->places, process->n_places) < 0)
		return NULL;
	if (pair_map_add(&process->by_place, at->image, at->offset, process->n_places) < 0)
		return NULL;
	process->places[process->n_places] = (struct discovered_place){
		.at = *at,
		.first = time,
	};
	return &process->places[process->n_places++];
}

/* Emits a name that has changed between two stacks, or that came too late for the first. */
static int change(struct jit_names *names, const struct jit_process *process,
		  struct discovered_place *place, const struct jit_name *name, uint64_t time)
{
	if (place->reported || find_name(process, place->at.address, place->first).id != name->id)
		place->first = time;
	place->reported = name->id;
	return report(names, place, name);
}

/*
 * Checks the name for stacks since it was last emitted: a compiler may have written late that other
 * code was there. If that is true of only some of these stacks, the name is withdrawn.
 */
static int settle_place(struct jit_names *names, const struct jit_process *process,
			struct discovered_place *place)
{
	struct jit_name name = find_name(process, place->at.address, place->first);
	bool is_one = name.id == find_name(process, place->at.address, place->last).id;

	if (is_one ? name.id == place->reported : !place->reported)
		return 0;
	if (place->reported && !is_current(process, place->reported))
		return 0;
	if (!is_one) {
		++*count(names, "ambiguous-places");
		name = (struct jit_name){ .start = place->at.address };
	}
	place->reported = name.id;
	return report(names, place, &name);
}

static int settle(struct jit_names *names, struct jit_process *process)
{
	uint64_t began = clock_now(CLOCK_MONOTONIC), ended;
	int r = 0;

	process->settle_at = began + JIT_SETTLE_NS;
	if (process->size_settled == jit_files_size(&process->files))
		return 0;
	process->size_settled = jit_files_size(&process->files);
	for (size_t i = 0; i < process->n_places && r == 0; i++)
		r = settle_place(names, process, &process->places[i]);
	ended = clock_now(CLOCK_MONOTONIC);
	process->settle_at = ended + JIT_SETTLE_NS + (ended - began) * READING_SHARE_USER;
	reading_share_use(&names->reader.share, process->files.user, began, ended);
	return r;
}

static bool is_in_file(const struct jit_names *names, const struct jit_location *at)
{
	const struct image *image = image_table_find(&names->identity->images, at->image);

	return image && image->kind == WIRE_image_kind_FILE;
}

int jit_names_discover(struct jit_names *names, uint64_t process_number,
		       const struct jit_location *at, uint64_t time)
{
	struct jit_process *process = get_process(names, process_number);
	bool is_file = is_in_file(names, at);
	struct discovered_place *place;
	struct jit_name name;
	uint64_t *known;
	int r = 0;

	if (!process) {
		++*count(names, "refused");
		return 0;
	}
	process->files.map_image = is_file ? at->image | IMAGE_MESSAGE_MAP_OF : at->image;
	read_files(names, process, time); /* code made before this stack is in the files by now */
	if (process->files.known_at >= process->settle_at)
		r = settle(names, process);
	if (r < 0 || (process->files.is_refused && !is_file))
		return r;
	name = find_name(process, at->address, time);
	known = pair_map_find(&process->by_place, at->image, at->offset);
	place = known ? &process->places[*known] : add_place(process, at, time);
	if (!place) {
		++*count(names, "refused");
		return 0;
	}
	place->last = time;
	/* A file's location is emitted at first even without a name: its names depend on time. */
	if (place->reported == name.id && (known || !is_file))
		return 0;
	return change(names, process, place, &name, time);
}

static int end(struct jit_names *names, struct jit_process *process)
{
	if (!jit_files_read_last(&process->files, &names->reader))
		refuse(names, process);
	keep_within_limit(names, process);
	return settle(names, process);
}

int jit_names_end(struct jit_names *names, uint64_t number)
{
	struct jit_process *process = find_process(names, number);
	int r;

	if (!process)
		return 0;
	r = end(names, process);
	drop_process(names, process);
	return r;
}

struct ending {
	struct jit_names *names;
	int r;
};

static void end_each(uint64_t number, uint64_t zero, uint64_t process, void *arg)
{
	struct ending *ending = arg;

	if (ending->r == 0)
		ending->r = end(ending->names, (struct jit_process *)process);
}

int jit_names_end_all(struct jit_names *names)
{
	struct ending ending = { .names = names };

	pair_map_each(&names->by_process, end_each, &ending);
	return ending.r;
}
