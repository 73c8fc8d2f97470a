/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/elf/elf-image.h"
#include "symbolizer/jit/jit-files.h"

static void close_file(struct awaited_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

static uint64_t *count(struct jit_reader *reader, const char *name)
{
	return counters_get(&reader->stage->counters, "jit", name);
}

void jit_files_init(struct jit_files *files, const struct jit_reader *reader, uint64_t process)
{
	*files = (struct jit_files){
		.process = process,
		.user = JIT_USER_UNKNOWN,
		.is_paced = reader->client->has_server && !reader->client->is_recorded,
		.map_file.fd = -1,
		.dump_file.fd = -1,
	};
	jitdump_init(&files->dump);
	jitdump_set_process(&files->dump, process_table_find(&reader->identity->processes, process),
			    reader->stage->hello.clock);
}

void jit_files_deinit(struct jit_files *files)
{
	close_file(&files->map_file);
	close_file(&files->dump_file);
	perf_map_deinit(&files->map);
	jitdump_deinit(&files->dump);
}

size_t jit_files_memory(const struct jit_files *files)
{
	return perf_map_memory(&files->map) + jit_functions_memory(&files->dump.functions);
}

uint64_t jit_files_size(const struct jit_files *files)
{
	return files->dump.size + files->map.size;
}

/* Whether it is time to open a file that is not open. */
static bool is_wanted(struct awaited_file *file, uint64_t now)
{
	if (file->fd >= 0 || now - file->asked_at < file->patience)
		return false;
	file->asked_at = now;
	file->patience = file->patience ? file->patience * 2 : JIT_PATIENCE_MIN_NS;
	if (file->patience > JIT_PATIENCE_MAX_NS)
		file->patience = JIT_PATIENCE_MAX_NS;
	return true;
}

/* Reading time is charged to the file's owner. */
static void note_user(struct jit_files *files, int fd)
{
	struct stat status;

	if (fd >= 0 && fstat(fd, &status) == 0)
		files->user = status.st_uid;
}

static void open_map(struct jit_files *files, struct jit_reader *reader)
{
	struct wire_image_state state;

	if (image_client_open(reader->client, files->map_image, &state, &files->map_file.fd) < 0)
		files->map_file.fd = -1;
	else if (state.status == WIRE_image_status_OPEN)
		++*count(reader, "perf-maps");
	else if (state.status == WIRE_image_status_REFUSED)
		++*count(reader, "perf-map-refused");
	else if (state.status == WIRE_image_status_STALE)
		++*count(reader, "perf-map-stale");
	note_user(files, files->map_file.fd);
}

static void open_dump(struct jit_files *files, struct jit_reader *reader)
{
	struct image *image = image_table_find(&reader->identity->images, files->dump_image);
	int fd = image ? elf_image_open_file(image, reader->client) : -ENOENT;

	files->dump_file.fd = fd < 0 ? -1 : fd;
	if (fd >= 0)
		++*count(reader, "jitdumps");
	else if (image && image->state.status == WIRE_image_status_REFUSED)
		++*count(reader, "jitdump-refused");
	note_user(files, files->dump_file.fd);
}

static void open_files(struct jit_files *files, struct jit_reader *reader, uint64_t now)
{
	if (files->dump_image && is_wanted(&files->dump_file, now))
		open_dump(files, reader);
	if (files->map_image && is_wanted(&files->map_file, now))
		open_map(files, reader);
}

static void count_records(struct jit_files *files, struct jit_reader *reader)
{
	uint64_t n = files->dump.n_of_others;

	if (n > files->n_of_others)
		*count(reader, "jitdump-records-of-others") += n - files->n_of_others;
	files->n_of_others = n;
}

/* Reads at most `most` bytes of each. 1: nothing is left; 0: more may follow; -ENOMEM. */
static int read_piece(struct jit_files *files, struct jit_reader *reader, uint64_t most)
{
	uint64_t before = files->dump.size;
	int of_dump = 0, of_map = 0;

	if (files->dump_file.fd >= 0 && files->dump.outcome == JITDUMP_OK)
		of_dump = jitdump_read(&files->dump, files->dump_file.fd, most);
	if (files->map_file.fd >= 0)
		of_map = perf_map_read(&files->map, files->map_file.fd, most);
	if (of_dump > 0)
		++*count(reader, "jitdump-damaged");
	count_records(files, reader);
	if (of_map < 0)
		close_file(&files->map_file);
	if (of_dump == -ENOMEM || of_map == -ENOMEM)
		return -ENOMEM;
	return !files->map.is_behind && files->dump.size - before < most;
}

static void report(struct jit_files *files, struct jit_reader *reader, const char *what)
{
	const struct process *process =
		process_table_find(&reader->identity->processes, files->process);

	if (process && reader->n_messages++ < JIT_MESSAGES_MAX)
		stage_warn(reader->stage, "JIT code of '%s' (PID %u) lacks names: %s",
			   process->name, process->pid, what);
}

static uint64_t bytes_left(const struct awaited_file *file, const struct growing_file *read)
{
	struct stat status;

	if (file->fd < 0 || fstat(file->fd, &status) < 0 || (uint64_t)status.st_size < read->offset)
		return 0;
	return status.st_size - read->offset;
}

/* How many bytes may be read now; 0: it is not this process's turn. */
static uint64_t find_turn(const struct jit_files *files, const struct jit_reader *reader,
			  uint64_t now)
{
	if (!files->is_paced)
		return UINT64_MAX;
	return reading_share_allows(&reader->share, files->user,
				    bytes_left(&files->map_file, &files->map.file) +
					    bytes_left(&files->dump_file, &files->dump.file),
				    now);
}

static bool has_any(const struct jit_files *files)
{
	return files->dump_file.fd >= 0 || files->map_file.fd >= 0;
}

/* As read_piece(); also 0 if it is not this process's turn. */
static int read_in_turn(struct jit_files *files, struct jit_reader *reader)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC), most = find_turn(files, reader, now);
	int r;

	if (!most)
		return 0;
	r = read_piece(files, reader, most);
	reading_share_use(&reader->share, files->user, now, clock_now(CLOCK_MONOTONIC));
	files->read_at = now;
	if (r > 0)
		files->known_at = now;
	return r;
}

