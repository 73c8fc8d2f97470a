/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "live-unwinder/engine.h"
#include "live-unwinder/table-store.h"

/* A table being compiled. The thread does not touch it once `is_done` is set. */
struct table_job {
	struct table_job *next;
	struct unwind_bytes bytes;
	struct table_cache_key key;
	bool has_key;
	struct unwind_table table;
	int result;
	atomic_bool is_done;
};

void table_store_init(struct table_store *tables, struct elf_cache *files,
		      const struct table_cache *cache, enum table_patience patience)
{
	*tables = (struct table_store){
		.files = files,
		.cache = cache,
		.patience = patience,
		.size_max = TABLE_STORE_SIZE_MAX,
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	tables->queue_end = &tables->queue;
	pair_map_init(&tables->by_image, IMAGE_TABLE_MAX);
	same_files_init(&tables->same_files);
	tables->n_compiled = counters_get(&files->stage->run_counters, "tables", "compiled");
	tables->n_evicted = counters_get(&files->stage->run_counters, "tables", "evicted");
	tables->n_from_disk = counters_get(&files->stage->run_counters, "tables", "from-disk");
}

static void run_job(const struct table_cache *cache, struct table_job *job)
{
	job->result = unwind_table_compile(&job->bytes.source, &job->table);
	unwind_bytes_deinit(&job->bytes);
	if (job->result == 0 && job->has_key)
		table_cache_save(cache, &job->key, &job->table);
}

static void *run_jobs(void *arg)
{
	struct table_store *tables = arg;

	pthread_mutex_lock(&tables->mutex);
	for (;;) {
		struct table_job *job;

		while (!tables->queue && !tables->must_end)
			pthread_cond_wait(&tables->changed, &tables->mutex);
		if (tables->must_end)
			break;
		job = tables->queue;
		tables->queue = job->next;
		if (!tables->queue)
			tables->queue_end = &tables->queue;
		pthread_mutex_unlock(&tables->mutex);
		run_job(tables->cache, job);
		pthread_mutex_lock(&tables->mutex);
		atomic_store_explicit(&job->is_done, true, memory_order_release);
		pthread_cond_broadcast(&tables->changed);
	}
	pthread_mutex_unlock(&tables->mutex);
	return NULL;
}

static struct table_job *free_job(struct table_job *job)
{
	if (job) {
		unwind_bytes_deinit(&job->bytes);
		unwind_table_deinit(&job->table);
	}
	free(job);
	return NULL;
}

static void free_entry(struct stored_table *entry)
{
	free_job(entry->job);
	image_user_rules_deinit(&entry->user_rules);
	if (entry->cached.bytes)
		kept_file_unmap(&entry->cached);
	else
		unwind_table_deinit(&entry->table);
	free(entry);
}

static void free_each(uint64_t image, uint64_t zero, uint64_t value, void *arg)
{
	free_entry((struct stored_table *)value);
}

void table_store_deinit(struct table_store *tables)
{
	if (tables->has_thread) {
		pthread_mutex_lock(&tables->mutex);
		tables->must_end = true;
		pthread_cond_broadcast(&tables->changed);
		pthread_mutex_unlock(&tables->mutex);
		pthread_join(tables->thread, NULL);
	}
	pair_map_each(&tables->by_image, free_each, NULL);
	pair_map_deinit(&tables->by_image);
	same_files_deinit(&tables->same_files);
}

/* false: no thread can be started. */
static bool give_to_thread(struct table_store *tables, struct table_job *job)
{
	if (!tables->has_thread)
		tables->has_thread = pthread_create(&tables->thread, NULL, run_jobs, tables) == 0;
	if (!tables->has_thread)
		return false;
	pthread_mutex_lock(&tables->mutex);
	*tables->queue_end = job;
	tables->queue_end = &job->next;
	pthread_cond_broadcast(&tables->changed);
	pthread_mutex_unlock(&tables->mutex);
	return true;
}

static void remove_entry(struct table_store *tables, struct stored_table *entry)
{
	pair_map_remove(&tables->by_image, entry->number, 0);
	lru_remove(&tables->used, &entry->used);
	tables->size -= entry->size;
	tables->n_removed++;
	free_entry(entry);
}

/*
 * Evicts down to three quarters of the limit, so that not every table evicts another. Caches of
 * tables then look theirs up again, which makes those the youngest.
 */
static void make_room(struct table_store *tables, const struct stored_table *keep)
{
	while (tables->size > tables->size_max / 4 * 3) {
		struct stored_table *oldest = lru_oldest(&tables->used);

		if (!oldest || oldest == keep)
			return;
		remove_entry(tables, oldest);
		++*tables->n_evicted;
	}
}

static void add_size(struct table_store *tables, struct stored_table *entry)
{
	entry->size = sizeof(*entry) + entry->table.size;
	tables->size += entry->size;
	lru_add(&tables->used, &entry->used, entry);
	if (tables->size > tables->size_max)
		make_room(tables, entry);
}

/* Takes over the table of a finished job. */
static void finish_job(struct table_store *tables, struct stored_table *entry)
{
	entry->table = entry->job->table;
	entry->state = entry->job->result < 0 ? TABLE_UNUSABLE : TABLE_READY;
	entry->job->table = (struct unwind_table){ 0 };
	entry->job = free_job(entry->job);
	++*tables->n_compiled;
	add_size(tables, entry);
}

static size_t size_of(const struct unwind_bytes *bytes)
{
	size_t size = 0;

	for (size_t i = 0; i < bytes->source.n_sections; i++)
		size += bytes->sections[i].size;
	return size;
}

static void begin_job(struct table_store *tables, const struct elf_image *file,
		      struct stored_table *entry)
{
	struct table_job *job = calloc(1, sizeof(*job));

	entry->state = TABLE_UNUSABLE;
	if (!job)
		return;
	if (table_cache_key(file, &job->key)) {
		job->has_key = true;
		if (table_cache_load(tables->cache, &job->key, &entry->table, &entry->cached) ==
		    0) {
			entry->state = TABLE_READY;
			++*tables->n_from_disk;
			free_job(job);
			add_size(tables, entry);
			return;
		}
	}
	/* A file that was written to meanwhile may have given any content. */
	if (unwind_bytes_read(file, &job->bytes) < 0 || !elf_image_is_unchanged(file)) {
		free_job(job);
		return;
	}
	entry->job = job;
	entry->state = TABLE_PENDING;
	if (size_of(&job->bytes) >= TABLE_STORE_LARGE && give_to_thread(tables, job))
		return;
	run_job(tables->cache, job);
	finish_job(tables, entry);
}

static void wait_for_job(struct table_store *tables, struct table_job *job)
{
	pthread_mutex_lock(&tables->mutex);
	while (!atomic_load_explicit(&job->is_done, memory_order_acquire))
		pthread_cond_wait(&tables->changed, &tables->mutex);
	pthread_mutex_unlock(&tables->mutex);
}

/* Waits for a table that the thread compiles, if so configured, and takes it over once finished. */
static void attend_job(struct table_store *tables, struct stored_table *entry)
{
	struct table_job *job = entry->job;

	if (tables->patience == TABLE_STORE_WAIT)
		wait_for_job(tables, job);
	if (atomic_load_explicit(&job->is_done, memory_order_acquire))
		finish_job(tables, entry);
}

/* Adds the user rules of an image. If memory runs out, its unwind information is unused, too. */
static int add_user_rules(struct table_store *tables, const struct image *image,
			  const struct elf_image *file, struct stored_table *entry)
{
	const uint8_t *file_id = image->has_file_id ? image->file_id.bytes : NULL;

	if (!tables->user_rules)
		return 0;
	return user_rules_of_image(tables->user_rules, file, image->build_id, image->build_id_size,
				   file_id, &entry->user_rules);
}

static struct stored_table *find_entry(const struct table_store *tables, uint64_t image)
{
	uint64_t *known = pair_map_find(&tables->by_image, image, 0);

	return known ? (struct stored_table *)*known : NULL;
}

/* Whether another image has the same file and the same `not_before`. */
static bool is_known(struct table_store *tables, uint64_t number, const struct elf_image *file,
		     struct stored_table *entry)
{
	uint64_t first = same_files_find(&tables->same_files, file, number);
	const struct stored_table *same = first != number ? find_entry(tables, first) : NULL;

	if (first == number)
		return false;
	if (!same || same->same_as || same->not_before != entry->not_before) {
		same_files_replace(&tables->same_files, file, number);
		return false;
	}
	entry->same_as = first;
	entry->state = TABLE_PENDING; /* look again if that image ends */
	return true;
}

static void begin(struct table_store *tables, uint64_t number, struct stored_table *entry)
{
	struct image *image = image_table_find(tables->files->table, number);
	const struct elf_image *file = image ? elf_cache_get(tables->files, image) : NULL;

	entry->image = image;
	if (file) {
		entry->not_before = elf_cache_not_before(tables->files, image);
		if (is_known(tables, number, file, entry))
			return;
		switched_stacks_find(file, &entry->switched);
		if (add_user_rules(tables, image, file, entry) < 0)
			entry->state = TABLE_UNUSABLE;
		else
			begin_job(tables, file, entry);
		return;
	}
	entry->state = image && elf_cache_is_undecided(tables->files, image) ? TABLE_PENDING
									     : TABLE_NO_FILE;
	entry->end = image ? unwinding_end_in(image, tables->files) : WIRE_stack_end_NO_MAPPING;
	if (!entry->end) /* no memory now: may be available later */
		entry->end = WIRE_stack_end_IMAGE_UNAVAILABLE;
}

static struct stored_table *add_entry(struct table_store *tables, uint64_t image)
{
	struct stored_table *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	if (pair_map_add(&tables->by_image, image, 0, (uintptr_t)entry) < 0) {
		free(entry);
		return NULL;
	}
	entry->number = image;
	entry->id = ++tables->n;
	entry->state = TABLE_PENDING;
	return entry;
}

static void attend(struct table_store *tables, uint64_t image, struct stored_table *entry)
{
	if ((entry->state == TABLE_PENDING && !entry->job) || entry->state == TABLE_NO_FILE)
		begin(tables, image, entry);
	if (entry->job)
		attend_job(tables, entry);
}

/* The entry used for this one, if it still exists. */
static struct stored_table *find_same(const struct table_store *tables, struct stored_table *entry)
{
	struct stored_table *same = find_entry(tables, entry->same_as);

	if (!same)
		entry->same_as = 0;
	return same;
}

const struct stored_table *table_store_get(struct table_store *tables, uint64_t image)
{
	struct stored_table *entry = find_entry(tables, image) ?: add_entry(tables, image);

	if (!entry)
		return NULL;
	lru_use(&tables->used, &entry->used);
	if (!entry->same_as || !find_same(tables, entry))
		attend(tables, image, entry);
	if (!entry->same_as)
		return entry;
	entry = find_entry(tables, entry->same_as);
	lru_use(&tables->used, &entry->used);
	attend(tables, entry->image->number, entry);
	return entry;
}

const struct stored_table *table_store_await(struct table_store *tables, uint64_t image)
{
	enum table_patience patience = tables->patience;
	const struct stored_table *entry;

	tables->patience = TABLE_STORE_WAIT;
	entry = table_store_get(tables, image);
	tables->patience = patience;
	return entry;
}

void table_store_forget(struct table_store *tables, uint64_t image)
{
	struct stored_table *entry = find_entry(tables, image);

	if (!entry)
		return;
	if (entry->job)
		wait_for_job(tables, entry->job);
	remove_entry(tables, entry);
}
