/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts and files of user rules are read as a whole or refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/wire/wire.h"
#include "live-unwinder/rules/test-user-rules.h"

static void assert_wrong(const char *text, enum user_rules_outcome outcome, size_t line)
{
	struct user_rules_error error = { .line = 99, .other_line = 99 };
	struct user_rules user_rules;

	if (parse_text(text, &user_rules, &error) != (int)outcome)
		fail_msg("'%s' has another outcome", text);
	assert_int_equal(error.line, line);
	assert_non_null(error.text);
	if (outcome != USER_RULES_E_OVERLAP)
		assert_int_equal(error.other_line, 0);
}

/* Parses one rule without special flags. */
static struct unwind_rule rule_on(const struct unwind_arch *arch, const char *text)
{
	struct user_rules_error error = { 0 };
	_cleanup_user_rules_ struct user_rules user_rules = { 0 };
	char line[256];
	int size = snprintf(line, sizeof(line), ID "0x10-0x20 %s", text);

	if (parse_bytes(arch, line, size, &user_rules, &error) != USER_RULES_OK)
		fail_msg("'%s': %s", text, error.text);
	assert_int_equal(user_rules.n, 1);
	return user_rules.list[0].rule;
}

static void assert_rule_on(const struct unwind_arch *arch, const char *text,
			   struct unwind_rule wanted)
{
	struct unwind_rule rule = rule_on(arch, text);

	if (memcmp(&rule, &wanted, sizeof(rule)) != 0)
		fail_msg("'%s' is another rule", text);
}

static void assert_rule(const char *text, struct unwind_rule wanted)
{
	assert_rule_on(&unwind_x86_64, text, wanted);
}

static void assert_wrong_rule(const char *text)
{
	char line[256];

	snprintf(line, sizeof(line), "\n" ID "0x10-0x20 %s", text);
	assert_wrong(line, USER_RULES_E_LINE, 2);
}

static const struct unwind_rule usual = {
	.cfa = UNWIND_CFA_FP,
	.cfa_offset = 16,
	.return_address = UNWIND_VALUE_AT_CFA,
	.return_address_offset = -8,
	.fp = UNWIND_VALUE_AT_CFA,
	.fp_offset = -16,
};

static void test_fp_is_the_frame_pointer_rule(void **state)
{
	struct unwind_rule of_a_signal = usual;

	of_a_signal.flags = UNWIND_FLAG_SIGNAL;
	assert_rule("fp", usual);
	assert_rule("cfa=rbp+16 ra=cfa-8 rbp=cfa-16", usual);
	assert_rule("rbp=cfa-16 ra=cfa-8 cfa=rbp+16", usual);
	assert_rule("fp signal", of_a_signal);
	assert_rule("signal fp", of_a_signal);
	assert_rule("cfa=rbp+16 ra=cfa-8 signal rbp=cfa-16", of_a_signal);
	assert_rule_on(&unwind_aarch64, "fp", usual);
	assert_rule_on(&unwind_aarch64, "cfa=x29+16 ra=cfa-8 x29=cfa-16", usual);
}

static void test_end_has_no_caller(void **state)
{
	struct unwind_rule rule = rule_on(&unwind_x86_64, "end");

	assert_int_equal(rule.return_address, UNWIND_VALUE_UNDEFINED);
	assert_int_not_equal(rule.cfa, 0); /* valid */
	assert_int_equal(rule.flags, 0);
	assert_int_equal(rule_on(&unwind_x86_64, "end signal").flags, UNWIND_FLAG_SIGNAL);
}

/* The rule at function entry, except for its CFA. */
static struct unwind_rule with_cfa(enum unwind_cfa cfa, int32_t offset)
{
	return (struct unwind_rule){
		.cfa = cfa,
		.cfa_offset = offset,
		.return_address = UNWIND_VALUE_AT_CFA,
		.return_address_offset = -8,
		.fp = UNWIND_VALUE_SAME,
	};
}

