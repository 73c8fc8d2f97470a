/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/jit/jitdump.h"
#include "common/stream/process-table.h"

enum {
	MAGIC = 0x4a695444, /* "JiTD" */
	MAGIC_SWAPPED = 0x4454694a,
	VERSION = 1,
	FLAG_ARCH_CLOCK = 1,
	CHUNK_SIZE = 64 * 1024,
};

enum perf_record_id {
	CODE_LOAD,
	CODE_MOVE,
	CODE_DEBUG_INFO,
	CODE_CLOSE,
	CODE_UNWINDING_INFO,
};

struct jitdump_file_header {
	uint32_t magic, version, size, machine, padding, pid;
	uint64_t time, flags;
};

struct record_header {
	uint32_t id, size;
	uint64_t time;
};

/* perf uses `code_address`, too; `vma` is the same. */
struct load_record {
	struct record_header header;
	uint32_t pid, tid;
	uint64_t vma, code_address, code_size, code_index;
	/* The name with its zero byte follows, then the code. */
};

struct move_record {
	struct record_header header;
	uint32_t pid, tid;
	uint64_t vma, old_address, new_address, code_size, code_index;
};

static int read_file_header(struct jitdump *dump);
static int read_record_header(struct jitdump *dump);

/* The next part has `size` bytes, some of which may already be there. */
static void expect(struct jitdump *dump, size_t size, int (*read_next)(struct jitdump *dump))
{
	dump->part_wanted = size;
	dump->read_next = read_next;
}

static void begin(struct jitdump *dump)
{
	dump->outcome = JITDUMP_OK;
	dump->part_size = 0;
	dump->skip = 0;
	dump->part_end = 0;
	dump->size = 0;
	dump->is_closed = false;
	expect(dump, sizeof(struct jitdump_file_header), read_file_header);
}

void jitdump_init(struct jitdump *dump)
{
	*dump = (struct jitdump){ 0 };
	jit_functions_init(&dump->functions);
	begin(dump);
}

/* Its times are CLOCK_MONOTONIC; those of a perf.data file may be of another clock. */
void jitdump_set_process(struct jitdump *dump, const struct process *process, uint32_t clock)
{
	if (process)
		dump->process = (struct jitdump_process){
			.pid = process->pid,
			.own_pid = process->own_pid,
			.began = clock == WIRE_clock_MONOTONIC ? process->began : 0,
		};
}

void jitdump_deinit(struct jitdump *dump)
{
	jit_functions_deinit(&dump->functions);
	free(dump->part);
	jitdump_init(dump);
}

/* Skips the rest of a record. */
static int end_record(struct jitdump *dump, size_t size)
{
	dump->skip = size - dump->part_size;
	dump->part_size = 0;
	expect(dump, sizeof(struct record_header), read_record_header);
	return 0;
}

static int refuse_record(struct jitdump *dump, size_t size)
{
	dump->n_refused_records++;
	return end_record(dump, size);
}

static int fail(struct jitdump *dump, enum jitdump_outcome outcome)
{
	dump->outcome = outcome;
	return 0;
}

static int read_file_header(struct jitdump *dump)
{
	struct jitdump_file_header header;

	memcpy(&header, dump->part, sizeof(header));
	if (header.magic == MAGIC_SWAPPED)
		return fail(dump, JITDUMP_E_BYTE_ORDER);
	if (header.magic != MAGIC)
		return fail(dump, JITDUMP_E_MAGIC);
	if (header.version != VERSION)
		return fail(dump, JITDUMP_E_VERSION);
	if (header.size < sizeof(header))
		return fail(dump, JITDUMP_E_DAMAGED);
	dump->machine = header.machine;
	dump->pid = header.pid;
	dump->created_at = header.time;
	dump->has_arch_clock = header.flags & FLAG_ARCH_CLOCK;
	return end_record(dump, header.size);
}

/* Whether the process inherited the file, or reuses the PID of an earlier process. */
static bool is_file_of_other(const struct jitdump *dump)
{
	if (dump->process.own_pid && dump->process.own_pid != dump->pid)
		return true;
	return dump->created_at && dump->created_at < dump->process.began;
}

/* A record's PID or time may be 0: unknown. In a PID namespace, its PID is the header's. */
static bool is_of_other(const struct jitdump *dump, uint32_t pid, uint64_t time)
{
	if (dump->has_arch_clock)
		return false;
	if (time && time < dump->process.began)
		return true;
	if (pid && (pid == dump->process.pid || pid == dump->process.own_pid))
		return false;
	return is_file_of_other(dump) || (pid && pid != dump->pid);
}

