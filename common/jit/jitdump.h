/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a JIT compiler tells of its code in a jitdump file, as it makes it: which function is where
 * since when, and its source lines. (The format is that of the Linux kernel's
 * tools/perf/Documentation/jitdump-specification.txt.)
 *
 * An address that is used again has the name of its time. At a limit what is older goes: a name
 * that is missing is better than one that was replaced.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/file/growing-file.h"
#include "common/jit/jit-functions.h"

struct process; /* process-table.h */

enum {
	JITDUMP_SIZE_MAX = 1 << 30,	  /* bytes of the file; then nothing is known */
	JITDUMP_NAME_MAX = 4095,	  /* bytes; a longer one is cut */
	JITDUMP_DEBUG_INFO_MAX = 1 << 20, /* bytes of a record of lines; a larger one is left out */
};

enum jitdump_outcome {
	JITDUMP_OK,
	JITDUMP_E_MAGIC,      /* it is no jitdump */
	JITDUMP_E_BYTE_ORDER, /* it is of a machine of the other one */
	JITDUMP_E_VERSION,
	JITDUMP_E_DAMAGED, /* of a record it is not known where it ends; what was before it stays */
};

/*
 * Whose code is to be named. A forked child has its parent's file mapped, too, of which what comes
 * later tells nothing of it; and a file may be left of an earlier process with the same PID.
 */
struct jitdump_process {
	uint32_t pid;	  /* as others see it */
	uint32_t own_pid; /* in its namespace; 0: not known */
	uint64_t began;	  /* nothing is its own that was made before; 0: not known */
};

struct jitdump {
	struct jitdump_process process; /* all zero: not known */

	/* What the header says. */
	uint32_t machine; /* of ELF, 0: it does not say (CPython) */
	uint32_t pid;	  /* as the program itself sees it */
	uint64_t created_at;
	bool has_arch_clock; /* times are of the CPU's counter, else of CLOCK_MONOTONIC */

	bool is_closed;		      /* its compiler has said that no more will come */
	enum jitdump_outcome outcome; /* if it is not OK, nothing further is taken */
	struct growing_file file;
	uint64_t size; /* bytes that were taken */

	struct jit_functions functions;

	/* The part of a record that is being read. */
	int (*read_next)(struct jitdump *dump); /* once it is there */
	char *part;
	size_t part_size, part_wanted, part_allocated;
	uint64_t skip;	   /* bytes to leave out before it */
	uint64_t part_end; /* where what there is of it ends in the file */

	/* Since it was initialized, whatever was read anew. */
	uint64_t n_anew;
	uint64_t n_refused_bytes;    /* behind JITDUMP_SIZE_MAX */
	uint64_t n_forgotten_pieces; /* at JIT_PIECES_MAX or NAME_STORE_MAX */
	uint64_t n_refused_records;  /* that contradict themselves, or move what is not there */
	uint64_t n_of_others;	     /* records of other processes' code */
	uint64_t n_refused_lines;    /* too many, too large a record, or of no function */
	uint64_t n_cut_names;
	uint64_t n_late;      /* with a time before the one before them: that one is taken */
	uint64_t n_unknown;   /* records of other types */
	uint64_t n_unwinding; /* records of unwind information, which is not read */
};

void jitdump_init(struct jitdump *dump);
void jitdump_deinit(struct jitdump *dump);

/* Before it is read: whose it is, if that is known, in a stream of that clock. */
void jitdump_set_process(struct jitdump *dump, const struct process *process, uint32_t clock);

/*
 * Takes the next bytes of the file, cut anywhere. A jitdump_outcome, or -ENOMEM: it may only be
 * deinitialized.
 */
int jitdump_add(struct jitdump *dump, const void *bytes, size_t size);

/*
 * Reads what was added to the file since, or all of it if it was written anew; without the code
 * itself, and about `most` bytes now, if there are more. `fd` is of a regular file
 * (common/image-server/target-file.h). A jitdump_outcome or -errno.
 */
int jitdump_read(struct jitdump *dump, int fd, uint64_t most);
