/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/source/replaced-text.h"

enum {
	PAGE = 4096,
	CHUNK = 64 * 1024,
	PATIENCE_NS = 10 * 1000 * 1000, /* enough to compare about 20 MiB */
};

struct text_comparison {
	uint64_t number;
	uint32_t pid;
	int fd; /* of the file; owned until the job is done */
	struct mapping whole;
	struct text_hole hole; /* with neighbours: the offset of `whole` has still to be found */
	struct mapping parts[REPLACED_TEXT_PARTS_MAX]; /* parts that are equal */
	size_t n;
};

/* While WANTED, the job belongs to the thread. */
enum comparer_state { COMPARER_FREE, COMPARER_WANTED, COMPARER_DONE };

struct text_comparer {
	pthread_mutex_t mutex;
	pthread_cond_t wanted, done; /* use CLOCK_MONOTONIC */
	enum comparer_state state;
	struct text_comparison job;
	uint64_t n_jobs;
};

static bool overlaps(const struct mapping *mapping, uint64_t start, uint64_t end)
{
	return mapping->start < end && start < mapping->end;
}

void replaced_texts_forget(struct replaced_texts *texts, uint64_t start, uint64_t end)
{
	size_t n = 0;

	for (size_t i = 0; i < texts->n; i++)
		if (!overlaps(&texts->list[i].file, start, end))
			texts->list[n++] = texts->list[i];
	texts->n = n;
}

/* The part of a mapping between two addresses. */
static struct mapping cut(const struct mapping *mapping, uint64_t start, uint64_t end)
{
	struct mapping part = *mapping;

	if (part.start < start) {
		part.offset += start - part.start;
		part.start = start;
	}
	if (part.end > end)
		part.end = end;
	return part;
}

static void add(struct replaced_texts *texts, const struct images *images,
		const struct replaced_text *text)
{
	if (texts->n < REPLACED_TEXTS_MAX &&
	    text->file.end - text->file.start <= REPLACED_TEXT_SIZE_MAX)
		texts->list[texts->n++] = *text;
	else
		++*counters_get(&images->stage->counters, "refused", "replaced-text");
}

void replaced_texts_note(struct replaced_texts *texts, const struct images *images,
			 const struct mapping_table *mappings, uint64_t start, uint64_t end,
			 bool is_writable)
{
	for (const struct mapping *known = mapping_table_next(mappings, start);
	     known && known->start < end; known = mapping_table_next(mappings, known->end)) {
		struct mapping file = cut(known, start, end);

		if (!images_is_file(images, file.image))
			continue;
		replaced_texts_forget(texts, file.start, file.end);
		add(texts, images, &(struct replaced_text){ .file = file });
	}
	for (size_t i = 0; i < texts->n; i++) {
		struct replaced_text *text = &texts->list[i];

		if (!overlaps(&text->file, start, end))
			continue;
		*text = (struct replaced_text){
			.file = text->file,
			.hole = text->hole,
			.is_writable = is_writable,
		};
	}
}

void replaced_texts_note_hole(struct replaced_texts *texts, const struct images *images,
			      const struct text_hole *hole, uint64_t image)
{
	const struct replaced_text text = {
		.file = { .start = hole->start, .end = hole->end, .image = image },
		.hole = *hole,
		.is_writable = hole->is_writable,
	};

	if (!replaced_texts_know(texts, hole->start, hole->end))
		add(texts, images, &text);
}

bool replaced_texts_know(const struct replaced_texts *texts, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < texts->n; i++)
		if (overlaps(&texts->list[i].file, start, end))
			return true;
	return false;
}

bool replaced_texts_are_same(const struct replaced_texts *texts, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < texts->n; i++)
		if (texts->list[i].is_same && overlaps(&texts->list[i].file, start, end))
			return true;
	return false;
}

static size_t read_target(uint32_t pid, uint64_t address, void *to, size_t size)
{
	struct iovec here = { to, size }, there = { (void *)address, size };
	ssize_t n = process_vm_readv(pid, &here, 1, &there, 1, 0);

	return n > 0 ? n : 0;
}

/* Pads with zeros: memory behind the end of a file is zero up to the end of its page. */
static void read_file(int fd, uint64_t offset, uint8_t *to, size_t size)
{
	ssize_t n = pread(fd, to, size, offset);

	if (n < 0)
		n = 0;
	memset(to + n, 0, size - n);
}

/* Adds an equal page, by extending the last part if it is adjacent. */
static void add_page(struct text_comparison *job, uint64_t start, uint64_t end)
{
	struct mapping *last = job->n ? &job->parts[job->n - 1] : NULL;

	if (last && last->end == start)
		last->end = end;
	else if (job->n < REPLACED_TEXT_PARTS_MAX)
		job->parts[job->n++] = cut(&job->whole, start, end);
}

