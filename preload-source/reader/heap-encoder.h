/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What has come out of the rings of a process, as records of the stream. */
#pragma once

#include "common/arch/arch.h"
#include "common/stream/heap-events.h"
#include "common/source/processes.h"
#include "common/stream/stack-memo.h"
#include "common/stage/stage.h"
#include "preload-source/reader/ring-reader.h"

/* Shared by all processes of a recording. */
struct heap_encoder {
	struct stage *stage;		   /* borrowed */
	const struct processes *processes; /* borrowed */
	struct stack_memo memo;		   /* numbers of stacks */
	uint32_t n_stacks;
	struct heap_event_writer events;
	uint64_t upid; /* of the events that wait */
	uint64_t *n_raw, *n_late;
	uint64_t words[RING_RECORD_WORDS_MAX]; /* of the record that was read last */
};

enum {
	HEAP_ENCODER_LOOKS = 64, /* a power of two: generations that a stack may be late */
	HEAP_ENCODER_NO_GENERATION = 1 << HEAP_GENERATION_BITS, /* what no record can have */
};

/* Whose stacks they are, and for how long their addresses mean the same. */
struct heap_encoder_process {
	uint32_t pid;
	uint64_t upid, maps_version;
	/*
	 * Mappings are numbered as they come. Of an older stack only those count that were there by
	 * the time that code went next: below it the number that was next to be given then.
	 */
	uint32_t generation; /* in which the mappings were looked at last, or ..._NO_GENERATION */
	struct {
		uint32_t generation, next_mapping;
	} looks[HEAP_ENCODER_LOOKS]; /* by generation */
};

/* 0 or -errno, as of all of these. */
int heap_encoder_init(struct heap_encoder *encoder, struct stage *stage,
		      const struct processes *processes);
void heap_encoder_deinit(struct heap_encoder *encoder);

/* The mappings of a process have been looked at, in this generation. */
void heap_encoder_note_look(const struct heap_encoder *encoder,
			    struct heap_encoder_process *process, uint32_t generation);

/* They have been looked at while code went: what is known now holds for no generation. */
void heap_encoder_forget_look(struct heap_encoder_process *process);

/* The number of a stack, told if it is new; `time` is of CLOCK_MONOTONIC. */
int heap_encoder_stack(struct heap_encoder *encoder, const struct heap_encoder_process *process,
		       const struct ring_record *record, uint64_t time, uint32_t *ret_number);

/* The same of a raw one, which has a number of its own each time. */
int heap_encoder_raw(struct heap_encoder *encoder, const struct heap_encoder_process *process,
		     const struct ring_record *record, uint32_t tid, uint64_t time,
		     uint32_t *ret_number);

int heap_encoder_event(struct heap_encoder *encoder, const struct heap_encoder_process *process,
		       const struct heap_event *event);

/* Sends the events that wait. */
int heap_encoder_flush(struct heap_encoder *encoder);