static void test_a_cfa_is_reported_in_every_form(void **state)
{
	struct unwind_rule rule = with_cfa(UNWIND_CFA_REGISTER, 8);

	assert_rule("cfa=rsp+16 ra=cfa-8", with_cfa(UNWIND_CFA_SP, 16));
	assert_rule("cfa=sp+16 ra=cfa-8", with_cfa(UNWIND_CFA_SP, 16));
	assert_rule("cfa=rsp ra=cfa-8", with_cfa(UNWIND_CFA_SP, 0));
	assert_rule("cfa=rsp-24 ra=cfa-8", with_cfa(UNWIND_CFA_SP, -24));
	assert_rule("cfa=rsp+0x1F8 ra=cfa-0x8", with_cfa(UNWIND_CFA_SP, 0x1f8));
	assert_rule("cfa=rbp+16 ra=cfa-8", with_cfa(UNWIND_CFA_FP, 16));
	assert_rule("cfa=fp+16 ra=cfa-8", with_cfa(UNWIND_CFA_FP, 16));
	rule.cfa_register = 10;
	assert_rule("cfa=r10+8 ra=cfa-8", rule);
	rule.cfa_register = 0;
	assert_rule("cfa=rax+8 ra=cfa-8", rule);
	rule = with_cfa(UNWIND_CFA_AT_SP, 8);
	assert_rule("cfa=*(rsp+8) ra=cfa-8", rule);
	rule.cfa_addend = 16;
	assert_rule("cfa=*(rsp+8)+16 ra=cfa-8", rule);
	rule = with_cfa(UNWIND_CFA_AT_FP, -8);
	rule.cfa_addend = -16;
	assert_rule("cfa=*(rbp-8)-16 ra=cfa-8", rule);
}

static void test_offsets_have_31_bits_and_a_sign(void **state)
{
	assert_rule("cfa=rsp+2147483647 ra=cfa-8", with_cfa(UNWIND_CFA_SP, INT32_MAX));
	assert_rule("cfa=rsp+0x7fffffff ra=cfa-8", with_cfa(UNWIND_CFA_SP, INT32_MAX));
	assert_rule("cfa=rsp-2147483648 ra=cfa-8", with_cfa(UNWIND_CFA_SP, INT32_MIN));
	assert_wrong_rule("cfa=rsp+2147483648 ra=cfa-8");
	assert_wrong_rule("cfa=rsp-2147483649 ra=cfa-8");
	assert_wrong_rule("cfa=rsp+0x80000000 ra=cfa-8");
	assert_wrong_rule("cfa=rsp+18446744073709551632 ra=cfa-8"); /* 2^64 + 16 */
	assert_wrong_rule("cfa=*(rsp+8)+99999999999 ra=cfa-8");
	assert_wrong_rule("cfa=rsp+16 ra=cfa-99999999999");
}

/* A rule with this location of the return address. */
static struct unwind_rule with_return_address(enum unwind_value value, int32_t offset)
{
	return (struct unwind_rule){
		.cfa = UNWIND_CFA_SP,
		.cfa_offset = 16,
		.return_address = value,
		.return_address_offset = offset,
		.fp = UNWIND_VALUE_SAME,
	};
}

static void test_a_return_address_is_reported_in_every_form(void **state)
{
	assert_rule("cfa=rsp+16 ra=cfa+8", with_return_address(UNWIND_VALUE_AT_CFA, 8));
	assert_rule("cfa=rsp+16 ra=*(cfa-8)", with_return_address(UNWIND_VALUE_AT_CFA, -8));
	assert_rule("cfa=rsp+16 ra=*(rsp+8)", with_return_address(UNWIND_VALUE_AT_SP, 8));
	assert_rule("cfa=rsp+16 ra=*(rsp)", with_return_address(UNWIND_VALUE_AT_SP, 0));
	assert_rule("cfa=rsp+16 ra=*(fp-8)", with_return_address(UNWIND_VALUE_AT_FP, -8));
	assert_rule("cfa=rsp+16 ra=r11", with_return_address(UNWIND_VALUE_REGISTER, 11));
	assert_rule_on(&unwind_aarch64, "cfa=sp+16 ra=x17",
		       with_return_address(UNWIND_VALUE_REGISTER, 17));
	assert_rule_on(&unwind_aarch64, "cfa=sp+16 ra=lr",
		       with_return_address(UNWIND_VALUE_SAME, 0));
	assert_rule_on(&unwind_aarch64, "cfa=sp+16 ra=x30",
		       with_return_address(UNWIND_VALUE_SAME, 0));
}

