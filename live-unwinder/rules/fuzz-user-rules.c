/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile files of user rules. Each input is parsed for every architecture, and its rules are
 * looked up in a file with odd segments, as a damaged one may have.
 */
#include "common/base/cleanup.h"
#include "live-unwinder/rules/user-rules.h"
#include "tests/fuzz/fuzz.h"

#define _cleanup_user_rules_ _cleanup_(user_rules_deinit)

/* Adjacent, with a gap, the same bytes twice, the same address twice, without end. */
static struct elf_segment segments[] = {
	{ .offset = 0, .size = 0x1000, .address = 0 },
	{ .offset = 0x4000, .size = 0x1000, .address = 0x1000 },
	{ .offset = 0x2000, .size = 0x800, .address = 0x3000 },
	{ .offset = 0x2400, .size = 0x800, .address = 0x4000 },
	{ .offset = 0x8000, .size = 0x1000, .address = 0x4400 },
	{ .offset = 0x100000, .size = UINT64_MAX - 0x100000, .address = 0x10000 },
	{ .offset = UINT64_MAX - 0x10, .size = 0x100, .address = 0x8000 },
};
static const struct elf_image file = {
	.fd = -1,
	.segments = segments,
	.n_segments = sizeof(segments) / sizeof(segments[0]),
};

/* The text of a rule: an id of 64 bytes, two addresses and the rule. */
enum { LINE_MAX = 512 };

static const char *name_of(const struct unwind_arch *arch, uint8_t number)
{
	for (const struct arch_register *each = arch->base->names; each->name; each++)
		if (each->number == number)
			return each->name;
	fuzz_fail(__FILE__, __LINE__, "a register has a name");
}

static int print_cfa(const struct unwind_arch *arch, const struct unwind_rule *rule, char *ret)
{
	switch (rule->cfa) {
	case UNWIND_CFA_SP:
		return sprintf(ret, "cfa=sp%+d", rule->cfa_offset);
	case UNWIND_CFA_FP:
		return sprintf(ret, "cfa=fp%+d", rule->cfa_offset);
	case UNWIND_CFA_REGISTER:
		return sprintf(ret, "cfa=%s%+d", name_of(arch, rule->cfa_register),
			       rule->cfa_offset);
	case UNWIND_CFA_AT_SP:
		return sprintf(ret, "cfa=*(sp%+d)%+d", rule->cfa_offset, rule->cfa_addend);
	case UNWIND_CFA_AT_FP:
		return sprintf(ret, "cfa=*(fp%+d)%+d", rule->cfa_offset, rule->cfa_addend);
	default:
		fuzz_fail(__FILE__, __LINE__, "a CFA is of a form that can be told");
	}
}

/* Prints where register `own` is found. */
static int print_place(const struct unwind_arch *arch, uint8_t own, uint8_t value, int32_t offset,
		       char *ret)
{
	switch (value) {
	case UNWIND_VALUE_SAME:
		return sprintf(ret, "%s", name_of(arch, own));
	case UNWIND_VALUE_UNDEFINED:
		return sprintf(ret, "undefined");
	case UNWIND_VALUE_AT_CFA:
		return sprintf(ret, "cfa%+d", offset);
	case UNWIND_VALUE_AT_SP:
		return sprintf(ret, "*(sp%+d)", offset);
	case UNWIND_VALUE_AT_FP:
		return sprintf(ret, "*(fp%+d)", offset);
	case UNWIND_VALUE_REGISTER:
		fuzz_check(offset >= 0 && offset != own);
		return sprintf(ret, "%s", name_of(arch, offset));
	default:
		fuzz_fail(__FILE__, __LINE__, "a value is of a form that can be told");
	}
}

static int print_rule(const struct unwind_arch *arch, const struct unwind_rule *rule, char *ret)
{
	char *at = ret;

	if (rule->return_address == UNWIND_VALUE_UNDEFINED) {
		at += sprintf(at, "end");
	} else {
		at += print_cfa(arch, rule, at);
		at += sprintf(at, " ra=");
		at += print_place(arch, arch->base->return_address, rule->return_address,
				  rule->return_address_offset, at);
		at += sprintf(at, " fp=");
		at += print_place(arch, arch->base->fp, rule->fp, rule->fp_offset, at);
	}
	fuzz_check((rule->flags & ~UNWIND_FLAG_SIGNAL) == 0);
	return at - ret + sprintf(at, "%s\n", rule->flags ? " signal" : "");
}

