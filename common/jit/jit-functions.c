/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "common/base/binary-search.h"
#include "common/base/growing-list.h"
#include "common/jit/jit-functions.h"

enum { NO_FUNCTION = UINT32_MAX };

void jit_functions_init(struct jit_functions *functions)
{
	*functions = (struct jit_functions){ .history.depth = CODE_HISTORY_ALL };
}

void jit_functions_deinit(struct jit_functions *functions)
{
	code_history_deinit(&functions->history);
	jit_lines_deinit(&functions->lines);
	name_store_deinit(&functions->names);
	free(functions->pieces);
	free(functions->list);
	jit_functions_init(functions);
}

/* Lists are allocated for up to twice their items. */
size_t jit_functions_memory(const struct jit_functions *functions)
{
	return code_history_memory(&functions->history) +
	       2 * functions->history.n * sizeof(*functions->pieces) +
	       2 * functions->n * sizeof(*functions->list) +
	       functions->lines.n_allocated * sizeof(*functions->lines.list) +
	       functions->names.n_allocated;
}

uint64_t jit_functions_time(const struct jit_functions *functions)
{
	size_t n = functions->history.n;

	return n ? functions->pieces[n - 1].time : 0;
}

static int add_piece(struct jit_functions *functions, uint64_t start, uint64_t size,
		     uint32_t function, uint64_t time)
{
	size_t n = functions->history.n;
	uint64_t last = jit_functions_time(functions);

	if (n == JIT_PIECES_MAX)
		return -ENOSPC;
	if (GROWING_LIST_MAKE_ROOM(functions->pieces, n) < 0)
		return -ENOMEM;
	functions->pieces[n] = (struct jit_piece){ time < last ? last : time, function };
	return code_history_add(&functions->history, start, start + size);
}

int jit_functions_add(struct jit_functions *functions, const struct jit_load *load)
{
	struct jit_function function = {
		.start = load->start,
		.size = load->size,
		.index = load->index,
		.code_at = load->code_at,
	};
	int r = GROWING_LIST_MAKE_ROOM(functions->list, functions->n);

	if (r == 0)
		r = name_store_add(&functions->names, load->name, load->name_size, &function.name);
	if (r == 0)
		r = add_piece(functions, load->start, load->size, functions->n, load->time);
	if (r < 0)
		return r;
	jit_lines_take(&functions->lines, load->start, &function.first_line, &function.n_lines);
	functions->list[functions->n++] = function;
	return 0;
}

/* Returns the function that begins at an address now, or NO_FUNCTION. */
static uint32_t find_beginning(const struct jit_functions *functions, uint64_t address)
{
	const struct code_history *history = &functions->history;
	size_t found = code_history_find(history, history->n, address);

	if (found == CODE_HISTORY_NONE || history->pieces[found].start != address)
		return NO_FUNCTION;
	return functions->pieces[found].function;
}

static bool is_range(uint64_t start, uint64_t size)
{
	return start + size > start;
}

/* Covers the target of a move with code that has no name. */
static int cover(struct jit_functions *functions, const struct jit_move *move)
{
	int r = 0;

	if (is_range(move->to, move->size))
		r = add_piece(functions, move->to, move->size, NO_FUNCTION, move->time);
	return r < 0 ? r : JIT_MOVE_E_UNKNOWN;
}

int jit_functions_move(struct jit_functions *functions, const struct jit_move *move)
{
	uint32_t number = find_beginning(functions, move->from);
	uint64_t size;
	int r;

	if (number == NO_FUNCTION || functions->list[number].index != move->index)
		return cover(functions, move);
	size = functions->list[number].size; /* a move does not change it */
	if (!is_range(move->to, size))
		return JIT_MOVE_E_UNKNOWN;
	r = add_piece(functions, move->from, size, NO_FUNCTION, move->time);
	if (r == 0)
		r = add_piece(functions, move->to, size, number, move->time);
	return r < 0 ? r : JIT_MOVE_OK;
}

/* Number of pieces at a time. */
static size_t count_until(const struct jit_functions *functions, uint64_t time)
{
	return BINARY_SEARCH(i, 0, functions->history.n, functions->pieces[i].time <= time);
}

bool jit_functions_find(const struct jit_functions *functions, uint64_t address, uint64_t time,
			struct jit_code *ret)
{
	const struct code_history *history = &functions->history;
	size_t found = code_history_find(history, count_until(functions, time), address);
	const struct jit_function *function;

	if (found == CODE_HISTORY_NONE || functions->pieces[found].function == NO_FUNCTION)
		return false;
	function = &functions->list[functions->pieces[found].function];
	*ret = (struct jit_code){
		.start = history->pieces[found].start,
		.size = function->size,
		.name = name_store_get(&functions->names, function->name),
		.piece = found,
		.function = function,
	};
	return true;
}

bool jit_functions_find_line(const struct jit_functions *functions, const struct jit_code *code,
			     uint64_t address, struct jit_place *ret)
{
	const struct jit_function *function = code->function;
	const struct jit_line *line = jit_lines_find(&functions->lines, function->first_line,
						     function->n_lines, address - code->start);

	if (!line)
		return false;
	*ret = (struct jit_place){
		.file = name_store_get(&functions->names, line->file),
		.line = line->line,
		.column = line->column,
	};
	return true;
}
