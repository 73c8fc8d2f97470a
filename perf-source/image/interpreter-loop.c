/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/binary-search.h"
#include "common/base/cleanup.h"
#include "common/elf/cfi.h"
#include "common/elf/elf-section.h"
#include "perf-source/image/interpreter-loop.h"

enum {
	LOOP_MAX = 1 << 20, /* bytes */
	JUMPS_MIN = 8,	    /* into the middle of a part; bytes may look like a jump by chance */
	JMP = 0xe9,
	TWO_BYTES = 0x0f,
	JCC = 0x80,
	JCC_MASK = 0xf0,
	/* FF /4: a jump to where memory leads, unless all bits of the operand's form are set. */
	JMP_INDIRECT = 0xff,
	MODRM_CODE = 0x38,
	JMP_NEAR = 0x20,
	JMP_REGISTER = 0xe0,
	MODRM_FORM = 0xc0,
	FORM_FAR = 0x80, /* a distance of four bytes, as to a table of functions */
	MODRM_BASE = 0x07,
	BASE_AND_INDEX = 0x04, /* as in a table of jumps */
	BY_8 = 3,	       /* scale of the index, as a power of two */
	FROM_INSTRUCTION = 0x25,
	PADDING = 0x66,		  /* behind a jump back, whose distance ends with FF */
	THREADED_LOOP_MIN = 8192, /* bytes */
	THREADED_JUMPS_MIN = 32,
};

/* Where jumps out of the loop's code lead. */
struct jumps {
	const struct cfi *cfi;
	uint32_t *n; /* into the middle of each description */
	uint64_t from, to;
};

/* The description that has an address, but does not begin there; `n`: none. */
static size_t find_around(const struct cfi *cfi, uint64_t address)
{
	size_t low = BINARY_SEARCH(i, 0, cfi->n, cfi->list[i].start < address);

	return low && address < cfi->list[low - 1].end ? low - 1 : cfi->n;
}

static void count_jump(struct jumps *jumps, uint64_t target)
{
	size_t i = find_around(jumps->cfi, target);

	if ((target < jumps->from || target >= jumps->to) && i < jumps->cfi->n)
		jumps->n[i]++;
}

/* Any four bytes behind the code of a jump are taken for its distance. */
static void count_jumps(struct jumps *jumps, const uint8_t *code, size_t size)
{
	for (size_t i = 0; i + 2 + sizeof(int32_t) <= size; i++) {
		bool is_jcc = code[i] == TWO_BYTES && (code[i + 1] & JCC_MASK) == JCC;
		size_t at = i + 1 + is_jcc;
		int32_t distance;

		if (!is_jcc && code[i] != JMP)
			continue;
		memcpy(&distance, code + at, sizeof(distance));
		count_jump(jumps, jumps->from + at + sizeof(distance) + distance);
	}
}

/*
 * The part of the loop that lies elsewhere: the code into whose middle the loop jumps most often.
 * Other functions are entered at their begin.
 */
static void find_other_part(struct jumps *jumps, struct interpreter_loop *ret)
{
	size_t most = 0;

	for (size_t i = 0; i < jumps->cfi->n; i++)
		if (jumps->n[i] > jumps->n[most])
			most = i;
	if (!jumps->cfi->n || jumps->n[most] < JUMPS_MIN)
		return;
	ret->parts[1].from = jumps->cfi->list[most].start;
	ret->parts[1].to = jumps->cfi->list[most].end;
}

static void look_at_jumps(const struct loaded_image *image, const struct cfi *cfi,
			  struct interpreter_loop *ret)
{
	size_t size = ret->parts[0].to - ret->parts[0].from;
	_cleanup_free_ uint8_t *code = malloc(size);
	_cleanup_free_ uint32_t *n = calloc(cfi->n + 1, sizeof(*n));
	struct jumps jumps = { cfi, n, ret->parts[0].from, ret->parts[0].to };

	if (!code || !n || !loaded_image_read(image, jumps.from, code, size))
		return;
	count_jumps(&jumps, code, size);
	find_other_part(&jumps, ret);
}

/* False: the image describes no functions. */
static bool read_cfi(const struct loaded_image *image, struct cfi *ret)
{
	struct elf_section section = elf_section_before_first(image->elf->elf);
	struct cfi_section bytes = { .kind = CFI_EH_FRAME };

	while (elf_section_next(&section)) {
		const Elf_Data *data =
			!strcmp(section.name, ".eh_frame") ? elf_section_read(&section) : NULL;

		if (!data)
			continue;
		bytes.bytes = data->d_buf;
		bytes.size = data->d_size;
		bytes.address = section.header.sh_addr;
		return cfi_read(&bytes, ret) == 0;
	}
	return false;
}

bool interpreter_loop_find(const struct loaded_image *image, const char *name,
			   struct interpreter_loop *ret)
{
	_cleanup_(cfi_deinit) struct cfi cfi = { 0 };
	GElf_Sym function;

	*ret = (struct interpreter_loop){ 0 };
	if (!loaded_image_find_symbol(image, name, &function) || !function.st_size ||
	    function.st_size > LOOP_MAX)
		return false;
	ret->parts[0].from = function.st_value;
	ret->parts[0].to = function.st_value + function.st_size;
	if (read_cfi(image, &cfi))
		look_at_jumps(image, &cfi, ret);
	return true;
}

bool interpreter_loop_find_at(const struct loaded_image *image, uint64_t begin,
			      struct interpreter_loop *ret)
{
	_cleanup_(cfi_deinit) struct cfi cfi = { 0 };
	size_t i;

