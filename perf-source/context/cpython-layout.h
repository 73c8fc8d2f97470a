/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the structures of CPython have their fields. Within a minor version they do not change
 * (Include/internal/pycore_frame.h, pycore_interpframe_structs.h, pycore_runtime.h, cpython/code.h
 * and pystate.h of each). From 3.13 on a process has a table of most of them, which counts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/script/runtime-table.h"

enum { CPYTHON_NONE = -1, CPYTHON_OFFSETS_SIZE = 60 * 8 /* of the process's table, as read */ };

/* Offsets in bytes; CPYTHON_NONE: this version has no such field. */
struct cpython_layout {
	uint8_t minor;
	bool is_free_threaded;
	int key;		 /* Py_tss_t in _PyRuntime, of thread states */
	int current, current_id; /* thread state that has the GIL in _PyRuntime; its thread's id */
	int cframe, current_frame; /* in a thread state (or its cframe) */
	int cframe_frame, cframe_previous;
	int frame_code, frame_previous, frame_instruction, frame_owner;
	int frame_entry;	    /* whether C has called the frame */
	int frame_size, frame_tags; /* its fixed part; bits of pointers in it that are no address */
	/*
	 * Without the GIL each thread may have a copy of a function's instructions: its number in
	 * a frame, and where code has the copies.
	 */
	int frame_copy, code_copies;
	/*
	 * Up to 3.10 frames are objects, each for one activation of the interpreter's loop: the
	 * number of the last instruction, in so many bytes each (0: frames are no objects), and
	 * the state of a frame that is executed.
	 */
	int frame_index, frame_unit, frame_state, frame_executing;
	int frame_object, code_object; /* bytes of them, as their types say */
	int code_filename, code_qualname, code_linetable, code_firstline, code_bytes;
	int code_version;   /* a number that no other code of the process ever has */
	int code_framesize; /* words of its frames */
	int code_stacksize, code_nlocalsplus; /* which are these and the head's, before 3.12 */
	int object;			      /* bytes of an object's head (PyObject) */
	int text;			      /* in a string: behind its head */
	int text_kind; /* bits of a string's state before those of its kind */
	enum cpython_line_form lines;
};

/*
 * The layout of a version in Py_Version's form (0x030d00f0: 3.13.0); NULL: it is not known. `table`
 * is the begin of _PyRuntime, which from 3.13 on tells builds without the GIL.
 */
const struct cpython_layout *cpython_layout_find(uint32_t version, const uint64_t *table);

/* Whether the version has builds without the GIL, and `table` is of one. */
bool cpython_layout_is_free_threaded(uint32_t version, const uint64_t *table);

/*
 * Takes what the table at the begin of _PyRuntime says (_Py_DebugOffsets, from 3.13 on; `table` has
 * CPYTHON_OFFSETS_SIZE bytes). It is the target's, so all of it is checked. False: it is no table
 * of this version, or its fields are nowhere.
 */
bool cpython_layout_take(struct cpython_layout *layout, uint32_t version, const uint64_t *table);
