/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The layout of Sysprof's capture format (sysprof-capture-types.h): a header, then frames, each a
 * multiple of 8 bytes and less than 64 KiB; packed, and here little-endian. Texts end with a zero
 * byte.
 */
#pragma once

#include <assert.h>
#include <stdint.h>

enum {
	SYSCAP_MAGIC = 0xFDCA975E,
	SYSCAP_VERSION = 1,
	SYSCAP_LITTLE_ENDIAN_BIT = 1 << 8,
	SYSCAP_INDEX_MARK = 0x53504958, /* "XIPS" in padding2: this timestamp frame is an index */
	SYSCAP_COUNTERS_A_GROUP = 8,
	SYSCAP_ID_SIZE = 40, /* of a metadata id */
};

/* The id of the last metadata frame, and its values: COMPLETE if nothing is missing. */
#define SYSCAP_STATE_ID "stackpipe.state"
#define SYSCAP_STATE_COMPLETE "complete"
#define SYSCAP_STATE_INCOMPLETE "incomplete"

/* A log message of the frame's process: its allocations cannot be trusted (wire.def, heap_lost). */
#define SYSCAP_FORGED_ALLOCATIONS                                                                  \
	"It wrote to the memory by which its allocations are told: none of them can be believed, " \
	"from its beginning on"

/* A log message about lost allocations, for printf(3) and scanf(3) of uint64_t. */
#define SYSCAP_LOST_ALLOCATIONS "Lost %lu allocations (%lu bytes), %lu frees and %lu other calls"

/*
 * With several events: the metadata id of each; message and name of the mark before each stack (TID
 * and weight; for a wait the TID and PID of its waker).
 *
 * Files and the fields of their lines. Times: time, PID, TID, time on and off the CPU, waits.
 * Names: time since when, PID, TID, name. Cgroups: PID, path. Source lines: f: file number, path;
 * i: image number, inode, build-id, path; p: image number, offset, then file number and line of the
 * function and of each call inlined there. Images: inode, build-id, OpenTelemetry's file id, where
 * its code is (of each segment offset, address and size), Go's build-id ("-": not known), path.
 * Contexts, each line with a time first: r: PID, number, key and value of an attribute of a
 * process's resource; c: number, PID, trace, span ("-": none), flags and number of attributes of a
 * trace context; a: number of a context, key and value of one of them; s: PID, TID and number of
 * the context (0: none) that samples of a thread have from then on.
 */
#define SYSCAP_EVENT_ID "stackpipe.event.%u"
#define SYSCAP_EVENT_MARK "thread %d: %lu"
#define SYSCAP_EVENT_WAKER ", woken by thread %d of process %d"
#define SYSCAP_WAITED "waited"
#define SYSCAP_OCCURRED "occurred"
#define SYSCAP_PREEMPTED "preempted"
#define SYSCAP_SAMPLED "sampled waits"
#define SYSCAP_SAMPLED_PREEMPTED "sampled preemptions"
#define SYSCAP_THREAD_TIMES_FILE "stackpipe/thread-times"
#define SYSCAP_THREAD_NAMES_FILE "stackpipe/thread-names"
#define SYSCAP_THREAD_NAME "%lu %d %d %s\n"
#define SYSCAP_CGROUPS_FILE "stackpipe/cgroups"
#define SYSCAP_CGROUP "%d %s\n"
#define SYSCAP_SOURCE_LINES_FILE "stackpipe/source-lines"
#define SYSCAP_SOURCE_FILE "f %u %s\n"
#define SYSCAP_SOURCE_IMAGE "i %lu %lu %s %s\n"
#define SYSCAP_SOURCE_PLACE "p %lu %lx%s\n"
#define SYSCAP_SOURCE_LINE " %u:%u"
#define SYSCAP_IMAGES_FILE "stackpipe/images"
#define SYSCAP_IMAGE "%lu %s %s %s %s %s\n"
#define SYSCAP_IMAGE_FACTS 3 /* words between build-id and path */
#define SYSCAP_SEGMENT "%s%lx:%lx:%lx"
#define SYSCAP_THREAD_TIME "%lu %d %u %lu %lu %lu\n"
#define SYSCAP_CONTEXTS_FILE "stackpipe/contexts"
#define SYSCAP_CONTEXT_RESOURCE "%lu r %d %u %s\t%s\n"
#define SYSCAP_CONTEXT "%lu c %lu %d %s %s %u %u\n"
#define SYSCAP_CONTEXT_ATTRIBUTE "%lu a %lu %s\t%s\n"
#define SYSCAP_CONTEXT_SINCE "%lu s %d %d %lu\n"

