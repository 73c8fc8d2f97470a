/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdbool.h>

#include "common/unwind/instruction-x86_64.h"

enum {
	SIZE_MAX_ = 15,
	REX = 0x40,
	REX_W = 8,
	TWO_BYTES = 0x0f,
	MAP_38 = 0x38,
	MAP_3A = 0x3a,
	VEX_2 = 0xc5,
	VEX_3 = 0xc4,
	EVEX = 0x62,
	EVEX_SIZE = 4,
	OPERAND_SIZE = 0x66,
	ADDRESS_SIZE = 0x67,
};

enum opcode_map { MAP_1 = 1, MAP_2, MAP_3, MAP_NONE = 0 }; /* 0f, 0f 38, 0f 3a, or one byte */

/* What follows an opcode. */
struct instruction_operands {
	bool is_valid, has_modrm;
	uint8_t immediate; /* bytes */
};

struct instruction_decoder {
	const uint8_t *code;
	size_t n, at;
	bool has_operand_size, has_address_size;
	uint8_t rex;
};

static const struct instruction_operands none = { true, false, 0 }, invalid = { false, false, 0 };

static struct instruction_operands with_modrm(uint8_t immediate)
{
	return (struct instruction_operands){ true, true, immediate };
}

static struct instruction_operands with_immediate(uint8_t size)
{
	return (struct instruction_operands){ true, false, size };
}

static bool is_in(uint8_t opcode, const char *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((uint8_t)list[i] == opcode)
			return true;
	return false;
}

#define IS_IN(opcode, list) is_in(opcode, list, sizeof(list) - 1)

/* Opcodes 00 to 3f: six operations of arithmetic, in all of which the low bits say the same. */
static struct instruction_operands arithmetic(uint8_t opcode, uint8_t number)
{
	switch (opcode & 7) {
	case 4:
		return with_immediate(1);
	case 5:
		return with_immediate(number);
	case 6:
	case 7:
		return invalid;
	default:
		return with_modrm(0);
	}
}

/* `number`: bytes of an immediate of the operand's size, at most four. */
static struct instruction_operands one_byte(const struct instruction_decoder *decoder,
					    uint8_t opcode, uint8_t number, uint8_t modrm)
{
	bool tests = (modrm & 0x38) < 0x10; /* of f6 and f7 */

	if (opcode < 0x40)
		return arithmetic(opcode, number);
	if (IS_IN(opcode, "\x60\x61\x62\x82\x9a\xce\xd4\xd5\xd6\xea"))
		return invalid;
	if ((opcode & 0xf0) == 0x70 || (opcode & 0xf8) == 0xb0 || (opcode & 0xf8) == 0xe0 ||
	    IS_IN(opcode, "\x6a\xa8\xcd\xeb"))
		return with_immediate(1);
	if (opcode == 0xe8 || opcode == 0xe9)
		return with_immediate(4);
	if (opcode == 0x68 || opcode == 0xa9)
		return with_immediate(number);
	if ((opcode & 0xf8) == 0xb8)
		return with_immediate(decoder->rex & REX_W ? 8 : number);
	if ((opcode & 0xfc) == 0xa0)
		return with_immediate(decoder->has_address_size ? 4 : 8);
	if (opcode == 0xc2 || opcode == 0xca)
		return with_immediate(2);
	if (opcode == 0xc8)
		return with_immediate(3);
	if (IS_IN(opcode, "\x6b\x80\x83\xc0\xc1\xc6"))
		return with_modrm(1);
	if (IS_IN(opcode, "\x69\x81\xc7"))
		return with_modrm(number);
	if (opcode == 0xf6)
		return with_modrm(tests ? 1 : 0);
	if (opcode == 0xf7)
		return with_modrm(tests ? number : 0);
	if (opcode == 0x63 || (opcode >= 0x84 && opcode <= 0x8f) || (opcode & 0xfc) == 0xd0 ||
	    (opcode & 0xf8) == 0xd8 || opcode >= 0xfe)
		return with_modrm(0);
	return none;
}

static struct instruction_operands two_bytes(uint8_t opcode)
{
	if ((opcode & 0xf0) == 0x80)
		return with_immediate(4);
	if ((opcode & 0xf8) == 0xc8 || (opcode & 0xf8) == 0x30 ||
	    IS_IN(opcode, "\x05\x06\x07\x08\x09\x0b\x77\xa0\xa1\xa2\xa8\xa9\xaa"))
		return none;
	if (IS_IN(opcode, "\x70\x71\x72\x73\xa4\xac\xba\xc2\xc4\xc5\xc6"))
		return with_modrm(1);
	return with_modrm(0);
}

