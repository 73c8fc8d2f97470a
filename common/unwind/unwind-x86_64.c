/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What unwind information and code mean on x86-64. Register numbers: common/arch/x86_64.c. */
#include <dwarf.h>
#include <elf.h>
#include <string.h>

#include "common/elf/cfi.h"
#include "common/unwind/unwind-arch.h"

enum { RBP = 6, RSP = 7, RETURN_ADDRESS = 16 };

/*
 * ld's rule for PLT stubs: the CFA is 8 further away once a stub has pushed its index,
 *	breg7(offset) breg16(0) lit15 and litN ge lit3 shl plus
 * that is rsp + offset + ((rip & 15) >= N) << 3. N is 11, or what the kind of stub needs.
 */
static bool is_plt(struct dwarf_cursor cursor, struct unwind_rule *rule)
{
	static const uint8_t before[] = { DW_OP_lit15, DW_OP_and };
	static const uint8_t behind[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	int64_t offset;
	uint8_t limit;

	if (dwarf_take(&cursor, 1) != DW_OP_breg0 + RSP)
		return false;
	offset = dwarf_take_sleb(&cursor);
	if (dwarf_take(&cursor, 1) != DW_OP_breg0 + RETURN_ADDRESS || dwarf_take_sleb(&cursor))
		return false;
	for (size_t i = 0; i < sizeof(before); i++)
		if (dwarf_take(&cursor, 1) != before[i])
			return false;
	limit = dwarf_take(&cursor, 1);
	for (size_t i = 0; i < sizeof(behind); i++)
		if (dwarf_take(&cursor, 1) != behind[i])
			return false;
	if (cursor.is_bad || cursor.at != cursor.end || limit < DW_OP_lit0 || limit > DW_OP_lit15 ||
	    offset != (int32_t)offset)
		return false;
	rule->cfa = UNWIND_CFA_PLT;
	rule->cfa_offset = offset;
	rule->cfa_register = limit - DW_OP_lit0;
	return true;
}

/*
 * A CFA saved in memory: by functions that align their stack (gcc), in hand-written code (OpenSSL),
 * in signal frames (glibc): bregN(offset) deref, and possibly plus_uconst(addend).
 */
static bool is_saved(struct dwarf_cursor cursor, struct unwind_rule *rule)
{
	uint8_t base = dwarf_take(&cursor, 1);
	int64_t offset = dwarf_take_sleb(&cursor);
	uint64_t addend = 0;

	if (dwarf_take(&cursor, 1) != DW_OP_deref)
		return false;
	if (cursor.at != cursor.end) {
		if (dwarf_take(&cursor, 1) != DW_OP_plus_uconst)
			return false;
		addend = dwarf_take_uleb(&cursor);
	}
	if (cursor.is_bad || cursor.at != cursor.end || offset != (int32_t)offset ||
	    addend > INT32_MAX)
		return false;
	if (base == DW_OP_breg0 + RSP)
		rule->cfa = UNWIND_CFA_AT_SP;
	else if (base == DW_OP_breg0 + RBP)
		rule->cfa = UNWIND_CFA_AT_FP;
	else
		return false;
	rule->cfa_offset = offset;
	rule->cfa_addend = addend;
	return true;
}

static void classify_cfa(const uint8_t *expression, size_t size, struct unwind_rule *rule)
{
	struct dwarf_cursor cursor = { expression, expression + size, false };

	if (!is_plt(cursor, rule) && !is_saved(cursor, rule))
		rule->cfa = UNWIND_CFA_FALLBACK;
}

/*
 * leave, or pop %rbp, unless a prefix with REX.B selects another register (Intel SDM 2A, 2.2.1). No
 * other instruction that raises the stack pointer ends with these bytes: it would have to add a
 * number that is no multiple of 8, or more than 1 GiB.
 */
static bool is_pop_of_fp(const uint8_t *before)
{
	enum { POP_RBP = 0x5d, LEAVE = 0xc9, REX_B = 0x41, REX_B_MASK = 0xf1 };
	const uint8_t *last = before + UNWIND_CODE_BEFORE - 1;

	return *last == LEAVE || (*last == POP_RBP && (last[-1] & REX_B_MASK) != REX_B);
}

/* A pop before lea -8(%r10), %rsp, or of %r13 where %r10 is in use (gcc's ix86 DRAP). */
static size_t find_pop_of_realigned(const uint8_t *before)
{
	static const uint8_t restore[][4] = { { 0x49, 0x8d, 0x62, 0xf8 },
					      { 0x49, 0x8d, 0x65, 0xf8 } };
	const size_t n = sizeof(restore[0]);
	uint8_t earlier[UNWIND_CODE_BEFORE] = { 0 };

	memcpy(earlier + n, before, UNWIND_CODE_BEFORE - n);
	for (size_t i = 0; i < sizeof(restore) / n; i++)
		if (!memcmp(before + UNWIND_CODE_BEFORE - n, restore[i], n) &&
		    is_pop_of_fp(earlier))
			return n;
	return 0;
}

/* Bytes of an operand after its ModRM byte: SIB, displacement (Intel SDM 2A, table 2-2). */
static size_t operand_size(const uint8_t *modrm)
{
	enum { SIB = 4, BASE_NONE = 5 };
	uint8_t mod = *modrm >> 6, rm = *modrm & 7;
	bool has_sib = mod != 3 && rm == SIB;

	if (mod == 3)
		return 0;
	if (mod == 1)
		return has_sib + 1;
	if (mod == 2 || rm == BASE_NONE || (has_sib && (modrm[1] & 7) == BASE_NONE))
		return has_sib + 4;
	return has_sib;
}

static bool is_trap(const uint8_t *code)
{
	static const uint8_t trap[UNWIND_CODE_BEHIND] = { 0xf3, 0x90, 0x0f, 0xae, 0xe8 };

	return !memcmp(code, trap, sizeof(trap));
}

/* Whether a call is a speculation thunk's (find_thunk()), which never returns to after it. */
static bool is_over_trap(const uint8_t *distance, const uint8_t *behind)
{
	static const uint8_t distances[][4] = { { 7 }, { 11 } };
	const size_t n = sizeof(distances[0]);

	return is_trap(behind) &&
	       (!memcmp(distance, distances[0], n) || !memcmp(distance, distances[1], n));
}

/* call rel32, or call of a register or of memory, FF /2 (Intel SDM 2A, CALL). */
static enum unwind_call find_call_before(const uint8_t *before, const uint8_t *behind)
{
	enum { CALL = 0xe8, CALL_SIZE = 5, GROUP = 0xff, CALL_INDIRECT = 2, INDIRECT_MAX = 7 };
	uint8_t code[UNWIND_CODE_BEFORE + 1] = { 0 }; /* operand_size() may read one byte more */
	const uint8_t *end = code + UNWIND_CODE_BEFORE;

	memcpy(code, before, UNWIND_CODE_BEFORE);
	for (size_t size = 2; size <= INDIRECT_MAX; size++) {
		const uint8_t *at = end - size;

		if (*at == GROUP && (at[1] >> 3 & 7) == CALL_INDIRECT &&
		    2 + operand_size(at + 1) == size)
			return UNWIND_CALL_INDIRECT;
	}
	return end[-CALL_SIZE] == CALL && !is_over_trap(end - CALL_SIZE + 1, behind)
		       ? UNWIND_CALL_DIRECT
		       : UNWIND_CALL_NONE;
}

/* The last call before an offset to code of the same file; 0: none within REACH bytes. */
static uint64_t find_call(struct unwind_code *code, uint64_t offset, uint64_t *ret_target)
{
	enum { CALL = 0xe8, CALL_SIZE = 5, REACH = 256, FILE_REACH = 1 << 24 };

	for (size_t n = CALL_SIZE; n <= REACH && n <= offset; n++) {
		const uint8_t *at = unwind_code_before(code, offset - n + CALL_SIZE, CALL_SIZE);
		int32_t distance;

		if (!at)
			return 0;
		memcpy(&distance, at + 1, sizeof(distance));
		*ret_target = offset - n + CALL_SIZE + distance;
		/* The byte may be part of another instruction: then this leads far away. */
		if (*at == CALL && distance > -FILE_REACH && distance < FILE_REACH &&
		    *ret_target < offset + FILE_REACH)
			return offset - n;
	}
	return 0;
}

/* Whether a function does nothing, as _Unwind_DebugHook() does, which is for debuggers. */
static bool is_empty(struct unwind_code *code, uint64_t offset)
{
	static const uint8_t empty[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xc3 }; /* endbr64; ret */
	const size_t n = sizeof(empty), n_return = 1;
	const uint8_t *at = unwind_code_before(code, offset + n, n);

	return at && (!memcmp(at, empty, n) || *at == empty[n - n_return]);
}

/*
 * libgcc's uw_install_context(): uw_install_context_1() writes the handler's registers to where
 * this function saved its caller's, the return address among them. A call for debuggers follows.
 * Then they are restored, and %rcx becomes the stack pointer; from there on the rule is the
 * handler's.
 */
static uint64_t find_install(const struct unwind_rule *rule, struct unwind_code *code,
			     uint64_t offset)
{
	enum { RCX = 2 };
	uint64_t call, target;

	if (rule->cfa != UNWIND_CFA_REGISTER || rule->cfa_register != RCX || rule->cfa_offset != 8)
		return 0;
	call = find_call(code, offset, &target);
	return call && is_empty(code, target) ? find_call(code, call, &target) : call;
}

/* The target of a call or jump at an offset; 0: it is none. */
static size_t target_of(const uint8_t *code, size_t at, uint8_t opcode)
{
	int32_t distance;

	memcpy(&distance, code + at + 1, sizeof(distance));
	return code[at] == opcode ? at + 1 + sizeof(distance) + distance : 0;
}

/* Whether the trap for speculation follows a call: pause; lfence; jmp to the pause. */
static bool has_trap(const uint8_t *code)
{
	enum { CALL_SIZE = 5, BACK = CALL_SIZE + UNWIND_CODE_BEHIND, JMP = 0xe9 };
	static const uint8_t back[] = { 0xeb, 0xf9 };

	return is_trap(code + CALL_SIZE) && (!memcmp(code + BACK, back, sizeof(back)) ||
					     target_of(code, BACK, JMP) == CALL_SIZE);
}

/*
 * Retpolines: __x86_indirect_thunk_* and __x86_return_thunk (gcc), __llvm_retpoline_* (clang). A
 * call to after the trap; then mov of a register over the pushed return address, or lea 8(%rsp),
 * %rsp, which drops it; and ret.
 */
static bool find_thunk(const uint8_t *code, size_t size, struct unwind_thunk *ret)
{
	enum { CALL = 0xe8, RET = 0xc3, INT3 = 0xcc, REX_W = 0x48, REX_R = 0x04, MOV = 0x89 };
	static const uint8_t drop[] = { 0x48, 0x8d, 0x64, 0x24, 0x08 };
	size_t target = target_of(code, 0, CALL), n = size;

	if (code[size - 1] == INT3) /* gcc -mharden-sls */
		n--;
	if (code[n - 1] != RET || !has_trap(code))
		return false;
	if (target == n - 5 && (code[target] & ~REX_R) == REX_W && code[target + 1] == MOV &&
	    (code[target + 2] & 0xc7) == 0x04 && code[target + 3] == 0x24)
		*ret = (struct unwind_thunk){ target, size };
	else if (target == n - 1 - sizeof(drop) && !memcmp(code + target, drop, sizeof(drop)))
		*ret = (struct unwind_thunk){ target, n - 1 };
	else
		return false;
	return true;
}

const struct unwind_arch unwind_x86_64 = {
	.base = &arch_x86_64,
	.classify_cfa = classify_cfa,
	.is_pop_of_fp = is_pop_of_fp,
	.find_pop_of_realigned = find_pop_of_realigned,
	.find_call_before = find_call_before,
	.find_install = find_install,
	.find_thunk = find_thunk,
	.plt_rows = plt_x86_64_rows,
	.plt_stub = plt_x86_64_stub,
	.plt_resolved_relocation = R_X86_64_IRELATIVE,
	.function_end_is_within = function_end_x86_64,
	.find_frame = code_frame_x86_64,
	.find_frame_sizes = code_frame_sizes_x86_64,
};