static void compare(struct text_comparison *job)
{
	static uint8_t there[CHUNK], file[CHUNK]; /* used by the only thread */
	struct mapping *whole = &job->whole;

	if (job->hole.n_beside && !text_hole_offset(&job->hole, job->fd, &whole->offset))
		return;
	for (uint64_t at = whole->start; at < whole->end; at += CHUNK) {
		size_t size = whole->end - at < CHUNK ? whole->end - at : CHUNK;
		size_t n = read_target(job->pid, at, there, size);

		read_file(job->fd, whole->offset + (at - whole->start), file, size);
		for (size_t page = 0; page < n; page += PAGE) {
			size_t page_size = size - page < PAGE ? size - page : PAGE;

			if (page + page_size <= n && !memcmp(there + page, file + page, page_size))
				add_page(job, at + page, at + page + page_size);
		}
	}
}

static void *run(void *arg)
{
	struct text_comparer *comparer = arg;

	for (;;) {
		pthread_mutex_lock(&comparer->mutex);
		while (comparer->state != COMPARER_WANTED)
			pthread_cond_wait(&comparer->wanted, &comparer->mutex);
		pthread_mutex_unlock(&comparer->mutex);
		compare(&comparer->job);
		close(comparer->job.fd);
		pthread_mutex_lock(&comparer->mutex);
		comparer->state = COMPARER_DONE;
		pthread_cond_signal(&comparer->done);
		pthread_mutex_unlock(&comparer->mutex);
	}
	return NULL;
}

static struct text_comparer *begin(void)
{
	struct text_comparer *comparer = calloc(1, sizeof(*comparer));
	pthread_condattr_t attributes;
	pthread_t thread;

	if (!comparer)
		return NULL;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&comparer->mutex, NULL);
	pthread_cond_init(&comparer->wanted, &attributes);
	pthread_cond_init(&comparer->done, &attributes);
	pthread_condattr_destroy(&attributes);
	if (pthread_create(&thread, NULL, run, comparer)) {
		free(comparer);
		return NULL;
	}
	pthread_detach(thread);
	return comparer;
}

/* Waits a moment for the result, so that the first samples can use it. */
static void ask(struct text_comparer *comparer, struct replaced_text *text, uint32_t pid, int fd)
{
	uint64_t until = clock_now(CLOCK_MONOTONIC) + PATIENCE_NS;
	const struct timespec deadline = {
		.tv_sec = until / NANOSECONDS_A_SECOND,
		.tv_nsec = until % NANOSECONDS_A_SECOND,
	};
	int r = 0;

	comparer->job = (struct text_comparison){
		.number = ++comparer->n_jobs,
		.pid = pid,
		.fd = fd,
		.whole = text->file,
		.hole = text->hole,
	};
	text->job = comparer->n_jobs;
	pthread_mutex_lock(&comparer->mutex);
	comparer->state = COMPARER_WANTED;
	pthread_cond_signal(&comparer->wanted);
	while (comparer->state == COMPARER_WANTED && r == 0)
		r = pthread_cond_timedwait(&comparer->done, &comparer->mutex, &deadline);
	pthread_mutex_unlock(&comparer->mutex);
}

/* Takes the result of the last job if it was for this text. */
static int take(struct text_comparer *comparer, struct replaced_text *text,
		struct mapping ret[REPLACED_TEXT_PARTS_MAX])
{
	const struct text_comparison *job = &comparer->job;

	if (!text->job || text->job != job->number)
		return 0;
	text->job = 0;
	text->is_same = job->n > 0;
	memcpy(ret, job->parts, job->n * sizeof(*ret));
	return job->n;
}

static bool is_free(struct text_comparer *comparer)
{
	bool is_free;

	pthread_mutex_lock(&comparer->mutex);
	is_free = comparer->state != COMPARER_WANTED;
	pthread_mutex_unlock(&comparer->mutex);
	return is_free;
}

static bool is_to_be_compared(const struct replaced_text *text, uint64_t time)
{
	return !text->is_writable && !text->is_same && !text->job && time >= text->look_at &&
	       text->n_looks < REPLACED_TEXT_LOOKS_MAX;
}

static struct replaced_text *find(struct replaced_texts *texts, uint64_t address)
{
	for (size_t i = 0; i < texts->n; i++)
		if (overlaps(&texts->list[i].file, address, address + 1))
			return &texts->list[i];
	return NULL;
}

int replaced_texts_compare(struct replaced_texts *texts, struct text_comparer **comparer,
			   const struct images *images, uint32_t pid, uint64_t address,
			   uint64_t time, struct mapping ret[REPLACED_TEXT_PARTS_MAX])
{
	struct replaced_text *text = find(texts, address);
	int fd, n = 0;

	if (!text || (!text->job && !is_to_be_compared(text, time)))
		return 0;
	if (!*comparer)
		*comparer = begin();
	if (!*comparer)
		return -ENOMEM;
	if (!is_free(*comparer))
		return 0;
	n = take(*comparer, text, ret);
	text->job = 0; /* its job is done, or was replaced by another */
	fd = n == 0 && is_to_be_compared(text, time) ? images_descriptor(images, text->file.image)
						     : -1;
	fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return n;
	text->look_at = time + (REPLACED_TEXT_AGAIN_NS << text->n_looks++);
	ask(*comparer, text, pid, fd);
	return is_free(*comparer) ? take(*comparer, text, ret) : 0;
}