static int leave_to_other(struct jitdump *dump, size_t size)
{
	dump->n_of_others++;
	jit_lines_drop(&dump->functions.lines);
	return end_record(dump, size);
}

static void forget_at_limit(struct jitdump *dump)
{
	dump->n_forgotten_pieces += dump->functions.history.n;
	jit_functions_deinit(&dump->functions);
}

static void count_late(struct jitdump *dump, const struct record_header *header)
{
	dump->n_late += header->time < jit_functions_time(&dump->functions);
}

static int add_function(struct jitdump *dump, const struct jit_load *load)
{
	int r = jit_functions_add(&dump->functions, load);

	if (r != -ENOSPC)
		return r;
	forget_at_limit(dump);
	return jit_functions_add(&dump->functions, load);
}

/* Called once the name is complete, or one byte longer than JITDUMP_NAME_MAX. */
static int read_load_name(struct jitdump *dump)
{
	const char *name = dump->part + sizeof(struct load_record);
	size_t room = dump->part_size - sizeof(struct load_record), size = strnlen(name, room);
	uint64_t code_at = dump->part_end - room + size + 1;
	struct load_record record;
	int r;

	memcpy(&record, dump->part, sizeof(record));
	if (size == room && size <= JITDUMP_NAME_MAX)
		return refuse_record(dump, record.header.size);
	dump->n_cut_names += size > JITDUMP_NAME_MAX;
	count_late(dump, &record.header);
	r = add_function(dump,
			 &(struct jit_load){
				 .start = record.code_address,
				 .size = record.code_size,
				 .index = record.code_index,
				 .time = record.header.time,
				 .code_at = size == room ? 0 : code_at,
				 .name = name,
				 .name_size = size > JITDUMP_NAME_MAX ? JITDUMP_NAME_MAX : size,
			 });
	return r < 0 ? r : end_record(dump, record.header.size);
}

static int read_load(struct jitdump *dump)
{
	struct load_record load;
	uint64_t room;

	memcpy(&load, dump->part, sizeof(load));
	room = load.header.size - sizeof(load);
	if (is_of_other(dump, load.pid, load.header.time))
		return leave_to_other(dump, load.header.size);
	if (!load.code_size) /* an empty function covers no address */
		return end_record(dump, load.header.size);
	if (load.code_size >= room || load.code_address + load.code_size < load.code_address)
		return refuse_record(dump, load.header.size);
	room -= load.code_size;
	if (room > JITDUMP_NAME_MAX + 1)
		room = JITDUMP_NAME_MAX + 1;
	expect(dump, sizeof(load) + room, read_load_name);
	return 0;
}

static int read_move(struct jitdump *dump)
{
	struct move_record record;
	int r;

	memcpy(&record, dump->part, sizeof(record));
	if (is_of_other(dump, record.pid, record.header.time))
		return leave_to_other(dump, record.header.size);
	count_late(dump, &record.header);
	r = jit_functions_move(&dump->functions, &(struct jit_move){
							 .from = record.old_address,
							 .to = record.new_address,
							 .size = record.code_size,
							 .index = record.code_index,
							 .time = record.header.time,
						 });
	if (r == JIT_MOVE_E_UNKNOWN)
		return refuse_record(dump, record.header.size);
	if (r == -ENOSPC)
		forget_at_limit(dump); /* the moved function is dropped with all others */
	return r == -ENOMEM ? r : end_record(dump, record.header.size);
}

static int add_lines(struct jitdump *dump, const char *bytes, size_t size, uint64_t *ret_n_refused)
{
	struct jit_functions *functions = &dump->functions;

	return jit_lines_add(&functions->lines, &functions->names, bytes, size, ret_n_refused);
}

static int read_debug_info(struct jitdump *dump)
{
	const char *payload = dump->part + sizeof(struct record_header);
	size_t size = dump->part_size - sizeof(struct record_header);
	uint64_t n_refused;
	int r = add_lines(dump, payload, size, &n_refused);

	if (r == -ENOSPC) {
		forget_at_limit(dump);
		r = add_lines(dump, payload, size, &n_refused);
	}
	dump->n_refused_lines += n_refused;
	return r < 0 ? r : end_record(dump, dump->part_size);
}

/* Expects `size` bytes of a record, unless it is shorter. */
static int expect_rest(struct jitdump *dump, const struct record_header *header, size_t size,
		       int (*read_next)(struct jitdump *dump))
{
	if (header->size < size)
		return refuse_record(dump, header->size);
	expect(dump, size, read_next);
	return 0;
}

