/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Encodes what was read from a process's rings as records of the stream. */
#pragma once

#include "common/arch/arch.h"
#include "common/source/processes.h"
#include "common/stage/stage.h"
#include "common/stream/heap-events.h"
#include "common/stream/stack-memo.h"
#include "preload-source/reader/ring-reader.h"

/* Shared by all processes of a recording. */
struct heap_encoder {
	struct stage *stage;		   /* borrowed */
	const struct processes *processes; /* borrowed */
	struct stack_memo memo;		   /* numbers of known stacks */
	uint32_t n_stacks;
	struct heap_event_writer events;
	uint64_t upid; /* of the buffered events */
	uint64_t *n_raw, *n_late;
	uint64_t words[RING_RECORD_WORDS_MAX]; /* of the last record read */
};

enum {
	HEAP_ENCODER_LOOKS = 64, /* a power of two: generations that a stack may be late by */
	HEAP_ENCODER_NO_GENERATION = 1 << HEAP_GENERATION_BITS, /* no record has it */
};

/* A process, and in which generations its code addresses are valid. */
struct heap_encoder_process {
	uint32_t pid;
	uint64_t upid, maps_version;
	/*
	 * Mappings get ascending numbers. A stack of an older generation has only mappings numbered
	 * below `next_mapping`, the next number at the last reread in that generation.
	 */
	uint32_t generation; /* at the last reread, or HEAP_ENCODER_NO_GENERATION */
	struct {
		uint32_t generation, next_mapping;
	} looks[HEAP_ENCODER_LOOKS]; /* by generation modulo HEAP_ENCODER_LOOKS */
};

/* 0 or -errno, as all below. */
int heap_encoder_init(struct heap_encoder *encoder, struct stage *stage,
		      const struct processes *processes);
void heap_encoder_deinit(struct heap_encoder *encoder);

/* Notes that a process's mappings were reread in this generation. */
void heap_encoder_note_look(const struct heap_encoder *encoder,
			    struct heap_encoder_process *process, uint32_t generation);

/* Notes that mappings were reread while code was unmapped: they are valid for no generation. */
void heap_encoder_forget_look(struct heap_encoder_process *process);

/* Returns the number of a stack, and emits the stack if it is new. `time` is of CLOCK_MONOTONIC. */
int heap_encoder_stack(struct heap_encoder *encoder, const struct heap_encoder_process *process,
		       const struct ring_record *record, uint64_t time, uint32_t *ret_number);

/* The same for a raw stack, which gets a new number each time. */
int heap_encoder_raw(struct heap_encoder *encoder, const struct heap_encoder_process *process,
		     const struct ring_record *record, uint32_t tid, uint64_t time,
		     uint32_t *ret_number);

int heap_encoder_event(struct heap_encoder *encoder, const struct heap_encoder_process *process,
		       const struct heap_event *event);

/* Emits the buffered events. */
int heap_encoder_flush(struct heap_encoder *encoder);
