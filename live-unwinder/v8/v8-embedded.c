/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/elf/dynamic-symbol.h"
#include "live-unwinder/v8/v8-functions.h"

enum {
	GETTER_READ = 16, /* bytes of a function that returns an address or a number */
	/* Three hashes are in front of the table, of size_t each. */
	TABLE_AT = 24,
	ALIGNMENT = 64, /* of code, behind which there is at least one more byte */
	BEGIN_READ = 192,
};

/* struct LayoutDescription begins with offset and length: bytes of one, by version. */
static const size_t entry_sizes[] = {
	12,	/* since 11.4 */
	32, 28, /* 10.2 */
};

/* V8's code, and the table. */
struct embedded {
	uint64_t code, table; /* offsets in the file */
	uint32_t code_size, table_size;
};

static bool read_at(const struct elf_image *elf, uint64_t address, void *ret, size_t size)
{
	uint64_t offset;

	return elf_image_offset(elf, address, &offset) &&
	       pread(elf->fd, ret, size, offset) == (ssize_t)size;
}

/* What a function returns. */
enum result {
	RESULT_ADDRESS,
	RESULT_NUMBER,	/* that lies at an address, */
	RESULT_POINTER, /* or an address that lies there */
};

/* A function whose code is read. */
struct getter {
	uint64_t address;
	uint8_t code[GETTER_READ];
	size_t at; /* behind what was read */
	enum result result;
	uint64_t value;
};

/* The addend of a pointer that its loader relocates; 0: none has this address. */
static uint64_t find_relative(const struct elf_image *elf, uint64_t address)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Rela rela;

	while ((section = elf_nextscn(elf->elf, section))) {
		Elf_Data *data = gelf_getshdr(section, &header) && header.sh_type == SHT_RELA &&
						 header.sh_flags & SHF_ALLOC &&
						 header.sh_size <= V8_BUILTINS_SYMBOLS_MAX
					 ? elf_getdata(section, NULL)
					 : NULL;
		size_t n = data && header.sh_entsize ? data->d_size / header.sh_entsize : 0;

		for (size_t i = 0; i < n; i++)
			if (gelf_getrela(data, i, &rela) && rela.r_offset == address &&
			    GELF_R_TYPE(rela.r_info) == R_X86_64_RELATIVE)
				return rela.r_addend;
	}
	return 0;
}

/* Its first instruction has an operand of four bytes. False: it is another one. */
static bool take(struct getter *getter, const uint8_t *instruction, size_t size, int32_t *ret)
{
	if (memcmp(getter->code, instruction, size) != 0)
		return false;
	memcpy(ret, getter->code + size, sizeof(*ret));
	getter->at = size + sizeof(*ret);
	return true;
}

/* Goes on behind an instruction, if it is the next one. */
static bool skip(struct getter *getter, const uint8_t *instruction, size_t size)
{
	if (memcmp(getter->code + getter->at, instruction, size) != 0)
		return false;
	getter->at += size;
	return true;
}

/* Reads the code. False: it does something else. */
static bool follow(struct getter *getter)
{
	static const uint8_t lea[] = { 0x48, 0x8d, 0x05 };	    /* lea DISTANCE(%rip),%rax */
	static const uint8_t constant[] = { 0xb8 };		    /* mov $ADDRESS,%eax */
	static const uint8_t load[] = { 0x8b, 0x05 };		    /* mov DISTANCE(%rip),%eax */
	static const uint8_t load_pointer[] = { 0x48, 0x8b, 0x05 }; /* the same of eight bytes */
	static const uint8_t number[] = { 0x8b, 0x00 };		    /* mov (%rax),%eax */
	static const uint8_t pointer[] = { 0x48, 0x8b, 0x00 };	    /* mov (%rax),%rax */
	static const uint8_t return_code[] = { 0xc3 };
	int32_t operand;

	if (take(getter, load, sizeof(load), &operand) ||
	    take(getter, load_pointer, sizeof(load_pointer), &operand)) {
		getter->value = getter->address + getter->at + operand;
		getter->result = *getter->code == *load ? RESULT_NUMBER : RESULT_POINTER;
		return skip(getter, return_code, sizeof(return_code));
	}
	if (take(getter, lea, sizeof(lea), &operand))
		getter->value = getter->address + getter->at + operand;
	else if (take(getter, constant, sizeof(constant), &operand))
		getter->value = (uint32_t)operand;
	else
		return false;
	getter->result = RESULT_ADDRESS;
	if (skip(getter, number, sizeof(number)))
		getter->result = RESULT_NUMBER;
	else if (skip(getter, pointer, sizeof(pointer)))
		getter->result = RESULT_POINTER;
	return skip(getter, return_code, sizeof(return_code));
}