static struct instruction_operands of_map(enum opcode_map map, uint8_t opcode, bool is_vex)
{
	switch (map) {
	case MAP_1:
		if (is_vex && opcode == 0x77) /* vzeroupper */
			return none;
		return two_bytes(opcode);
	case MAP_2:
		return with_modrm(0);
	case MAP_3:
		return with_modrm(1);
	default:
		return invalid;
	}
}

static bool is_prefix(uint8_t byte)
{
	return IS_IN(byte, "\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3");
}

static void take_prefixes(struct instruction_decoder *decoder)
{
	for (; decoder->at < decoder->n && is_prefix(decoder->code[decoder->at]); decoder->at++) {
		decoder->has_operand_size |= decoder->code[decoder->at] == OPERAND_SIZE;
		decoder->has_address_size |= decoder->code[decoder->at] == ADDRESS_SIZE;
	}
	if (decoder->at < decoder->n && (decoder->code[decoder->at] & 0xf0) == REX)
		decoder->rex = decoder->code[decoder->at++];
}

/* Passes the prefix of vector instructions, and says which map its opcode is of. */
static enum opcode_map take_vector_prefix(struct instruction_decoder *decoder)
{
	const uint8_t *at = decoder->code + decoder->at;
	size_t n = decoder->n - decoder->at;
	enum opcode_map map = MAP_NONE;

	if (n > 2 && *at == VEX_2) {
		decoder->at += 2;
		return MAP_1;
	}
	if (n > 3 && *at == VEX_3) {
		map = at[1] & 0x1f;
		decoder->at += 3;
	} else if (n > EVEX_SIZE && *at == EVEX) {
		map = at[1] & 7;
		decoder->at += EVEX_SIZE;
	}
	return map <= MAP_3 ? map : MAP_NONE;
}

/* Bytes of what a ModR/M byte says that follows: a SIB byte, and a displacement. */
static bool take_modrm(struct instruction_decoder *decoder, struct x86_instruction *ret)
{
	uint8_t modrm, mode, base;

	if (decoder->at >= decoder->n)
		return false;
	ret->modrm = decoder->at;
	modrm = decoder->code[decoder->at++];
	mode = modrm >> 6;
	base = modrm & 7;
	if (mode == 3)
		return true;
	if (base == 4) {
		if (decoder->at >= decoder->n)
			return false;
		base = decoder->code[decoder->at++] & 7;
	}
	if (mode == 1)
		ret->displacement_size = 1;
	else if (mode == 2 || base == 5)
		ret->displacement_size = 4;
	if (ret->displacement_size)
		ret->displacement = decoder->at;
	decoder->at += ret->displacement_size;
	return true;
}

/* The opcode, and what follows it. */
static struct instruction_operands take_opcode(struct instruction_decoder *decoder,
					       struct x86_instruction *ret)
{
	const uint8_t *at = decoder->code + decoder->at;
	size_t n = decoder->n - decoder->at;
	enum opcode_map map;

	ret->opcode = decoder->at;
	if (*at == VEX_2 || *at == VEX_3 || *at == EVEX) {
		ret->is_vector = true;
		map = take_vector_prefix(decoder);
		ret->opcode = decoder->at++;
		return decoder->at > decoder->n ? invalid
						: of_map(map, decoder->code[ret->opcode], true);
	}
	decoder->at++;
	if (*at != TWO_BYTES)
		return one_byte(decoder, *at, decoder->has_operand_size ? 2 : 4, n > 1 ? at[1] : 0);
	if (n > 2 && (at[1] == MAP_38 || at[1] == MAP_3A)) {
		decoder->at += 2;
		return of_map(at[1] == MAP_38 ? MAP_2 : MAP_3, at[2], false);
	}
	decoder->at++;
	return n > 1 ? of_map(MAP_1, at[1], false) : invalid;
}

size_t instruction_x86_64(const uint8_t *code, size_t n, struct x86_instruction *ret)
{
	struct instruction_decoder decoder = { .code = code, .n = n < SIZE_MAX_ ? n : SIZE_MAX_ };
	struct instruction_operands operands;

	*ret = (struct x86_instruction){ 0 };
	take_prefixes(&decoder);
	if (decoder.at >= decoder.n)
		return 0;
	ret->rex = decoder.rex;
	operands = take_opcode(&decoder, ret);
	if (!operands.is_valid || (operands.has_modrm && !take_modrm(&decoder, ret)))
		return 0;
	decoder.at += operands.immediate;
	if (decoder.at > decoder.n)
		return 0;
	ret->size = decoder.at;
	return ret->size;
}
