/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile jitdumps. An input is a byte that decides how the file is cut, then the file. Reading it
 * in pieces, or while it grows, must equal reading it at once; every lookup at every time must
 * equal a linear search.
 */
#include <sys/mman.h>

#include "common/base/cleanup.h"
#include "common/jit/jitdump.h"
#include "tests/fuzz/fuzz.h"

#define _cleanup_dump_ _cleanup_(jitdump_deinit)

/* The last piece that holds `address` at `time`, by linear search. */
static size_t look(const struct jit_functions *functions, uint64_t address, uint64_t time)
{
	for (size_t i = functions->history.n; i-- > 0;) {
		const struct code_piece *piece = &functions->history.pieces[i];

		if (functions->pieces[i].time <= time && piece->start <= address &&
		    address < piece->end)
			return i;
	}
	return CODE_HISTORY_NONE;
}

static void check_line(const struct jit_functions *functions, const struct jit_functions *other,
		       const struct jit_code *code, const struct jit_code *same, uint64_t address)
{
	struct jit_place place, same_place;
	bool found = jit_functions_find_line(functions, code, address, &place);

	fuzz_check(found == jit_functions_find_line(other, same, address, &same_place));
	if (!found)
		return;
	fuzz_check(place.line == same_place.line && place.column == same_place.column);
	fuzz_check(!strcmp(place.file, same_place.file));
}

static void check_address(const struct jit_functions *functions, const struct jit_functions *other,
			  uint64_t address, uint64_t time)
{
	size_t expected = look(functions, address, time);
	struct jit_code code, same;
	bool found = jit_functions_find(functions, address, time, &code);

	fuzz_check(found == jit_functions_find(other, address, time, &same));
	if (!found) {
		fuzz_check(expected == CODE_HISTORY_NONE ||
			   functions->pieces[expected].function >= functions->n);
		return;
	}
	fuzz_check(code.function == &functions->list[functions->pieces[expected].function]);
	fuzz_check(code.start == functions->history.pieces[expected].start);
	fuzz_check(address - code.start < code.size);
	fuzz_check(strlen(code.name) <= JITDUMP_NAME_MAX);
	fuzz_check(code.start == same.start && code.size == same.size);
	fuzz_check(!strcmp(code.name, same.name));
	check_line(functions, other, &code, &same, address);
}

static void check_piece(const struct jit_functions *functions, const struct jit_functions *other,
			size_t i, uint64_t time)
{
	const struct code_piece *piece = &functions->history.pieces[i];

	check_address(functions, other, piece->start - 1, time);
	check_address(functions, other, piece->start, time);
	check_address(functions, other, piece->end - 1, time);
	check_address(functions, other, piece->end, time);
}

static void check_same(const struct jitdump *dump, const struct jitdump *other)
{
	const struct jit_functions *functions = &dump->functions;

	fuzz_check(dump->outcome == other->outcome && dump->is_closed == other->is_closed);
	fuzz_check(functions->history.n == other->functions.history.n);
	fuzz_check(functions->n == other->functions.n);
	fuzz_check(dump->n_refused_records == other->n_refused_records);
	fuzz_check(dump->n_refused_lines == other->n_refused_lines);
	fuzz_check(dump->n_cut_names == other->n_cut_names && dump->n_late == other->n_late);
	fuzz_check(dump->n_unknown == other->n_unknown);
	for (size_t i = 0; i < functions->history.n; i++) {
		uint64_t time = functions->pieces[i].time;

		fuzz_check(i == 0 || time >= functions->pieces[i - 1].time);
		check_piece(functions, &other->functions, i, time - 1);
		check_piece(functions, &other->functions, i, time);
		check_piece(functions, &other->functions, i, UINT64_MAX);
	}
}

static void read_pieces(struct jitdump *dump, struct fuzz_input input, uint8_t cut)
{
	while (input.size) {
		size_t n;
		_cleanup_free_ char *piece = fuzz_take_block(&input, 1 + cut % 61, &n);

		fuzz_check(jitdump_add(dump, piece, n) == (int)dump->outcome);
		cut = cut * 5 + 3;
	}
}

/* Reads at most four times, because system calls dominate the time. */
static void read_growing_file(struct jitdump *dump, struct fuzz_input input, uint8_t cut)
{
	_cleanup_fd_ int fd = memfd_create("jitdump", MFD_CLOEXEC);
	size_t step = input.size * (cut + 1) / 512 + input.size / 4 + 1;

	fuzz_check(fd >= 0);
	while (input.size) {
		size_t n = step < input.size ? step : input.size;

		fuzz_check(write(fd, input.bytes, n) == (ssize_t)n);
		fuzz_check(jitdump_read(dump, fd, UINT64_MAX) == (int)dump->outcome);
		input.bytes += n;
		input.size -= n;
	}
	fuzz_check(dump->n_anew == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_dump_ struct jitdump at_once, in_pieces, growing;
	struct fuzz_input input = { bytes, size };
	uint8_t cut;

	jitdump_init(&at_once);
	jitdump_init(&in_pieces);
	jitdump_init(&growing);
	fuzz_take(&input, &cut, sizeof(cut));
	fuzz_check(jitdump_add(&at_once, input.bytes, input.size) == (int)at_once.outcome);
	read_pieces(&in_pieces, input, cut);
	check_same(&at_once, &in_pieces);
	read_growing_file(&growing, input, cut);
	check_same(&at_once, &growing);
	return 0;
}
