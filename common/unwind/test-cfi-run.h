/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: runs single CFI programs and checks their rows. */
#pragma once

#include <errno.h>

#include "common/base/cleanup.h"
#include "common/elf/test-cfi-made.h"
#include "common/unwind/cfi-program.h"

#define _cleanup_made_ _cleanup_(made_deinit)
#define _cleanup_cfi_ _cleanup_(cfi_deinit)

enum {
	START = 0x2000,
	LENGTH = 0x20000,
	ROWS_MAX = 80,
	/* DWARF register numbers of x86-64, … */
	RBX = 3,
	RBP = 6,
	RSP = 7,
	R10 = 10,
	RIP = 16,
	/* … and of aarch64 */
	X19 = 19,
	X29 = 29,
	X30 = 30,
	SP = 31,
};

struct row {
	uint64_t address;
	struct unwind_rule rule;
};

struct rows {
	struct row list[ROWS_MAX];
	size_t n, n_max;
};

static inline int add_row(uint64_t address, const struct unwind_rule *rule, void *arg)
{
	struct rows *rows = arg;

	if (rows->n == rows->n_max)
		return -ENOSPC;
	rows->list[rows->n++] = (struct row){ address, *rule };
	return 0;
}

/* Context of a program; 0 stands for the usual. */
struct around {
	const struct unwind_arch *arch;
	struct made_common common;
	uint64_t length;  /* of the code */
	uint64_t address; /* of the section */
	size_t n_rows_max;
	int outcome;
};

/* Initial rules of x86-64 compilers: CFA = rsp + 8, return address just below it. */
static const struct made_common x86_64 = { .augmentation = "", PROGRAM(0x0c, RSP, 8, 0x90, 1) };

/* The same on aarch64: CFA = sp. */
static const struct made_common aarch64 = {
	.augmentation = "", .code_factor = 4, .return_address = X30, PROGRAM(0x0c, SP, 0)
};

/* Runs a program as an FDE's. */
static inline struct rows run(const struct around *around, const void *program, size_t size)
{
	static const uint8_t no_augmentation[] = { 0 }; /* its size */
	const struct unwind_arch *arch = around->arch ? around->arch : &unwind_x86_64;
	struct made_common common = arch == &unwind_aarch64 ? aarch64 : x86_64;
	struct made_description description = { .start = START,
						.length = around->length ? around->length : LENGTH,
						.program = program,
						.size = size };
	_cleanup_made_ struct made made = { .address = around->address };
	_cleanup_cfi_ struct cfi cfi = { 0 };
	struct rows rows = { .n_max = around->n_rows_max ? around->n_rows_max : ROWS_MAX };
	const struct cfi_rows to = { add_row, &rows };
	struct cfi_section section;

	if (around->common.augmentation)
		common = around->common;
	description.encoding = common.encoding;
	if (common.augmentation[0] == 'z') {
		description.augmentation = no_augmentation;
		description.augmentation_size = sizeof(no_augmentation);
	}
	description.common = put_common(&made, &common);
	put_description(&made, &description);
	section = made_section(&made);
	assert_int_equal(cfi_read(&section, &cfi), 0);
	assert_int_equal(cfi.n, 1);
	assert_int_equal(cfi_run(&cfi, &cfi.list[0], arch, &to), around->outcome);
	for (size_t i = 0; i < rows.n; i++) {
		assert_true(rows.list[i].address < START + description.length);
		assert_true(rows.list[i].address >= (i ? rows.list[i - 1].address + 1 : START));
	}
	return rows;
}

#define RUN_IN(around, ...)                                                                        \
	run(around, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))
#define RUN(...) RUN_IN(&(struct around){ 0 }, __VA_ARGS__)
#define RUN_AARCH64(...) RUN_IN(&(struct around){ .arch = &unwind_aarch64 }, __VA_ARGS__)

/* The only rule of a program that does not advance. */
static inline struct unwind_rule only(struct rows rows)
{
	assert_int_equal(rows.n, 1);
	assert_int_equal(rows.list[0].address, START);
	return rows.list[0].rule;
}

static inline void assert_cfa(struct unwind_rule rule, enum unwind_cfa cfa, int32_t offset)
{
	assert_int_equal(rule.cfa, cfa);
	assert_int_equal(rule.cfa_offset, offset);
}

static inline void assert_return_address(struct unwind_rule rule, enum unwind_value value,
					 int32_t offset)
{
	assert_int_equal(rule.return_address, value);
	assert_int_equal(rule.return_address_offset, offset);
}

static inline void assert_fp(struct unwind_rule rule, enum unwind_value value, int32_t offset)
{
	assert_int_equal(rule.fp, value);
	assert_int_equal(rule.fp_offset, offset);
}

/* The CIE's rules, unchanged. */
static inline void assert_initial(struct unwind_rule rule)
{
	assert_cfa(rule, UNWIND_CFA_SP, 8);
	assert_return_address(rule, UNWIND_VALUE_AT_CFA, -8);
	assert_fp(rule, UNWIND_VALUE_SAME, 0);
	assert_int_equal(rule.flags, 0);
}

/* One row per location, in this order, with CFA = rsp + offset. */
static inline void assert_places(const struct rows *rows, const uint64_t (*expected)[2], size_t n)
{
	assert_int_equal(rows->n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(rows->list[i].address, START + expected[i][0]);
		assert_cfa(rows->list[i].rule, UNWIND_CFA_SP, expected[i][1]);
	}
}

/* The initial rule holds for the first `n` bytes, and FALLBACK from there on. */
static inline void assert_fallback_from(struct rows rows, uint64_t n)
{
	assert_int_equal(rows.n, n ? 2 : 1);
	if (n)
		assert_cfa(rows.list[0].rule, UNWIND_CFA_SP, 8);
	assert_int_equal(rows.list[0].address, START);
	assert_int_equal(rows.list[rows.n - 1].address, START + n);
	assert_int_equal(rows.list[rows.n - 1].rule.cfa, UNWIND_CFA_FALLBACK);
}