static int read_record_header(struct jitdump *dump)
{
	struct record_header header;

	memcpy(&header, dump->part, sizeof(header));
	if (header.size < sizeof(header))
		return fail(dump, JITDUMP_E_DAMAGED);
	switch (header.id) {
	case CODE_LOAD:
		return expect_rest(dump, &header, sizeof(struct load_record), read_load);
	case CODE_MOVE:
		return expect_rest(dump, &header, sizeof(struct move_record), read_move);
	case CODE_DEBUG_INFO:
		if (header.size <= JITDUMP_DEBUG_INFO_MAX)
			return expect_rest(dump, &header, header.size, read_debug_info);
		dump->n_refused_lines++;
		break;
	case CODE_CLOSE:
		dump->is_closed = true;
		break;
	case CODE_UNWINDING_INFO:
		dump->n_unwinding++;
		break;
	default:
		dump->n_unknown++;
		break;
	}
	return end_record(dump, header.size);
}

/* Moves bytes to the part that is being read. 0 or -ENOMEM. */
static int fill_part(struct jitdump *dump, const char **bytes, size_t *size)
{
	size_t n = dump->part_wanted - dump->part_size;

	if (dump->part_wanted > dump->part_allocated) {
		if (GROWING_LIST_RESIZE(dump->part, dump->part_wanted) < 0)
			return -ENOMEM;
		dump->part_allocated = dump->part_wanted;
	}
	if (n > *size)
		n = *size;
	memcpy(dump->part + dump->part_size, *bytes, n);
	dump->part_size += n;
	dump->part_end += n;
	*bytes += n;
	*size -= n;
	return 0;
}

static void skip(struct jitdump *dump, const char **bytes, size_t *size)
{
	size_t n = dump->skip < *size ? dump->skip : *size;

	dump->skip -= n;
	dump->part_end += n;
	*bytes += n;
	*size -= n;
}

/* Returns false, and drops all functions, if the file is too large. */
static bool count_bytes(struct jitdump *dump, uint64_t n)
{
	if (n <= JITDUMP_SIZE_MAX - dump->size) {
		dump->size += n;
		return true;
	}
	dump->n_refused_bytes += n;
	dump->size = JITDUMP_SIZE_MAX;
	jit_functions_deinit(&dump->functions);
	return false;
}

int jitdump_add(struct jitdump *dump, const void *bytes, size_t size)
{
	const char *at = bytes;
	int r = 0;

	if (dump->outcome != JITDUMP_OK || !count_bytes(dump, size))
		return dump->outcome;
	while (r == 0 && dump->outcome == JITDUMP_OK) {
		skip(dump, &at, &size);
		if (!size)
			break;
		r = fill_part(dump, &at, &size);
		/* The part may need more bytes, or the next one may be complete. */
		while (r == 0 && dump->outcome == JITDUMP_OK && !dump->skip &&
		       dump->part_size == dump->part_wanted)
			r = dump->read_next(dump);
	}
	return r < 0 ? r : (int)dump->outcome;
}

/* Skips long code unread: code is most of the file. */
static int read_chunk(struct jitdump *dump, int fd, size_t *ret_size)
{
	char chunk[CHUNK_SIZE];
	uint64_t n = 0;
	int r = 0;

	if (dump->skip >= sizeof(chunk)) {
		r = growing_file_skip(&dump->file, fd, dump->skip, &n);
		dump->skip -= n;
		dump->part_end += n;
		*ret_size = n > 0;
		return r < 0 || count_bytes(dump, n) ? r : 0;
	}
	r = growing_file_read(&dump->file, fd, chunk, sizeof(chunk), ret_size);
	return r < 0 ? r : jitdump_add(dump, chunk, *ret_size);
}

int jitdump_read(struct jitdump *dump, int fd, uint64_t most)
{
	uint64_t file_size, n_read = 0;
	size_t n = 1;
	int r = growing_file_check(&dump->file, fd, &file_size);

	if (r == GROWING_FILE_E_ANEW) {
		dump->n_anew++;
		jit_functions_deinit(&dump->functions);
		begin(dump);
		r = 0;
	}
	for (; r == 0 && n && n_read < most && dump->outcome == JITDUMP_OK &&
	       dump->size < JITDUMP_SIZE_MAX;
	     n_read += n)
		r = read_chunk(dump, fd, &n);
	return r < 0 ? r : (int)dump->outcome;
}