static size_t print_user_rule(const struct unwind_arch *arch, const struct user_rule *user_rule,
			      char *ret)
{
	char *at = ret;

	at += sprintf(at, "%s", user_rule->key == USER_RULE_BUILD_ID ? "build-id:" : "file-id:");
	for (size_t i = 0; i < user_rule->id_size; i++)
		at += sprintf(at, "%02x", user_rule->id[i]);
	at += sprintf(at, " 0x%llx-0x%llx ", (unsigned long long)user_rule->start,
		      (unsigned long long)user_rule->end);
	at += print_rule(arch, &user_rule->rule, at);
	fuzz_check(at - ret < LINE_MAX);
	return at - ret;
}

static void check_same(const struct user_rule *one, const struct user_rule *other)
{
	fuzz_check(one->key == other->key && one->id_size == other->id_size);
	fuzz_check(!memcmp(one->id, other->id, one->id_size));
	fuzz_check(one->start == other->start && one->end == other->end);
	fuzz_check(!memcmp(&one->rule, &other->rule, sizeof(one->rule)));
}

/* Printing and parsing again must give the same rules. */
static void check_round_trip(const struct unwind_arch *arch, const struct user_rules *user_rules)
{
	_cleanup_user_rules_ struct user_rules again = { 0 };
	char *text = malloc(user_rules->n * LINE_MAX + 1);
	struct user_rules_error error;
	size_t size = 0;

	fuzz_check(text);
	for (size_t i = 0; i < user_rules->n; i++)
		size += print_user_rule(arch, &user_rules->list[i], text + size);
	fuzz_check(user_rules_parse(arch, text, size, &again, &error) == USER_RULES_OK);
	fuzz_check(again.n == user_rules->n);
	for (size_t i = 0; i < again.n; i++)
		check_same(&user_rules->list[i], &again.list[i]);
}

static void check_order(const struct image_user_rules *image)
{
	for (size_t i = 0; i < image->n; i++) {
		const struct image_user_rule *here = &image->list[i];

		fuzz_check(here->start < here->end);
		fuzz_check(i == 0 || here->start >= here[-1].end);
		fuzz_check(image_user_rules_find(image, here->start) == &here->rule);
		fuzz_check(image_user_rules_find(image, here->end - 1) == &here->rule);
		fuzz_check(image_user_rules_find(image, here->end) != &here->rule);
	}
}

/* The last segment is left out of the file, because it extends past the largest offset. */
static void check_place(const struct image_user_rules *image, uint64_t address)
{
	const struct elf_image real = { -1, NULL, segments, file.n_segments - 1, 0, 0, 0 };
	uint64_t offset;

	if (elf_image_offset(&real, address, &offset))
		fuzz_check(image_user_rules_find(image, offset));
}

static void check_image(const struct user_rules *user_rules, const struct user_rule *user_rule)
{
	_cleanup_(image_user_rules_deinit) struct image_user_rules image = { 0 };
	bool has_build_id = user_rule->key == USER_RULE_BUILD_ID;
	const uint8_t *file_id = user_rule->id;

	if (has_build_id && user_rule->id_size != FILE_ID_SIZE)
		file_id = NULL;
	fuzz_check(user_rules_of_image(user_rules, &file, has_build_id ? user_rule->id : NULL,
				       has_build_id ? user_rule->id_size : 0, file_id,
				       &image) == 0);
	check_order(&image);
	check_place(&image, user_rule->start);
	check_place(&image, user_rule->start + (user_rule->end - user_rule->start) / 2);
	check_place(&image, user_rule->end - 1);
}

static void check_text(const struct unwind_arch *arch, const uint8_t *bytes, size_t size)
{
	_cleanup_user_rules_ struct user_rules user_rules = { 0 };
	struct fuzz_input input = { bytes, size };
	struct user_rules_error error = { 0 };
	size_t n_bytes;
	char *text = fuzz_take_block(&input, size, &n_bytes);
	int r = user_rules_parse(arch, text, n_bytes, &user_rules, &error);

	fuzz_check(r >= 0);
	if (r != USER_RULES_OK) {
		fuzz_check(error.line > 0 && error.line <= size && error.text);
		fuzz_check(error.other_line < error.line);
		fuzz_check((r == USER_RULES_E_OVERLAP) == (error.other_line > 0));
		return;
	}
	check_round_trip(arch, &user_rules);
	for (size_t i = 0; i < user_rules.n; i++)
		check_image(&user_rules, &user_rules.list[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	check_text(&unwind_x86_64, bytes, size);
	check_text(&unwind_aarch64, bytes, size);
	return 0;
}