static bool read_getter(const struct elf_image *elf, const char *name, struct getter *ret)
{
	GElf_Sym function;

	if (!dynamic_symbol_find(elf->elf, name, &function))
		return false;
	ret->address = function.st_value;
	return read_at(elf, ret->address, ret->code, sizeof(ret->code)) && follow(ret);
}

/* The file offset of what a function returns the address of. */
static bool find_place(const struct elf_image *elf, const char *name, uint64_t *ret)
{
	struct getter getter;

	if (!read_getter(elf, name, &getter) || getter.result == RESULT_NUMBER)
		return false;
	if (getter.result == RESULT_POINTER) {
		uint64_t address = find_relative(elf, getter.value);

		if (!address && !read_at(elf, getter.value, &address, sizeof(address)))
			return false;
		getter.value = address;
	}
	return elf_image_offset(elf, getter.value, ret);
}

/* The number that a function returns. */
static bool find_number(const struct elf_image *elf, const char *name, uint32_t *ret)
{
	struct getter getter;

	return read_getter(elf, name, &getter) && getter.result == RESULT_NUMBER &&
	       read_at(elf, getter.value, ret, sizeof(*ret));
}

static bool find_embedded(const struct elf_image *elf, struct embedded *ret)
{
	return elf->machine == EM_X86_64 && elf->fd >= 0 &&
	       find_place(elf, "_ZN2v88internal23DefaultEmbeddedBlobCodeEv", &ret->code) &&
	       find_place(elf, "_ZN2v88internal23DefaultEmbeddedBlobDataEv", &ret->table) &&
	       find_number(elf, "_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv",
			   &ret->code_size) &&
	       find_number(elf, "_ZN2v88internal27DefaultEmbeddedBlobDataSizeEv",
			   &ret->table_size) &&
	       ret->table_size <= V8_BUILTINS_DATA_MAX;
}

/* The i-th entry; false: the table ends before it. */
static bool read_entry(const struct embedded *embedded, const uint8_t *table, size_t i, size_t size,
		       struct v8_function *ret)
{
	uint64_t at = TABLE_AT + i * size;
	uint32_t entry[2];

	if (at + size > embedded->table_size)
		return false;
	memcpy(entry, table + at, sizeof(entry));
	*ret = (struct v8_function){ entry[0], entry[1] };
	return true;
}

/* How many entries of a size describe all of the code; 0: they do not. */
static size_t count_entries(const struct embedded *embedded, const uint8_t *table, size_t size)
{
	struct v8_function function;
	uint64_t end = 0;
	size_t n = 0;

	while (end < embedded->code_size && n < V8_BUILTINS_MAX &&
	       read_entry(embedded, table, n, size, &function)) {
		if (function.offset != end || !function.size)
			return 0;
		end += (function.size + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
		n++;
	}
	return end == embedded->code_size ? n : 0;
}

/*
 * Whether a builtin takes its return address from the stack and makes a frame then, as what is
 * called before its caller has made one (BaselineOutOfLinePrologue, of which only symbols have the
 * name): `pop REGISTER; push %rbp; mov %rsp,%rbp`.
 */
static bool makes_frame_of_another(const struct elf_image *elf, const struct v8_function *function)
{
	static const uint8_t frame[] = { 0x55, 0x48, 0x89, 0xe5 };
	uint8_t code[BEGIN_READ];
	size_t size = function->size < sizeof(code) ? function->size : sizeof(code);
	ssize_t n = pread(elf->fd, code, size, function->offset);

	for (ssize_t i = 1; i + (ssize_t)sizeof(frame) <= n; i++)
		if ((code[i - 1] & ~7) == 0x58 && !memcmp(code + i, frame, sizeof(frame)))
			return true;
	return false;
}

static int add_all(struct v8_functions *functions, const struct elf_image *elf,
		   const struct embedded *embedded, const uint8_t *table, size_t entry_size)
{
	size_t n = count_entries(embedded, table, entry_size);
	struct v8_function function;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		read_entry(embedded, table, i, entry_size, &function);
		function.offset += embedded->code;
		if (!makes_frame_of_another(elf, &function))
			r = GROWING_LIST_ADD(functions->list, functions->n, function);
	}
	return r;
}

int v8_embedded_add(struct v8_functions *functions, const struct elf_image *elf)
{
	_cleanup_free_ uint8_t *table = NULL;
	struct embedded embedded;
	int r = 0;

	if (!find_embedded(elf, &embedded))
		return 0;
	table = malloc(embedded.table_size + 1);
	if (!table)
		return -ENOMEM;
	if (pread(elf->fd, table, embedded.table_size, embedded.table) !=
	    (ssize_t)embedded.table_size)
		return 0;
	for (size_t i = 0; i < sizeof(entry_sizes) / sizeof(*entry_sizes) && r == 0; i++)
		r = add_all(functions, elf, &embedded, table, entry_sizes[i]);
	return r;
}
