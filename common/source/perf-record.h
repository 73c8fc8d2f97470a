/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * perf's records as they lie in the rings, laid out by the sample types below (perf_event_open(2),
 * "struct perf_event_header"). Their sizes come from the kernel and are checked all the same.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tail of every record that is no sample; a sample has the same words in front. */
#define PERF_RECORD_SIDEBAND_TYPE                                                                  \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU)
#define PERF_RECORD_SAMPLE_TYPE                                                                    \
	(PERF_SAMPLE_IP | PERF_RECORD_SIDEBAND_TYPE | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | \
	 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)
/* The same with data, of what tells by both. */
#define PERF_RECORD_SAMPLE_RAW_TYPE (PERF_RECORD_SAMPLE_TYPE | PERF_SAMPLE_RAW)
/* Of what tells by its data, not by its stack. */
#define PERF_RECORD_RAW_TYPE (PERF_SAMPLE_IP | PERF_RECORD_SIDEBAND_TYPE | PERF_SAMPLE_RAW)

/* Bytes of stack that the kernel copies at most, a multiple of 8 (perf_copy_attr()). */
enum { PERF_RECORD_STACK_MAX = 65528 };

/*
 * In a call chain the last so many values of 64 bits are marks, PERF_CONTEXT_…
 * (linux/perf_event.h).
 */
enum { PERF_RECORD_CONTEXT_MARKS = 4095 };

/* A sample; everything points into the record. */
struct perf_record_sample {
	uint64_t address;
	uint32_t pid, tid;
	uint64_t time;
	uint64_t event_id; /* PERF_EVENT_IOC_ID of the event, or of the one that it is inherited
			      from */
	uint32_t cpu;
	uint64_t period;
	const uint64_t *chain; /* with PERF_CONTEXT_… marks */
	size_t n_chain;
	const char *data; /* with PERF_RECORD_SAMPLE_RAW_TYPE */
	size_t data_size;
	uint64_t abi;
	const uint64_t *registers;
	size_t n_registers; /* 0: there is no user side */
	const void *stack;
	size_t stack_size; /* what the kernel really copied */
};

/* Who met a tracepoint, and its data. */
struct perf_record_raw {
	struct perf_event_header header;
	uint64_t address;
	uint32_t pid, tid;
	uint64_t time;
	uint64_t event_id;
	uint32_t cpu, reserved;
	uint32_t size; /* of what follows */
	char data[];
};

/* The tail that sample_id_all puts behind every record that is no sample. */
struct perf_record_id {
	uint32_t pid, tid;
	uint64_t time;
	uint64_t event_id;
	uint32_t cpu, reserved;
};

struct perf_record_mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, length, offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t protection, flags;
	char path[];
};

/*
 * PERF_RECORD_MISC_MMAP_BUILD_ID: instead of device, inode and generation there are the size of a
 * build-id (1 byte), padding (3), and its bytes.
 */
bool perf_record_mmap_has_build_id(const struct perf_record_mmap2 *mmap);
size_t perf_record_mmap_build_id(const struct perf_record_mmap2 *mmap, const uint8_t **ret);

struct perf_record_comm {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[];
};

/* PERF_RECORD_FORK and PERF_RECORD_EXIT */
struct perf_record_task {
	struct perf_event_header header;
	uint32_t pid, parent_pid;
	uint32_t tid, parent_tid;
	uint64_t time;
};

struct perf_record_ksymbol {
	struct perf_event_header header;
	uint64_t address;
	uint32_t size;
	uint16_t kind, flags; /* PERF_RECORD_KSYMBOL_TYPE_…, PERF_RECORD_KSYMBOL_FLAGS_… */
	char name[];
};

struct perf_record_lost {
	struct perf_event_header header;
	uint64_t id, n;
};

/* PERF_RECORD_MISC_COMM_EXEC: this name comes of an exec. */
bool perf_record_comm_is_exec(const struct perf_event_header *header);

/* The time of any record of our events, 0 if it is too short to have one. */
uint64_t perf_record_time(const struct perf_event_header *header);

/*
 * Where a record that is no sample ends, with its identifying tail of `id_size` bytes; never more
 * than header->size, which must be that of a header at least. It is less where several recorders
 * hear of one piece of kernel code: perf_event_ksymbol_output() of kernel/events/core.c (5.1
 * to 6.18 at least) adds the size of the tail to that of the record once more for each of them, and
 * what is behind it are old bytes of the ring.
 */
size_t record_end(const struct perf_event_header *header, size_t id_size);

/* The identifying tail of a record that is no sample; NULL: too short. */
const struct perf_record_id *perf_record_id(const struct perf_event_header *header);

/* Whether a record has at least the fixed part that a record of its type has. */
bool perf_record_is_whole(const struct perf_event_header *header);

/* The data of a record of that layout; false: it is not all there. */
bool perf_record_raw_has(const struct perf_record_raw *raw, uint32_t offset, uint32_t size);

/*
 * Takes a sample of that type apart, PERF_RECORD_SAMPLE_TYPE or PERF_RECORD_SAMPLE_RAW_TYPE; false:
 * it contradicts itself.
 */
bool perf_record_parse_sample(const struct perf_event_header *header, uint64_t type,
			      struct perf_record_sample *ret);

/*
 * The text at the end of a record whose fixed part has `fixed` bytes; it ends with a zero byte
 * within the record, or the result is NULL.
 */
const char *record_text(const struct perf_event_header *header, size_t fixed);
