/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads jitdump files, which JIT compilers write as they make code: which function is where since
 * when, and its source lines. (Format: Linux, tools/perf/Documentation/jitdump-specification.txt.)
 *
 * An address that is used again has the name of its time. At a limit all older functions are
 * dropped: a missing name is better than one that was replaced.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/file/growing-file.h"
#include "common/jit/jit-functions.h"

struct process; /* process-table.h */

enum {
	JITDUMP_SIZE_MAX = 1 << 30,	  /* bytes; a larger file gives no names */
	JITDUMP_NAME_MAX = 4095,	  /* bytes; a longer name is cut */
	JITDUMP_DEBUG_INFO_MAX = 1 << 20, /* bytes of a record of lines; a larger one is skipped */
};

enum jitdump_outcome {
	JITDUMP_OK,
	JITDUMP_E_MAGIC,      /* not a jitdump */
	JITDUMP_E_BYTE_ORDER, /* of a machine with the other byte order */
	JITDUMP_E_VERSION,
	JITDUMP_E_DAMAGED, /* a record's size is impossible; earlier records stay */
};

/*
 * The process whose code is named. A forked child still maps its parent's file, whose later records
 * do not concern it; and a file may be left from an earlier process with the same PID.
 */
struct jitdump_process {
	uint32_t pid;	  /* in the stream's PID namespace */
	uint32_t own_pid; /* in its own namespace; 0: unknown */
	uint64_t began;	  /* older records are not its own; 0: unknown */
};

struct jitdump {
	struct jitdump_process process; /* all zero: unknown */

	/* From the file's header. */
	uint32_t machine; /* ELF's e_machine; 0: missing (CPython) */
	uint32_t pid;	  /* in the program's own PID namespace */
	uint64_t created_at;
	bool has_arch_clock; /* times are the CPU's counter, else CLOCK_MONOTONIC */

	bool is_closed;		      /* the compiler has marked the file's end */
	enum jitdump_outcome outcome; /* unless it is OK, no more bytes are taken */
	struct growing_file file;
	uint64_t size; /* bytes taken so far */

	struct jit_functions functions;

	/* The part of a record that is being read. */
	int (*read_next)(struct jitdump *dump); /* called once the part is complete */
	char *part;
	size_t part_size, part_wanted, part_allocated;
	uint64_t skip;	   /* bytes to skip before it */
	uint64_t part_end; /* file offset up to which it was read */

	/* Counted since initialization, across re-reads of the file. */
	uint64_t n_anew;
	uint64_t n_refused_bytes;    /* beyond JITDUMP_SIZE_MAX */
	uint64_t n_forgotten_pieces; /* dropped at JIT_PIECES_MAX or NAME_STORE_MAX */
	uint64_t n_refused_records;  /* malformed, or moves of unknown functions */
	uint64_t n_of_others;	     /* records of other processes' code */
	uint64_t n_refused_lines;    /* too many, too large a record, or of no function */
	uint64_t n_cut_names;
	uint64_t n_late;      /* with a time before their predecessor's, which is used instead */
	uint64_t n_unknown;   /* records of other types */
	uint64_t n_unwinding; /* records of unwind information, which is not read */
};

void jitdump_init(struct jitdump *dump);
void jitdump_deinit(struct jitdump *dump);

/* Sets the process, NULL if unknown, before the first read; `clock` is the stream's. */
void jitdump_set_process(struct jitdump *dump, const struct process *process, uint32_t clock);

/*
 * Takes the next bytes of the file, cut anywhere. A jitdump_outcome; or -ENOMEM: deinitialize it.
 */
int jitdump_add(struct jitdump *dump, const void *bytes, size_t size);

/*
 * Reads what was appended to the file, or all of it if it was written anew, but skips the code
 * itself; stops after about `most` bytes. `fd` is of a regular file
 * (common/image-server/target-file.h). Returns a jitdump_outcome or -errno.
 */
int jitdump_read(struct jitdump *dump, int fd, uint64_t most);
