/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares tables with libdw's interpretation of the call frames of real files, for any supported
 * architecture, both ways: a rule where libdw's operations have a supported form, FALLBACK where
 * they do not, no rule where libdw has none.
 *
 * test-unwind-libdw FILE...
 *
 * Missing files are skipped. The libraries that this test is linked with are checked in addition.
 */
#include <dwarf.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <elfutils/libdw.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/unwind/unwind-source.h"

enum {
	FILES_MAX = 64,
	ROWS_MAX = 20000, /* rows compared; of a larger table every nth one */
	COMPLAINTS_MAX = 10,
	GAP_MAX = 4096, /* bytes without a rule that are searched, … */
	GAP_STEP = 16,	/* … in steps, for beginnings of functions */
};

/* A file, its table, and libdw's data. */
struct checked {
	int fd;
	struct elf_image image;
	struct unwind_bytes bytes;
	struct unwind_table table;
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_CFI *eh_frame, *debug_frame; /* either may be NULL */
	size_t n_places, n_wrong;
	size_t n_cfa[UNWIND_CFA_FALLBACK + 1], n_none; /* rules compared, by kind of CFA */
};

/* elf_image_open() accepts only the host's architecture; what a table needs is the same on all. */
static void open_image(int fd, Elf *elf, struct elf_image *ret)
{
	size_t n;

	assert_int_equal(elf_getphdrnum(elf, &n), 0);
	*ret = (struct elf_image){ .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0), .elf = elf };
	ret->segments = calloc(n, sizeof(*ret->segments));
	assert_non_null(ret->segments);
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr header;

		assert_non_null(gelf_getphdr(elf, i, &header));
		if (header.p_type == PT_LOAD)
			ret->segments[ret->n_segments++] = (struct elf_segment){
				.offset = header.p_offset,
				.size = header.p_filesz,
				.address = header.p_vaddr,
				.is_executable = header.p_flags & PF_X,
			};
	}
}

/* Compiles a table from libelf's view, as the unwinder does. */
static void compile(int fd, Elf *elf, struct elf_image *image, struct unwind_bytes *bytes,
		    struct unwind_table *ret)
{
	assert_non_null(elf);
	open_image(fd, elf, image);
	assert_int_equal(unwind_bytes_read(image, bytes), 0);
	assert_int_equal(unwind_table_compile(&bytes->source, ret), 0);
}

/* libdw gets its own Elf, because it decompresses sections in place. */
static void checked_init(struct checked *checked, int fd)
{
	*checked = (struct checked){ .fd = fd };
	elf_version(EV_CURRENT);
	compile(fd, elf_begin(fd, ELF_C_READ, NULL), &checked->image, &checked->bytes,
		&checked->table);
	checked->elf = elf_begin(fd, ELF_C_READ, NULL);
	checked->dwarf = dwarf_begin_elf(checked->elf, DWARF_C_READ, NULL);
	checked->eh_frame = dwarf_getcfi_elf(checked->elf);
	checked->debug_frame = checked->dwarf ? dwarf_getcfi(checked->dwarf) : NULL;
}

static void checked_deinit(struct checked *checked)
{
	dwarf_cfi_end(checked->eh_frame);
	dwarf_end(checked->dwarf);
	elf_end(checked->elf);
	unwind_table_deinit(&checked->table);
	unwind_bytes_deinit(&checked->bytes);
	elf_image_close(&checked->image);
	close(checked->fd);
}

/* Stores an offset in the 32 bits of a rule; false if it does not fit. */
static bool take_offset(Dwarf_Word number, int32_t *ret)
{
	*ret = number;
	return (int64_t)number == *ret;
}