static void test_a_frame_pointer_is_reported_in_every_form(void **state)
{
	static const struct {
		const char *text;
		enum unwind_value value;
		int32_t offset;
	} forms[] = {
		{ "", UNWIND_VALUE_SAME, 0 },
		{ "rbp=same", UNWIND_VALUE_SAME, 0 },
		{ "rbp=rbp", UNWIND_VALUE_SAME, 0 },
		{ "rbp=undefined", UNWIND_VALUE_UNDEFINED, 0 },
		{ "rbp=cfa-16", UNWIND_VALUE_AT_CFA, -16 },
		{ "fp=cfa-16", UNWIND_VALUE_AT_CFA, -16 },
		{ "rbp=*(cfa-16)", UNWIND_VALUE_AT_CFA, -16 },
		{ "rbp=*(rsp+24)", UNWIND_VALUE_AT_SP, 24 },
		{ "rbp=*(rbp)", UNWIND_VALUE_AT_FP, 0 },
		{ "rbp=r12", UNWIND_VALUE_REGISTER, 12 },
	};

	for (size_t i = 0; i < COUNT(forms); i++) {
		struct unwind_rule rule = with_cfa(UNWIND_CFA_SP, 16);
		char text[64];

		rule.fp = forms[i].value;
		rule.fp_offset = forms[i].offset;
		snprintf(text, sizeof(text), "cfa=rsp+16 ra=cfa-8 %s", forms[i].text);
		assert_rule(text, rule);
	}
}

static void assert_register(const struct unwind_arch *arch, const char *name, uint8_t number)
{
	char text[64];

	snprintf(text, sizeof(text), "cfa=sp ra=cfa-8 fp=%s", name);
	if (number == arch->base->fp)
		assert_int_equal(rule_on(arch, text).fp, UNWIND_VALUE_SAME);
	else
		assert_int_equal(rule_on(arch, text).fp_offset, number);
}

static void test_registers_have_the_numbers_of_their_psabi(void **state)
{
	static const char *const x86_64[] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi",
					      "rbp", "rsp", "r8",  "r9",  "r10", "r11",
					      "r12", "r13", "r14", "r15" };

	for (size_t i = 0; i < COUNT(x86_64); i++)
		assert_register(&unwind_x86_64, x86_64[i], i);
	assert_register(&unwind_x86_64, "sp", 7);
	for (size_t i = 0; i <= 30; i++) {
		char name[24];

		snprintf(name, sizeof(name), "x%zu", i);
		assert_register(&unwind_aarch64, name, i);
	}
	assert_register(&unwind_aarch64, "sp", 31);
	assert_register(&unwind_aarch64, "lr", 30);
	assert_register(&unwind_aarch64, "fp", 29);
}

static void test_incomplete_and_double_rules_are_refused(void **state)
{
	static const char *const rules[] = {
		"",
		"signal",
		"fp end",
		"fp fp",
		"fp signal signal",
		"fp cfa=rsp+8",
		"cfa=rsp+8 ra=cfa-8 end",
		"cfa=rsp+8",
		"ra=cfa-8",
		"rbp=cfa-16",
		"ra=cfa-8 rbp=cfa-16",
		"cfa=rsp+8 cfa=rsp+8 ra=cfa-8",
		"cfa=rsp+8 ra=cfa-8 ra=cfa-8",
		"cfa=rsp+8 ra=cfa-8 rbp=cfa-16 fp=cfa-16",
		"cfa=rsp+8 ra=cfa-8 FP",
		"frame",
		"fps",
		"endless",
		"signals fp",
	};

	for (size_t i = 0; i < COUNT(rules); i++)
		assert_wrong_rule(rules[i]);
}

static void test_invalid_values_are_refused(void **state)
{
	static const char *const rules[] = {
		"cfa= ra=cfa-8",
		"cfa=8 ra=cfa-8",
		"cfa=cfa+8 ra=cfa-8",
		"cfa=rip+8 ra=cfa-8",
		"cfa=r16+8 ra=cfa-8",
		"cfa=RSP+8 ra=cfa-8",
		"cfa=%rsp+8 ra=cfa-8",
		"cfa=x29+8 ra=cfa-8", /* another architecture's register */
		"cfa=rsp8 ra=cfa-8",
		"cfa=rsp+ ra=cfa-8",
		"cfa=rsp+0x ra=cfa-8",
		"cfa=rsp+8h ra=cfa-8",
		"cfa=rsp+a ra=cfa-8",
		"cfa=rsp+-8 ra=cfa-8",
		"cfa=rsp+8+8 ra=cfa-8",
		"cfa=rsp + 8 ra=cfa-8",
		"cfa=*rsp ra=cfa-8",
		"cfa=*(rsp+8 ra=cfa-8",
		"cfa=*() ra=cfa-8",
		"cfa=*(cfa+8) ra=cfa-8",
		"cfa=*(r10+8) ra=cfa-8",
		"cfa=*(rsp+8)16 ra=cfa-8",
		"cfa=**(rsp+8) ra=cfa-8",
		"cfa=same ra=cfa-8",
		"cfa=rsp+8 ra=",
		"cfa=rsp+8 ra=rsp+8", /* ambiguous: the word there, or the sum? */
		"cfa=rsp+8 ra=*(cfa-8",
		"cfa=rsp+8 ra=*(cfa-8)+1",
		"cfa=rsp+8 ra=*(rax)",
		"cfa=rsp+8 ra=cfa-8x",
		"cfa=rsp+8 ra=same",
		"cfa=rsp+8 ra=undefined",
		"cfa=rsp+8 ra=cfa-8 rbx=cfa-24",
		"cfa=rsp+8 ra=cfa-8 rbp",
		"cfa=rsp+8 ra=cfa-8 rbp=",
		"cfa=rsp+8 ra=cfa-8 rbp=sames",
		"cfa=rsp+8 ra=cfa-8 =",
		"cfa=rsp+8 ra=cfa-8 x=y",
	};

	for (size_t i = 0; i < COUNT(rules); i++)
		assert_wrong_rule(rules[i]);
}