	*ret = (struct interpreter_loop){ 0 };
	if (!read_cfi(image, &cfi))
		return false;
	i = BINARY_SEARCH(at, 0, cfi.n, cfi.list[at].start < begin);
	if (i == cfi.n || cfi.list[i].start != begin)
		return false;
	ret->parts[0].from = begin;
	ret->parts[0].to = cfi.list[i].end;
	return true;
}

/* The code of a function that may be a loop by its size, to be freed. NULL: it is not to be had. */
static uint8_t *read_large(const struct loaded_image *image, uint64_t from, uint64_t size)
{
	_cleanup_free_ uint8_t *code = NULL;

	if (size < THREADED_LOOP_MIN || size > LOOP_MAX)
		return NULL;
	code = malloc(size);
	if (!code || !loaded_image_read(image, from, code, size))
		return NULL;
	return take_pointer(code);
}

/*
 * Jumps to where a register, and a distance of a byte or none, lead: `jmp *8(%rbp)`. Of bytes that
 * look like one by chance few functions have more than some.
 */
static uint32_t count_threaded_jumps(const uint8_t *code, size_t size)
{
	uint32_t n = 0;

	for (size_t i = 1; i + 1 < size; i++)
		n += code[i] == JMP_INDIRECT && code[i - 1] != JMP_INDIRECT &&
		     (code[i + 1] & MODRM_CODE) == JMP_NEAR &&
		     (code[i + 1] & MODRM_FORM) < FORM_FAR &&
		     (code[i + 1] & MODRM_BASE) != BASE_AND_INDEX &&
		     code[i + 1] != FROM_INSTRUCTION && code[i + 1] != PADDING;
	return n;
}

/* An instruction that is counted; NULL: threaded jumps are. */
struct counted {
	const uint8_t *instruction;
	size_t size;
};

static uint32_t count(const struct counted *counted, const uint8_t *code, size_t size)
{
	const uint8_t *at = code, *end = code + size;
	uint32_t n = 0;

	if (!counted->instruction)
		return count_threaded_jumps(code, size);
	while ((at = memmem(at, end - at, counted->instruction, counted->size))) {
		at += counted->size;
		n++;
	}
	return n;
}

/* The function that has most of what is counted. False: none has many. */
static bool find_most(const struct loaded_image *image, const struct cfi *cfi,
		      const struct counted *counted, struct interpreter_loop *ret)
{
	uint32_t n, most = THREADED_JUMPS_MIN - 1;

	for (size_t i = 0; i < cfi->n; i++) {
		uint64_t from = cfi->list[i].start, size = cfi->list[i].end - from;
		_cleanup_free_ uint8_t *code = read_large(image, from, size);

		n = code ? count(counted, code, size) : 0;
		if (n <= most)
			continue;
		most = n;
		ret->parts[0].from = from;
		ret->parts[0].to = from + size;
	}
	return ret->parts[0].to;
}

bool interpreter_loop_find_threaded(const struct loaded_image *image, struct interpreter_loop *ret)
{
	_cleanup_(cfi_deinit) struct cfi cfi = { 0 };

	*ret = (struct interpreter_loop){ 0 };
	if (!read_cfi(image, &cfi) || !find_most(image, &cfi, &(struct counted){ 0 }, ret))
		return false;
	look_at_jumps(image, &cfi, ret);
	return true;
}

bool interpreter_loop_find_repeating(const struct loaded_image *image, const uint8_t *instruction,
				     size_t size, struct interpreter_loop *ret)
{
	_cleanup_(cfi_deinit) struct cfi cfi = { 0 };

	*ret = (struct interpreter_loop){ 0 };
	return read_cfi(image, &cfi) &&
	       find_most(image, &cfi, &(struct counted){ instruction, size }, ret);
}

/* `jmp *%rax`, and other registers; or `jmp *(%r12,%rax,8)`. */
static bool has_table_jump(const uint8_t *code, size_t size)
{
	for (size_t i = 0; i + 2 < size; i++)
		if (code[i] == JMP_INDIRECT &&
		    ((code[i + 1] & ~MODRM_BASE) == JMP_REGISTER ||
		     (code[i + 1] == (JMP_NEAR | BASE_AND_INDEX) && code[i + 2] >> 6 == BY_8)))
			return true;
	return false;
}

bool interpreter_loop_find_large(const struct loaded_image *image, struct interpreter_loop *ret)
{
	_cleanup_(cfi_deinit) struct cfi cfi = { 0 };
	size_t n = 0;

	*ret = (struct interpreter_loop){ 0 };
	if (!read_cfi(image, &cfi))
		return false;
	for (size_t i = 0; i < cfi.n; i++) {
		uint64_t from = cfi.list[i].start, size = cfi.list[i].end - from;
		_cleanup_free_ uint8_t *code = read_large(image, from, size);

		if (!code || !has_table_jump(code, size))
			continue;
		n++;
		ret->parts[0].from = from;
		ret->parts[0].to = from + size;
	}
	if (n != 1)
		return false;
	look_at_jumps(image, &cfi, ret);
	return true;
}

void interpreter_loop_describe(const struct interpreter_loop *loop, uint64_t bias, char *text,
			       size_t size)
{
	bool is_split = loop->parts[1].to;
	size_t used = strlen(text);

	snprintf(text + used, size - used,
		 " loop.from=%" PRIu64 " loop.to=%" PRIu64 " loop.other.from=%" PRIu64
		 " loop.other.to=%" PRIu64,
		 bias + loop->parts[0].from, bias + loop->parts[0].to,
		 is_split ? bias + loop->parts[1].from : 0,
		 is_split ? bias + loop->parts[1].to : 0);
}