enum syscap_frame_type {
	SYSCAP_TIMESTAMP = 1,
	SYSCAP_SAMPLE = 2,
	SYSCAP_MAP = 3,
	SYSCAP_PROCESS = 4,
	SYSCAP_FORK = 5,
	SYSCAP_EXIT = 6,
	SYSCAP_JITMAP = 7,
	SYSCAP_CTRDEF = 8,
	SYSCAP_CTRSET = 9,
	SYSCAP_MARK = 10,
	SYSCAP_METADATA = 11,
	SYSCAP_LOG = 12,
	SYSCAP_FILE_CHUNK = 13,
	SYSCAP_ALLOCATION = 14,
};

struct __attribute__((packed)) syscap_file_header {
	uint32_t magic;
	uint32_t flags;
	char capture_time[64];
	uint64_t time;
	uint64_t end_time;
	uint64_t last_index; /* offset of the newest index frame; 0: none, or an older Sysprof */
	char zero[120];
	/*
	 * Zero in Sysprof's captures, and ignored by it. In ours, the id of the metadata frame that
	 * ends the file: a capture without that frame was cut.
	 */
	char last_id[SYSCAP_ID_SIZE];
};
static_assert(sizeof(struct syscap_file_header) == 256, "Sysprof's file header");

struct __attribute__((packed)) syscap_frame {
	uint16_t size;
	int16_t cpu;
	int32_t pid;
	int64_t time;
	uint32_t type;
	uint32_t padding2;
};
static_assert(sizeof(struct syscap_frame) == 24, "Sysprof's frame header");

struct __attribute__((packed)) syscap_index_frame {
	struct syscap_frame frame;
	uint64_t previous;
};

struct __attribute__((packed)) syscap_sample_frame {
	struct syscap_frame frame;
	uint16_t n_addresses, padding;
	int32_t tid;
	uint64_t addresses[];
};

struct __attribute__((packed)) syscap_allocation_frame {
	struct syscap_frame frame;
	uint64_t address;
	int64_t size; /* 0: a free */
	int32_t tid;
	uint16_t n_addresses, padding;
	uint64_t addresses[];
};

struct __attribute__((packed)) syscap_map_frame {
	struct syscap_frame frame;
	uint64_t start, end, offset, inode;
	char path[];
};

struct __attribute__((packed)) syscap_jitmap_frame {
	struct syscap_frame frame;
	uint32_t n_entries;
	uint64_t address; /* of the first entry */
	char name[];
};

struct __attribute__((packed)) syscap_chunk_frame {
	struct syscap_frame frame;
	uint16_t is_last, size;
	char path[256];
	char data[];
};

/* frame.time is the beginning. */
struct __attribute__((packed)) syscap_mark_frame {
	struct syscap_frame frame;
	int64_t duration;
	char group[24], name[40];
	char message[];
};

struct __attribute__((packed)) syscap_metadata_frame {
	struct syscap_frame frame;
	char id[SYSCAP_ID_SIZE];
	char value[];
};

struct __attribute__((packed)) syscap_log_frame {
	struct syscap_frame frame;
	uint16_t severity, padding1;
	uint32_t padding2;
	char domain[32];
	char text[];
};

struct __attribute__((packed)) syscap_counter_frame_entry {
	char category[32], name[32], description[52];
	uint32_t id_and_type;
	int64_t value;
};
static_assert(sizeof(struct syscap_counter_frame_entry) == 128, "Sysprof's counter");

struct __attribute__((packed)) syscap_counters_frame {
	struct syscap_frame frame;
	uint16_t n, padding1;
	uint32_t padding2;
	struct syscap_counter_frame_entry counters[];
};

struct __attribute__((packed)) syscap_counter_values_frame {
	struct syscap_frame frame;
	uint16_t n_groups, padding1;
	uint32_t padding2;
	uint32_t ids[SYSCAP_COUNTERS_A_GROUP];
	int64_t values[SYSCAP_COUNTERS_A_GROUP];
};

struct __attribute__((packed)) syscap_fork_frame {
	struct syscap_frame frame;
	int32_t child_pid;
};

/* perf's PERF_CONTEXT_KERNEL and _USER: kernel or user addresses follow. */
#define SYSCAP_CONTEXT_KERNEL ((uint64_t)-128)
#define SYSCAP_CONTEXT_USER ((uint64_t)-512)

/* Addresses from here on refer to jitmap entries; Sysprof uses 32 bits of them. */
#define SYSCAP_JITMAP_MARK 0xE000000000000000ULL

/* An entry of the file "__symbols__". An all-zero entry ends the list; the texts follow it. */
struct syscap_bundled_symbol {
	uint64_t begin, end;
	uint32_t pid, name, tag, padding; /* name, tag: offsets in that file, 0: none */
};
static_assert(sizeof(struct syscap_bundled_symbol) == 32, "Sysprof's bundled symbol");

/*
 * PIDs from here on are made up: Sysprof identifies a process by PID alone, so one that reuses a
 * PID gets a number above PID_MAX_LIMIT (linux/threads.h). Its name ends with the real PID: " (pid
 * 123)".
 */
enum { SYSCAP_PSEUDO_PID = 1 << 22 };