static void test_invalid_keys_are_refused(void **state)
{
	static const char *const keys[] = {
		"0x10-0x20",
		"build-id",
		"build-id:",
		"build-id:012",
		"build-id:0x12",
		"build-id:0g",
		"Build-id:01",
		"file-id:",
		"file-id:0011",
		"file-id:" FILE_ID "00",
		"file-id:00112233445566778899aabbccddeefg",
		"path:/bin/true",
		"\xef\xbb\xbf"
		"build-id:01",
	};
	char text[256], id[2 * (WIRE_BUILD_ID_MAX + 1) + 1] = "";
	_cleanup_user_rules_ struct user_rules user_rules = { 0 };

	for (size_t i = 0; i < COUNT(keys); i++) {
		snprintf(text, sizeof(text), "%s 0x10-0x20 fp\n", keys[i]);
		assert_wrong(text, USER_RULES_E_LINE, 1);
	}
	memset(id, '0', sizeof(id) - 1);
	snprintf(text, sizeof(text), "build-id:%s 0x10-0x20 fp\n", id);
	assert_wrong(text, USER_RULES_E_LINE, 1);
	id[2 * WIRE_BUILD_ID_MAX] = 0;
	snprintf(text, sizeof(text), "build-id:%s 0x10-0x20 fp\n", id);
	user_rules = parsed(text);
}

static void test_invalid_ranges_are_refused(void **state)
{
	static const char *const ranges[] = {
		"",
		"0x10",
		"0x10-",
		"0x10-0x",
		"0x-0x20",
		"-0x20",
		"10-20",
		"0x10-20",
		"0X10-0x20",
		"0x10..0x20",
		"0x10-0x20-0x30",
		"0x10 - 0x20",
		"0x10 0x20",
		"0x10-0x10",
		"0x20-0x10",
		"0x10-0x10000000000000000",
		"0x10000000000000010-0x20",
	};
	char text[256];

	for (size_t i = 0; i < COUNT(ranges); i++) {
		snprintf(text, sizeof(text), "# a comment\r\n\n" ID "%s fp\n", ranges[i]);
		assert_wrong(text, USER_RULES_E_LINE, 3);
	}
}

static void test_addresses_have_64_bits(void **state)
{
	_cleanup_user_rules_ struct user_rules user_rules =
		parsed(ID "0x0-0xffffffffffffffff fp\n" /* */
			  "build-id:00 0xfffffffffffffffe-0xFFFFFFFFFFFFFFFF fp\n");

	assert_int_equal(user_rules.list[0].start, UINT64_MAX - 1);
	assert_int_equal(user_rules.list[1].start, 0);
	assert_int_equal(user_rules.list[1].end, UINT64_MAX);
}

static void test_whitespace_and_comments_are_allowed(void **state)
{
	static const char *const texts[] = {
		ID "0x10-0x20 fp",
		ID "0x10-0x20 fp\n",
		ID "0x10-0x20 fp\r\n",
		ID "0x10-0x20 fp\r",
		"\r\n\n  \t\n" ID "0x10-0x20 fp\n\n\n",
		"\t build-id:0123abcd  \t0x10-0x20\tfp  \t\n",
		"# of \xc3\xa4 library\n#\n" ID "0x10-0x20 fp # comment\n   # comment",
		ID "0x10-0x20 fp#comment\r\n",
		"build-id:0123ABCD 0x00000000000000000010-0x20 fp\n",
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		_cleanup_user_rules_ struct user_rules user_rules = parsed(texts[i]);

		assert_int_equal(user_rules.n, 1);
		assert_int_equal(user_rules.list[0].key, USER_RULE_BUILD_ID);
		assert_int_equal(user_rules.list[0].id_size, sizeof(build_id));
		assert_memory_equal(user_rules.list[0].id, build_id, sizeof(build_id));
		assert_int_equal(user_rules.list[0].start, 0x10);
		assert_int_equal(user_rules.list[0].end, 0x20);
		assert_memory_equal(&user_rules.list[0].rule, &usual, sizeof(usual));
	}
}

