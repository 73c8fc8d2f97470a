/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: ELF files in memory whose functions have unwind information made by hand. */
#pragma once

#include <elf.h>

#include "common/arch/arch.h"
#include "common/elf/test-cfi-made.h"

enum {
	MADE_VADDR = 0x400000, /* of the first byte; differs from its offset */
	MADE_CODE = 0x1000,    /* offset of the first function */
	MADE_FUNCTION = 0x40,  /* bytes per function */
	MADE_FRAMES_MAX = 128, /* size limit of its FDEs */
	/* Offsets after the direct call, after the indirect call, and after no call. */
	MADE_BEHIND_CALL = 5,
	MADE_BEHIND_INDIRECT = 7,
	MADE_BEHIND_NONE = 16,
	MADE_BEHIND_LATE = 0x1a, /* in the second stub of a PLT */
};

/* call rel32; call *%rax; …; call *%rax */
static const uint8_t made_code[MADE_BEHIND_LATE] = {
	0xe8, 0, 0, 0, 0, 0xff, 0xd0, [MADE_BEHIND_LATE - 2] = 0xff, 0xd0
};

/* The code never runs, only its offsets matter; it is x86-64 code for every architecture. */
struct made_function {
	const uint8_t *program; /* appended to the CIE's, which describes function entry */
	size_t size;
	const char *augmentation; /* NULL: "zR" */
	bool has_no_description;
};

static inline size_t made_offset(size_t function)
{
	return MADE_CODE + function * MADE_FUNCTION;
}

/* One CIE and one FDE per function, so that functions are independent of each other. */
static inline void put_function(const struct arch *arch, struct made *frames,
				const struct made_function *function, size_t i)
{
	const uint8_t at_entry[] = { DW_CFA_def_cfa, arch->sp, arch->call_pushes,
				     DW_CFA_offset | arch->return_address, 1 };
	const uint8_t encoding = DW_EH_PE_pcrel | DW_EH_PE_sdata4;
	const struct made_common common = {
		.augmentation = function->augmentation ? function->augmentation : "zR",
		.encoding = encoding,
		.return_address = arch->return_address,
		.program = at_entry,
		.size = arch->call_pushes ? sizeof(at_entry) : 3,
	};

	if (function->has_no_description)
		return;
	put_description(frames, &(struct made_description){
					.common = put_common(frames, &common),
					.encoding = encoding,
					.start = MADE_VADDR + made_offset(i),
					.length = MADE_FUNCTION,
					NO_AUGMENTATION,
					.program = function->program,
					.size = function->size,
				});
}

/* .eh_frame of many functions, each made separately because a growing section is copied. */
static inline struct made made_frames(const struct arch *arch,
				      const struct made_function *functions, size_t n,
				      uint64_t address)
{
	struct made frames = { .kind = CFI_EH_FRAME, .address = address };

	frames.bytes = calloc(n + 1, MADE_FRAMES_MAX);
	assert_non_null(frames.bytes);
	for (size_t i = 0; i < n; i++) {
		struct made one = { .kind = CFI_EH_FRAME, .address = address + frames.n };

		put_function(arch, &one, &functions[i], i);
		assert_true(one.n <= MADE_FRAMES_MAX);
		if (one.n)
			memcpy(frames.bytes + frames.n, one.bytes, one.n);
		frames.n += one.n;
		made_deinit(&one);
	}
	frames.n += 4; /* terminator: an entry of length zero */
	return frames;
}

/* header | segment | functions | .eh_frame | names | sections: one executable segment. */
static inline struct made made_elf(const struct arch *arch, const struct made_function *functions,
				   size_t n, uint64_t entry)
{
	static const char names[] = "\0.eh_frame\0.shstrtab";
	const uint64_t frames_at = made_offset(n);
	struct made frames = made_frames(arch, functions, n, MADE_VADDR + frames_at);
	struct made elf = { 0 };
	uint64_t names_at, sections_at, size;

	names_at = frames_at + frames.n;
	sections_at = (names_at + sizeof(names) + 7) & ~7ULL;
	size = sections_at + 3 * sizeof(Elf64_Shdr);
	elf.bytes = calloc(1, size);
	elf.n = size;
	assert_non_null(elf.bytes);
	*(Elf64_Ehdr *)elf.bytes = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = arch->elf_machine,
		.e_version = EV_CURRENT,
		.e_entry = entry,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_shoff = sections_at,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	*(Elf64_Phdr *)(elf.bytes + sizeof(Elf64_Ehdr)) = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_vaddr = MADE_VADDR,
		.p_paddr = MADE_VADDR,
		.p_filesz = size,
		.p_memsz = size,
		.p_align = 0x1000,
	};
	for (size_t i = 0; i < n; i++)
		memcpy(elf.bytes + made_offset(i), made_code, sizeof(made_code));
	memcpy(elf.bytes + frames_at, frames.bytes, frames.n);
	memcpy(elf.bytes + names_at, names, sizeof(names));
	((Elf64_Shdr *)(elf.bytes + sections_at))[1] = (Elf64_Shdr){
		.sh_name = 1,
		.sh_type = SHT_PROGBITS,
		.sh_flags = SHF_ALLOC,
		.sh_addr = MADE_VADDR + frames_at,
		.sh_offset = frames_at,
		.sh_size = frames.n,
		.sh_addralign = 8,
	};
	((Elf64_Shdr *)(elf.bytes + sections_at))[2] = (Elf64_Shdr){
		.sh_name = 11,
		.sh_type = SHT_STRTAB,
		.sh_offset = names_at,
		.sh_size = sizeof(names),
		.sh_addralign = 1,
	};
	made_deinit(&frames);
	return elf;
}