bool jit_files_read(struct jit_files *files, struct jit_reader *reader, uint64_t time)
{
	uint64_t now;

	if (files->is_refused || time < files->known_at)
		return true;
	now = clock_now(CLOCK_MONOTONIC);
	open_files(files, reader, now);
	if (has_any(files))
		return read_in_turn(files, reader) != -ENOMEM;
	files->read_at = files->known_at = now;
	return true;
}

static void report_rest(struct jit_files *files, struct jit_reader *reader)
{
	struct counters *counters = &reader->stage->counters;
	uint64_t n_map =
		bytes_left(&files->map_file, &files->map.file) + files->map.n_refused_bytes;
	uint64_t n_dump =
		bytes_left(&files->dump_file, &files->dump.file) + files->dump.n_refused_bytes;

	if (n_map)
		*counters_get(counters, "refused", "perf-map-bytes") += n_map;
	if (n_dump)
		*counters_get(counters, "refused", "jitdump-bytes") += n_dump;
	if (n_map || n_dump)
		report(files, reader, "its perf map or jitdump is too large to read in time");
}

bool jit_files_read_last(struct jit_files *files, struct jit_reader *reader)
{
	int r = 0;

	if (files->is_refused)
		return true;
	files->map_file.patience = files->dump_file.patience = 0;
	open_files(files, reader, clock_now(CLOCK_MONOTONIC));
	if (!has_any(files))
		return true;
	do
		r = read_in_turn(files, reader);
	while (r == 0 && find_turn(files, reader, clock_now(CLOCK_MONOTONIC)));
	if (r == 0)
		report_rest(files, reader);
	return r != -ENOMEM;
}

void jit_files_refuse(struct jit_files *files, struct jit_reader *reader)
{
	jit_files_deinit(files);
	if (files->is_refused)
		return;
	files->is_refused = true;
	++*count(reader, "too-large");
	report(files, reader, "its perf map or jitdump exceeds the memory limit");
}

bool jit_files_knows(const struct jit_files *files, uint64_t time)
{
	return !files->is_paced || time < files->known_at;
}