static void test_an_empty_text_is_valid(void **state)
{
	static const char *const texts[] = { "", "\n", "#", "\r\n", "  ", "# nothing\n\n" };

	for (size_t i = 0; i < COUNT(texts); i++) {
		_cleanup_user_rules_ struct user_rules user_rules = parsed(texts[i]);
		_cleanup_image_ struct image_user_rules image = { 0 };

		assert_int_equal(user_rules.n, 0);
		assert_int_equal(user_rules_of_image(&user_rules, &plain, build_id,
						     sizeof(build_id), file_id, &image),
				 0);
		assert_int_equal(image.n, 0);
		assert_null(image_user_rules_find(&image, 0));
	}
}

static void test_zero_bytes_are_refused(void **state)
{
	static const struct {
		const char *text;
		size_t size;
	} texts[] = {
#define TEXT(text) { text, sizeof(text) - 1 }
		TEXT("# a comment\n\0"),
		TEXT("# a comment\n" ID "0x1-0x2 fp\0"),
		TEXT("# a comment\n# \0 another one\n"),
#undef TEXT
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		struct user_rules_error error;
		struct user_rules user_rules;

		assert_int_equal(parse_bytes(&unwind_x86_64, texts[i].text, texts[i].size,
					     &user_rules, &error),
				 USER_RULES_E_LINE);
		assert_int_equal(error.line, 2);
	}
}

static void test_a_line_may_be_very_long(void **state)
{
	const size_t size = 1 << 20;
	_cleanup_free_ char *text = calloc(1, size + 64);
	_cleanup_user_rules_ struct user_rules user_rules = { 0 };

	assert_non_null(text);
	memset(text, ' ', size);
	strcpy(text + size, ID "0x10-0x20 fp");
	user_rules = parsed(text);
	assert_int_equal(user_rules.n, 1);
	memset(text, '0', size);
	assert_wrong(text, USER_RULES_E_LINE, 1);
	memcpy(text, "build-id:", 9);
	assert_wrong(text, USER_RULES_E_LINE, 1);
}

static void test_overlaps_are_refused_at_the_later_line(void **state)
{
	static const struct {
		const char *text;
		size_t line, other_line;
	} texts[] = {
		{ ID "0x10-0x20 fp\n" ID "0x10-0x20 fp\n", 2, 1 },
		{ ID "0x10-0x20 fp\n" ID "0x1f-0x30 fp\n", 2, 1 },
		{ ID "0x1f-0x30 fp\n" ID "0x10-0x20 fp\n", 2, 1 },
		{ ID "0x10-0x40 fp\n\n" ID "0x20-0x30 fp\n", 3, 1 },
		{ ID "0x20-0x30 fp\n\n" ID "0x10-0x40 fp\n", 3, 1 },
		{ ID "0x50-0x60 fp\n" ID "0x10-0x40 fp\n" ID "0x5f-0x61 end", 3, 1 },
		{ ID "0x1-0x2 fp\nbuild-id:0123ABCD 0x1-0x2 fp", 2, 1 },
		{ "file-id:" FILE_ID " 0x1-0x2 fp\nfile-id:" FILE_ID " 0x1-0x2 end", 2, 1 },
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		struct user_rules_error error;
		struct user_rules user_rules;

		assert_int_equal(parse_text(texts[i].text, &user_rules, &error),
				 USER_RULES_E_OVERLAP);
		assert_int_equal(error.line, texts[i].line);
		assert_int_equal(error.other_line, texts[i].other_line);
		assert_non_null(error.text);
	}
}

static void test_neighbours_and_other_images_do_not_overlap(void **state)
{
	_cleanup_user_rules_ struct user_rules user_rules =
		parsed(ID "0x20-0x30 fp\n" ID "0x10-0x20 fp\n" ID "0x30-0x31 fp\n"
			  "build-id:0123ab 0x10-0x30 fp\nbuild-id:0123abcd00 0x10-0x30 fp\n"
			  "build-id:" FILE_ID " 0x10-0x30 fp\nfile-id:" FILE_ID " 0x10-0x30 fp\n");

	assert_int_equal(user_rules.n, 7);
}