static bool is_plt(const Dwarf_Op *ops, size_t n)
{
	static const uint8_t atoms[] = { DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, 0,
					 DW_OP_ge,    DW_OP_lit3,   DW_OP_shl,	 DW_OP_plus };

	if (n != sizeof(atoms) || ops[1].number != 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (i != 4 && ops[i].atom != atoms[i])
			return false;
	return ops[4].atom >= DW_OP_lit0 && ops[4].atom <= DW_OP_lit15;
}

/* Converts libdw's CFA operations to the only form that they match, else FALLBACK. */
static void check_cfa(const struct unwind_arch *arch, const Dwarf_Op *ops, size_t n,
		      struct unwind_rule *rule)
{
	rule->cfa = UNWIND_CFA_FALLBACK;
	if (n == 1 && ops[0].atom == DW_OP_bregx &&
	    take_offset(ops[0].number2, &rule->cfa_offset) && ops[0].number <= UINT8_MAX) {
		rule->cfa = ops[0].number == arch->base->sp   ? UNWIND_CFA_SP
			    : ops[0].number == arch->base->fp ? UNWIND_CFA_FP
							      : UNWIND_CFA_REGISTER;
		rule->cfa_register = rule->cfa == UNWIND_CFA_REGISTER ? ops[0].number : 0;
	} else if (is_plt(ops, n) && take_offset(ops[0].number, &rule->cfa_offset)) {
		rule->cfa = UNWIND_CFA_PLT;
		rule->cfa_register = ops[4].atom - DW_OP_lit0;
	} else if ((n == 2 || (n == 3 && ops[2].atom == DW_OP_plus_uconst &&
			       take_offset(ops[2].number, &rule->cfa_addend))) &&
		   ops[1].atom == DW_OP_deref && take_offset(ops[0].number, &rule->cfa_offset)) {
		if (ops[0].atom == DW_OP_breg0 + arch->base->sp)
			rule->cfa = UNWIND_CFA_AT_SP;
		if (ops[0].atom == DW_OP_breg0 + arch->base->fp)
			rule->cfa = UNWIND_CFA_AT_FP;
	}
}

/* The same for a register; `ops` is NULL if it is unchanged. */
static enum unwind_value check_value(const struct unwind_arch *arch, const Dwarf_Op *ops, size_t n,
				     int32_t *ret_offset)
{
	*ret_offset = 0;
	if (n == 0)
		return ops ? UNWIND_VALUE_UNDEFINED : UNWIND_VALUE_SAME;
	if (n == 1 && ops[0].atom == DW_OP_regx && take_offset(ops[0].number, ret_offset))
		return UNWIND_VALUE_REGISTER;
	if (ops[0].atom != DW_OP_call_frame_cfa || n > 2)
		return UNWIND_VALUE_FALLBACK;
	if (n == 1)
		return UNWIND_VALUE_AT_CFA;
	if (!take_offset(ops[1].number, ret_offset))
		return UNWIND_VALUE_FALLBACK;
	if (ops[1].atom == DW_OP_plus_uconst)
		return UNWIND_VALUE_AT_CFA;
	if (ops[1].atom == DW_OP_breg0 + arch->base->sp)
		return UNWIND_VALUE_AT_SP;
	if (ops[1].atom == DW_OP_breg0 + arch->base->fp)
		return UNWIND_VALUE_AT_FP;
	return UNWIND_VALUE_FALLBACK;
}

/* Whether the stack pointer's rule is unspecified, the CFA, or a load of the CFA's word. */
static bool is_sp_the_cfa(const struct unwind_arch *arch, const Dwarf_Op *ops, size_t n,
			  const struct unwind_rule *rule)
{
	int32_t offset;

	if (n == 0)
		return !ops;
	if (n == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_stack_value)
		return true;
	return check_value(arch, ops, n, &offset) == UNWIND_VALUE_AT_SP &&
	       rule->cfa == UNWIND_CFA_AT_SP && rule->cfa_addend == 0 && rule->cfa_offset == offset;
}

/* The rule that a table should have for libdw's frame. */
static void check_frame(const struct unwind_arch *arch, Dwarf_Frame *frame, struct unwind_rule *ret)
{
	Dwarf_Op memory[3], *ops;
	int32_t offset;
	bool is_signal_frame;
	int return_address = dwarf_frame_info(frame, NULL, NULL, &is_signal_frame);
	size_t n;

	*ret = (struct unwind_rule){ .flags = is_signal_frame ? UNWIND_FLAG_SIGNAL : 0 };
	if (dwarf_frame_cfa(frame, &ops, &n) < 0) { /* e.g. a register change after an expression */
		ret->cfa = UNWIND_CFA_FALLBACK;
		return;
	}
	check_cfa(arch, ops, n, ret);
	assert_int_equal(dwarf_frame_register(frame, return_address, memory, &ops, &n), 0);
	ret->return_address = check_value(arch, ops, n, &offset);
	ret->return_address_offset = offset;
	/* libdw's default is not valid for another return address column. */
	if (return_address != arch->base->return_address && n == 0)
		ret->return_address = UNWIND_VALUE_FALLBACK;
	assert_int_equal(dwarf_frame_register(frame, arch->base->fp, memory, &ops, &n), 0);
	ret->fp = check_value(arch, ops, n, &offset);
	ret->fp_offset = offset;
	assert_int_equal(dwarf_frame_register(frame, arch->base->sp, memory, &ops, &n), 0);
	if (!is_sp_the_cfa(arch, ops, n, ret))
		ret->cfa = UNWIND_CFA_FALLBACK;
}

/* The rule that should hold at an address; false if none. */
static bool check_address(const struct checked *checked, uint64_t address, struct unwind_rule *ret)
{
	Dwarf_CFI *sections[] = { checked->eh_frame, checked->debug_frame };

	for (size_t i = 0; i < 2; i++) {
		Dwarf_Frame *frame;

		if (!sections[i])
			continue;
		if (dwarf_cfi_addrframe(sections[i], address, &frame) == 0) {
			check_frame(checked->bytes.source.arch, frame, ret);
			free(frame);
			return true;
		}
		if (strcmp(dwarf_errmsg(-1), "no matching address range")) {
			*ret = (struct unwind_rule){ .cfa = UNWIND_CFA_FALLBACK };
			return true;
		}
	}
	return false;
}

static bool is_same(const struct unwind_rule *rule, const struct unwind_rule *other)
{
	if (rule->cfa == UNWIND_CFA_FALLBACK) /* the other fields are unused */
		return other->cfa == UNWIND_CFA_FALLBACK;
	if (rule->cfa != other->cfa || rule->cfa_register != other->cfa_register ||
	    rule->cfa_offset != other->cfa_offset || rule->cfa_addend != other->cfa_addend ||
	    rule->flags != other->flags || rule->return_address != other->return_address ||
	    rule->fp != other->fp)
		return false;
	return (rule->return_address == UNWIND_VALUE_FALLBACK ||
		rule->return_address_offset == other->return_address_offset) &&
	       (rule->fp == UNWIND_VALUE_FALLBACK || rule->fp_offset == other->fp_offset);
}

/* The CFI puts the frame pointer's slot below the stack pointer, since the code popped it. */
static bool is_below(const struct unwind_rule *rule)
{
	return rule->cfa == UNWIND_CFA_SP && rule->fp == UNWIND_VALUE_AT_CFA &&
	       rule->cfa_offset + rule->fp_offset < 0;
}

/*
 * Whether the rules differ only in inference: the frame pointer was popped, or its location is lost
 * while an exception handler is being installed.
 */
static bool is_inferred(const struct unwind_rule *rule, const struct unwind_rule *other)
{
	struct unwind_rule inferred = *other;

	if (!(rule->flags & UNWIND_FLAG_INFERRED))
		return false;
	if (rule->cfa == UNWIND_CFA_LOST)
		return other->fp == UNWIND_VALUE_AT_CFA;
	if (!is_below(other) && other->fp != UNWIND_VALUE_AT_FP)
		return false;
	inferred.fp = UNWIND_VALUE_SAME;
	inferred.fp_offset = 0;
	inferred.flags |= UNWIND_FLAG_INFERRED;
	return is_same(rule, &inferred);
}

static void print_rule(const char *who, const struct unwind_rule *rule)
{
	if (!rule)
		print_error("  %s: none\n", who);
	else
		print_error("  %s: cfa %d register %d offset %d addend %d, return address %d %d, "
			    "fp %d %d, flags %u\n",
			    who, rule->cfa, rule->cfa_register, rule->cfa_offset, rule->cfa_addend,
			    rule->return_address, rule->return_address_offset, rule->fp,
			    rule->fp_offset, rule->flags);
}

/* The linked address of code at an offset. */
static bool find_address(const struct checked *checked, uint64_t offset, uint64_t *ret)
{
	const struct unwind_source *source = &checked->bytes.source;

	for (size_t i = 0; i < source->n_segments; i++)
		if (offset - source->segments[i].offset < source->segments[i].size) {
			*ret = source->segments[i].address + offset - source->segments[i].offset;
			return true;
		}
	return false;
}

/* Rules of a PLT without CFI come from its code, which libdw does not read. */
static bool is_of_plt(const struct checked *checked, uint64_t address,
		      const struct unwind_rule *rule)
{
	const struct unwind_source *source = &checked->bytes.source;

	for (size_t i = 0; i < source->n_plts; i++)
		if (address - source->plts[i].address < source->plts[i].size)
			return rule->flags & UNWIND_FLAG_INFERRED;
	return false;
}

static void check_place(struct checked *checked, uint64_t offset)
{
	const struct unwind_rule *rule = unwind_table_find(&checked->table, offset);
	struct unwind_rule expected;
	uint64_t address = 0;
	bool is_known = find_address(checked, offset, &address) &&
			check_address(checked, address, &expected);

	checked->n_places++;
	if (rule)
		checked->n_cfa[rule->cfa]++;
	else
		checked->n_none++;
	if (rule ? is_known && (is_same(&expected, rule) || is_inferred(rule, &expected))
		 : !is_known)
		return;
	if (rule && !is_known && is_of_plt(checked, address, rule))
		return;
	if (checked->n_wrong++ >= COMPLAINTS_MAX)
		return;
	print_error("address 0x%" PRIx64 ", offset 0x%" PRIx64 ":\n", address, offset);
	print_rule("table", rule);
	print_rule("libdw", is_known ? &expected : NULL);
}

/* A missed FDE leaves no row, so places without a rule are compared as well. */
static void check_gap(struct checked *checked, uint64_t from, uint64_t to)
{
	for (uint64_t offset = from; offset < to && offset - from < GAP_MAX; offset += GAP_STEP)
		check_place(checked, offset);
}

static uint64_t row_offset(const struct unwind_table *table, uint32_t page, uint32_t row)
{
	return (table->header->first_page + page) * UNWIND_PAGE_SIZE + table->lows[row];
}

/* Compares at each row's start and at the addresses before and after it. */
static void check_rows(struct checked *checked)
{
	const struct unwind_table *table = &checked->table;
	uint32_t stride = table->header->n_rows / ROWS_MAX + 1;

	for (uint32_t page = 0; page < table->header->n_pages; page++)
		for (uint32_t row = table->pages[page]; row < table->pages[page + 1]; row++) {
			uint64_t offset = row_offset(table, page, row);

			if (row % stride)
				continue;
			check_place(checked, offset - 1);
			check_place(checked, offset);
			check_place(checked, offset + 1);
			if (table->which[row] == UNWIND_RULE_NONE &&
			    row + 1 < table->pages[page + 1])
				check_gap(checked, offset, row_offset(table, page, row + 1));
		}
}

static void test_rules_match_libdw(void **state)
{
	const char *path = *state;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(checked_deinit) struct checked checked = { .fd = -1 };

	if (fd < 0)
		skip();
	checked_init(&checked, fd);
	check_rows(&checked);
	print_message(
		"%s: rows %u, rules %u, refused %u; places %zu: sp %zu, fp %zu, register %zu, "
		"at sp %zu, at fp %zu, plt %zu, fallback %zu, none %zu; wrong %zu\n",
		path, checked.table.header->n_rows, checked.table.header->n_rules,
		checked.table.header->n_refused, checked.n_places, checked.n_cfa[UNWIND_CFA_SP],
		checked.n_cfa[UNWIND_CFA_FP], checked.n_cfa[UNWIND_CFA_REGISTER],
		checked.n_cfa[UNWIND_CFA_AT_SP], checked.n_cfa[UNWIND_CFA_AT_FP],
		checked.n_cfa[UNWIND_CFA_PLT], checked.n_cfa[UNWIND_CFA_FALLBACK], checked.n_none,
		checked.n_wrong);
	assert_int_equal(checked.n_wrong, 0);
	assert_int_equal(checked.table.header->n_refused, 0);
	/* Rules exist, and libdw has some of them, too. */
	assert_true(checked.n_places > checked.n_none);
}

struct paths {
	const char *list[FILES_MAX];
	size_t n;
};

static void add_path(struct paths *paths, const char *path)
{
	if (paths->n < FILES_MAX)
		paths->list[paths->n++] = path;
}

/* The loader's names stay valid. */
static int add_loaded(struct dl_phdr_info *info, size_t size, void *arg)
{
	if (info->dlpi_name[0] == '/')
		add_path(arg, info->dlpi_name);
	return 0;
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[FILES_MAX] = { 0 }; /* entries without a name are skipped */
	struct paths paths = { { "/proc/self/exe" }, 1 };

	dl_iterate_phdr(add_loaded, &paths);
	for (int i = 1; i < argc; i++)
		add_path(&paths, argv[i]);
	for (size_t i = 0; i < paths.n; i++)
		tests[i] = (struct CMUnitTest){ .name = paths.list[i],
						.test_func = test_rules_match_libdw,
						.initial_state = (void *)paths.list[i] };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
