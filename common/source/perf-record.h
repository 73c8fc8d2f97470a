/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * perf's records in the rings, laid out by the sample types below (perf_event_open(2), "struct
 * perf_event_header"). Their sizes come from the kernel, and are checked all the same.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tail of every record that is not a sample; a sample begins with the same words. */
#define PERF_RECORD_SIDEBAND_TYPE                                                                  \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU)
#define PERF_RECORD_SAMPLE_TYPE                                                                    \
	(PERF_SAMPLE_IP | PERF_RECORD_SIDEBAND_TYPE | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | \
	 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)
/*
 * A sample of several occurrences. With PERF_SAMPLE_PERIOD the kernel would make one of each
 * occurrence of software events and tracepoints (perf_swevent_event(), kernel/events/core.c).
 */
#define PERF_RECORD_COUNTED_TYPE (PERF_RECORD_SAMPLE_TYPE & ~(uint64_t)PERF_SAMPLE_PERIOD)
/* A sample with PERF_SAMPLE_RAW data as well. */
#define PERF_RECORD_SAMPLE_RAW_TYPE (PERF_RECORD_SAMPLE_TYPE | PERF_SAMPLE_RAW)
/* For events of which only the data matter, not the stack. */
#define PERF_RECORD_RAW_TYPE (PERF_SAMPLE_IP | PERF_RECORD_SIDEBAND_TYPE | PERF_SAMPLE_RAW)

/* The kernel's limit of stack bytes per sample, a multiple of 8 (perf_copy_attr()). */
enum { PERF_RECORD_STACK_MAX = 65528 };

/* The highest values of 64 bits in a call chain are marks, PERF_CONTEXT_… (linux/perf_event.h). */
enum { PERF_RECORD_CONTEXT_MARKS = 4095 };

/* A sample; pointers point into the record. */
struct perf_record_sample {
	uint64_t address;
	uint32_t pid, tid;
	uint64_t time;
	uint64_t event_id; /* PERF_EVENT_IOC_ID of the event or its parent */
	uint32_t cpu;
	uint64_t period;       /* 0 with PERF_RECORD_COUNTED_TYPE */
	const uint64_t *chain; /* with PERF_CONTEXT_… marks */
	size_t n_chain;
	const char *data; /* with PERF_RECORD_SAMPLE_RAW_TYPE */
	size_t data_size;
	uint64_t abi;
	const uint64_t *registers;
	size_t n_registers; /* 0: no user side */
	const void *stack;
	size_t stack_size; /* bytes that the kernel really copied */
};

/* A record of PERF_RECORD_RAW_TYPE. */
struct perf_record_raw {
	struct perf_event_header header;
	uint64_t address;
	uint32_t pid, tid;
	uint64_t time;
	uint64_t event_id;
	uint32_t cpu, reserved;
	uint32_t size; /* of `data` */
	char data[];
};

/* The tail that sample_id_all appends to every record that is not a sample. */
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
 * PERF_RECORD_MISC_MMAP_BUILD_ID: device, inode and generation are replaced by the size of a
 * build-id (1 byte), padding (3 bytes), and the build-id.
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

/* PERF_RECORD_MISC_COMM_EXEC: the name was set by an exec. */
bool perf_record_comm_is_exec(const struct perf_event_header *header);

/* The time of any record of our events; 0: too short. */
uint64_t perf_record_time(const struct perf_event_header *header);

/*
 * The end of a record that is not a sample, including its tail of `id_size` bytes; at most
 * header->size, which must be that of a header at least. It is less where several recorders get one
 * ksymbol event: perf_event_ksymbol_output() of kernel/events/core.c (5.1 to 6.18 at least) adds
 * the size of the tail to the record's for each of them, and what follows is stale ring content.
 */
size_t record_end(const struct perf_event_header *header, size_t id_size);

/* The tail of a record that is not a sample; NULL: too short. */
const struct perf_record_id *perf_record_id(const struct perf_event_header *header);

/* Whether a record has at least the fixed part of its type. */
bool perf_record_is_whole(const struct perf_event_header *header);

/* Whether `size` bytes at `offset` of a record's data are present. */
bool perf_record_raw_has(const struct perf_record_raw *raw, uint32_t offset, uint32_t size);

/*
 * Parses a sample of PERF_RECORD_SAMPLE_TYPE or PERF_RECORD_SAMPLE_RAW_TYPE; false: it contradicts
 * itself.
 */
bool perf_record_parse_sample(const struct perf_event_header *header, uint64_t type,
			      struct perf_record_sample *ret);

/*
 * The text after the fixed part (`fixed` bytes) of a record, or NULL if no zero byte ends it within
 * the record.
 */
const char *record_text(const struct perf_event_header *header, size_t fixed);