static void write_file(char *path, const char *text)
{
	_cleanup_fd_ int fd = -1;

	strcpy(path, "/tmp/stackpipe-test-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void test_a_file_is_read(void **state)
{
	_cleanup_user_rules_ struct user_rules user_rules = { 0 };
	struct user_rules_error error;
	char path[32];

	write_file(path, "#\n" ID "0x10-0x20 fp\n");
	assert_int_equal(user_rules_read(&unwind_x86_64, path, &user_rules, &error), USER_RULES_OK);
	assert_int_equal(user_rules.n, 1);
	assert_int_equal(user_rules.list[0].line, 2);
	unlink(path);
	write_file(path, "#\nfp\n");
	assert_int_equal(user_rules_read(&unwind_x86_64, path, &user_rules, &error),
			 USER_RULES_E_LINE);
	assert_int_equal(error.line, 2);
	unlink(path);
	assert_int_equal(user_rules.n, 1); /* unchanged */
}

static void test_a_file_that_cannot_be_read_has_its_errno(void **state)
{
	struct user_rules_error error;
	struct user_rules user_rules;

	assert_int_equal(user_rules_read(&unwind_x86_64, "/nowhere/at/all", &user_rules, &error),
			 -ENOENT);
	assert_int_equal(user_rules_read(&unwind_x86_64, "/", &user_rules, &error), -EISDIR);
}

static void test_a_file_without_end_is_refused(void **state)
{
	struct user_rules_error error;
	struct user_rules user_rules;

	assert_int_equal(user_rules_read(&unwind_x86_64, "/dev/zero", &user_rules, &error),
			 USER_RULES_E_SIZE);
	assert_int_equal(error.line, 0);
	assert_int_equal(error.other_line, 0);
	assert_non_null(error.text);
}

static void test_more_rules_than_the_limit_are_refused(void **state)
{
	static const char form[] = "build-id:00 0x%08zx-0x%08zx fp\n";
	const size_t line = snprintf(NULL, 0, form, (size_t)0, (size_t)1);
	_cleanup_free_ char *text = malloc((USER_RULES_MAX + 1) * line + 1);
	_cleanup_user_rules_ struct user_rules user_rules = { 0 };
	struct user_rules_error error;

	assert_non_null(text);
	for (size_t i = 0; i <= USER_RULES_MAX; i++)
		sprintf(text + i * line, form, i, i + 1);
	assert_wrong(text, USER_RULES_E_TOO_MANY, USER_RULES_MAX + 1);
	assert_int_equal(
		parse_bytes(&unwind_x86_64, text, USER_RULES_MAX * line, &user_rules, &error),
		USER_RULES_OK);
	assert_int_equal(user_rules.n, USER_RULES_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fp_is_the_frame_pointer_rule),
		cmocka_unit_test(test_end_has_no_caller),
		cmocka_unit_test(test_a_cfa_is_reported_in_every_form),
		cmocka_unit_test(test_offsets_have_31_bits_and_a_sign),
		cmocka_unit_test(test_a_return_address_is_reported_in_every_form),
		cmocka_unit_test(test_a_frame_pointer_is_reported_in_every_form),
		cmocka_unit_test(test_registers_have_the_numbers_of_their_psabi),
		cmocka_unit_test(test_incomplete_and_double_rules_are_refused),
		cmocka_unit_test(test_invalid_values_are_refused),
		cmocka_unit_test(test_invalid_keys_are_refused),
		cmocka_unit_test(test_invalid_ranges_are_refused),
		cmocka_unit_test(test_addresses_have_64_bits),
		cmocka_unit_test(test_whitespace_and_comments_are_allowed),
		cmocka_unit_test(test_an_empty_text_is_valid),
		cmocka_unit_test(test_zero_bytes_are_refused),
		cmocka_unit_test(test_a_line_may_be_very_long),
		cmocka_unit_test(test_overlaps_are_refused_at_the_later_line),
		cmocka_unit_test(test_neighbours_and_other_images_do_not_overlap),
		cmocka_unit_test(test_a_file_is_read),
		cmocka_unit_test(test_a_file_that_cannot_be_read_has_its_errno),
		cmocka_unit_test(test_a_file_without_end_is_refused),
		cmocka_unit_test(test_more_rules_than_the_limit_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
