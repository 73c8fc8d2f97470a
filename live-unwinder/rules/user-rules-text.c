/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a line word by word, and a word part by part, up to the first error. */
#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/text.h"
#include "common/wire/wire.h"
#include "live-unwinder/rules/user-rules-text.h"

static_assert(WIRE_BUILD_ID_MAX == 64, "parse_hex() says so");
static_assert(FILE_ID_SIZE == 16, "parse_key() says so");

/* The unread rest of a line, or of a word. */
struct part {
	char *at, *end;
};

struct parser {
	const struct unwind_arch *arch;
	const char *wrong; /* first error; NULL: none yet */
};

/* Parts of a rule that a line has given. */
enum {
	HAS_CFA = 1,
	HAS_RETURN_ADDRESS = 2,
	HAS_FP = 4,
	HAS_ALL = 8, /* a word that is a whole rule */
	HAS_SIGNAL = 16,
};

static bool fail(struct parser *parser, const char *text)
{
	if (!parser->wrong)
		parser->wrong = text;
	return false;
}

static bool is_empty(const struct part *part)
{
	return part->at == part->end;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Consumes a text from the front if it is there. */
static bool take(struct part *part, const char *text)
{
	size_t size = strlen(text);

	if ((size_t)(part->end - part->at) < size || memcmp(part->at, text, size) != 0)
		return false;
	part->at += size;
	return true;
}

/* false: no more words. */
static bool take_word(struct part *line, struct part *ret)
{
	while (!is_empty(line) && is_blank(*line->at))
		line->at++;
	ret->at = line->at;
	while (!is_empty(line) && !is_blank(*line->at))
		line->at++;
	ret->end = line->at;
	return !is_empty(ret);
}

static bool is_word(const struct part *word, const char *text)
{
	struct part copy = *word;

	return take(&copy, text) && is_empty(&copy);
}

/* false: there is no digit, or the number is larger than `max`. */
static bool take_digits(struct part *part, unsigned int base, uint64_t max, uint64_t *ret)
{
	const char *first = part->at;
	uint64_t number = 0;

	while (!is_empty(part)) {
		int value = text_digit_value(*part->at);

		if (value < 0 || (unsigned int)value >= base)
			break;
		if (number > (max - value) / base)
			return false;
		number = number * base + value;
		part->at++;
	}
	*ret = number;
	return part->at != first;
}

/* An optional number with its sign; 0 without one. */
static bool take_offset(struct parser *parser, struct part *part, int32_t *ret)
{
	bool is_negative = take(part, "-");
	uint64_t number = 0;

	if (is_negative || take(part, "+")) {
		unsigned int base = take(part, "0x") ? 16 : 10;

		if (!take_digits(part, base, (uint64_t)INT32_MAX + is_negative, &number))
			return fail(parser,
				    "+ or - must be followed by a number of at most 31 bits");
	}
	*ret = is_negative ? -(int64_t)number : (int64_t)number;
	return true;
}

static bool take_register(struct parser *parser, struct part *part, uint8_t *ret)
{
	const char *name = part->at;
	int found;

	while (!is_empty(part) &&
	       ((*part->at >= 'a' && *part->at <= 'z') || (*part->at >= '0' && *part->at <= '9')))
		part->at++;
	found = arch_register_number(parser->arch->base, name, part->at - name);
	if (found < 0)
		return fail(parser, "this architecture has no register of this name");
	*ret = found;
	return true;
}

/* Fails unless the whole part was consumed. */
static bool take_end(struct parser *parser, const struct part *part)
{
	return is_empty(part) || fail(parser, "unexpected characters after a value");
}

/* *(REGISTER+N): the register selects `of_sp` or `of_fp`. */
static bool take_memory(struct parser *parser, struct part *part, uint8_t of_sp, uint8_t of_fp,
			uint8_t *ret, int32_t *ret_offset)
{
	uint8_t number;

	if (!take_register(parser, part, &number) || !take_offset(parser, part, ret_offset))
		return false;
	if (!take(part, ")"))
		return fail(parser, "*( has no closing )");
	if (number != parser->arch->base->sp && number != parser->arch->base->fp)
		return fail(parser, "*( ) allows only the stack pointer and the frame pointer");
	*ret = number == parser->arch->base->sp ? of_sp : of_fp;
	return true;
}

static bool parse_cfa(struct parser *parser, struct part *part, struct unwind_rule *rule)
{
	uint8_t number;

	if (take(part, "*("))
		return take_memory(parser, part, UNWIND_CFA_AT_SP, UNWIND_CFA_AT_FP, &rule->cfa,
				   &rule->cfa_offset) &&
		       take_offset(parser, part, &rule->cfa_addend) && take_end(parser, part);
	if (!take_register(parser, part, &number) ||
	    !take_offset(parser, part, &rule->cfa_offset) || !take_end(parser, part))
		return false;
	if (number == parser->arch->base->sp) {
		rule->cfa = UNWIND_CFA_SP;
	} else if (number == parser->arch->base->fp) {
		rule->cfa = UNWIND_CFA_FP;
	} else {
		rule->cfa = UNWIND_CFA_REGISTER;
		rule->cfa_register = number;
	}
	return true;
}

/* Where the caller's register number `own` is: cfa+N, *(REGISTER+N) or REGISTER. */
static bool parse_place(struct parser *parser, struct part *part, uint8_t own, uint8_t *ret,
			int32_t *ret_offset)
{
	bool is_memory = take(part, "*(");
	uint8_t number;

	if (take(part, "cfa")) {
		*ret = UNWIND_VALUE_AT_CFA;
		if (!take_offset(parser, part, ret_offset))
			return false;
		if (is_memory && !take(part, ")"))
			return fail(parser, "*( has no closing )");
		return take_end(parser, part);
	}
	if (is_memory)
		return take_memory(parser, part, UNWIND_VALUE_AT_SP, UNWIND_VALUE_AT_FP, ret,
				   ret_offset) &&
		       take_end(parser, part);
	if (!take_register(parser, part, &number))
		return false;
	if (!is_empty(part))
		return fail(parser, "a word in memory is written cfa+N or *(REGISTER+N)");
	*ret = number == own ? UNWIND_VALUE_SAME : UNWIND_VALUE_REGISTER;
	*ret_offset = number == own ? 0 : number;
	return true;
}

static bool parse_fp(struct parser *parser, struct part *part, struct unwind_rule *rule)
{
	if (is_word(part, "same")) {
		rule->fp = UNWIND_VALUE_SAME;
		return true;
	}
	if (is_word(part, "undefined")) {
		rule->fp = UNWIND_VALUE_UNDEFINED;
		return true;
	}
	return parse_place(parser, part, parser->arch->base->fp, &rule->fp, &rule->fp_offset);
}

/* Refuses a part given twice. */
static bool set_part(struct parser *parser, unsigned int what, unsigned int *given)
{
	const unsigned int parts = HAS_CFA | HAS_RETURN_ADDRESS | HAS_FP;

	if (*given & what)
		return fail(parser, "a part of the rule is given twice");
	*given |= what;
	if (*given & HAS_ALL && *given & parts)
		return fail(parser, "'fp' and 'end' are complete rules: no other part is allowed");
	return true;
}

/*
 * A word that is a rule, or a flag of any rule; false without an error: neither. With "fp", the
 * frame pointer leads to the caller's record; on AArch64 a record lies anywhere in its frame, so
 * this CFA is only the lowest possible one.
 */
static bool parse_plain_word(struct parser *parser, const struct part *word,
			     struct unwind_rule *rule, unsigned int *given)
{
	const uint32_t flags = rule->flags;

	if (is_word(word, "signal")) {
		rule->flags |= UNWIND_FLAG_SIGNAL;
		return set_part(parser, HAS_SIGNAL, given);
	}
	if (is_word(word, "fp"))
		*rule = (struct unwind_rule){
			.cfa = UNWIND_CFA_FP,
			.cfa_offset = 16,
			.return_address = UNWIND_VALUE_AT_CFA,
			.return_address_offset = -8,
			.fp = UNWIND_VALUE_AT_CFA,
			.fp_offset = -16,
		};
	else if (is_word(word, "end"))
		*rule = (struct unwind_rule){
			.cfa = UNWIND_CFA_SP,
			.return_address = UNWIND_VALUE_UNDEFINED,
			.fp = UNWIND_VALUE_UNDEFINED,
		};
	else
		return false;
	rule->flags = flags;
	return set_part(parser, HAS_ALL, given);
}

static bool parse_rule_word(struct parser *parser, struct part *word, struct unwind_rule *rule,
			    unsigned int *given)
{
	uint8_t number;

	if (parse_plain_word(parser, word, rule, given))
		return true;
	if (parser->wrong)
		return false;
	if (!memchr(word->at, '=', word->end - word->at))
		return fail(parser,
			    "a rule is 'fp', 'end', or cfa=... ra=... and optionally the frame "
			    "pointer; 'signal' may follow");
	if (take(word, "cfa="))
		return set_part(parser, HAS_CFA, given) && parse_cfa(parser, word, rule);
	if (take(word, "ra="))
		return set_part(parser, HAS_RETURN_ADDRESS, given) &&
		       parse_place(parser, word, parser->arch->base->return_address,
				   &rule->return_address, &rule->return_address_offset);
	if (!take_register(parser, word, &number))
		return false;
	if (number != parser->arch->base->fp || !take(word, "="))
		return fail(
			parser,
			"the frame pointer is the only caller's register that a rule can restore");
	return set_part(parser, HAS_FP, given) && parse_fp(parser, word, rule);
}

static bool parse_rule(struct parser *parser, struct part *line, struct unwind_rule *rule)
{
	unsigned int given = 0;
	struct part word;

	*rule = (struct unwind_rule){ .fp = UNWIND_VALUE_SAME };
	while (take_word(line, &word))
		if (!parse_rule_word(parser, &word, rule, &given))
			return false;
	if (given & HAS_ALL)
		return true;
	if (!(given & HAS_CFA))
		return fail(parser, "the rule is missing: add 'fp', 'end', or cfa=... ra=...");
	return given & HAS_RETURN_ADDRESS || fail(parser, "cfa=... requires ra=...");
}

static bool parse_address(struct parser *parser, struct part *part, uint64_t *ret)
{
	if (!take(part, "0x"))
		return fail(parser, "a range is written 0xSTART-0xEND");
	return take_digits(part, 16, UINT64_MAX, ret) ||
	       fail(parser, "an address is a number of at most 64 bits");
}

static bool parse_range(struct parser *parser, struct part *line, struct user_rule *user_rule)
{
	struct part word;

	take_word(line, &word);
	if (!parse_address(parser, &word, &user_rule->start))
		return false;
	if (!take(&word, "-"))
		return fail(parser, "a range is written 0xSTART-0xEND");
	if (!parse_address(parser, &word, &user_rule->end) || !take_end(parser, &word))
		return false;
	return user_rule->start < user_rule->end ||
	       fail(parser, "the end of a range must be greater than its start");
}

/* The bytes overwrite their digits. */
static bool parse_hex(struct parser *parser, struct part *word, struct user_rule *user_rule)
{
	size_t n = (word->end - word->at) / 2;
	uint8_t *bytes = (uint8_t *)word->at;

	if (!n || n > WIRE_BUILD_ID_MAX || (word->end - word->at) % 2)
		return fail(parser, "a build-id has 1 to 64 bytes, two hexadecimal digits each");
	for (size_t i = 0; i < n; i++) {
		int high = text_digit_value(word->at[2 * i]),
		    low = text_digit_value(word->at[2 * i + 1]);

		if (high < 0 || low < 0)
			return fail(parser, "an id must consist of hexadecimal digits");
		bytes[i] = high << 4 | low;
	}
	user_rule->id = bytes;
	user_rule->id_size = n;
	return true;
}

static bool parse_key(struct parser *parser, struct part *line, struct user_rule *user_rule)
{
	struct part word;

	take_word(line, &word);
	if (take(&word, "build-id:")) {
		user_rule->key = USER_RULE_BUILD_ID;
		return parse_hex(parser, &word, user_rule);
	}
	if (!take(&word, "file-id:"))
		return fail(parser, "a line must begin with build-id: or file-id:");
	if (word.end - word.at != 2 * FILE_ID_SIZE)
		return fail(parser, "a file id has 32 hexadecimal digits");
	user_rule->key = USER_RULE_FILE_ID;
	return parse_hex(parser, &word, user_rule);
}

/* Strips a comment, and the carriage return of a DOS line end. */
static struct part content_of(char *at, char *end)
{
	char *comment;

	if (at < end && end[-1] == '\r')
		end--;
	comment = memchr(at, '#', end - at);
	return (struct part){ at, comment ? comment : end };
}

enum user_rule_text user_rule_text_parse(const struct unwind_arch *arch, char *at, char *end,
					 struct user_rule *ret, const char **ret_wrong)
{
	struct parser parser = { .arch = arch };
	struct part line = content_of(at, end), ahead = line, word;
	struct user_rule user_rule = { 0 };

	if (memchr(at, 0, end - at)) {
		*ret_wrong = "there is a zero byte: this is no text";
		return USER_RULE_TEXT_WRONG;
	}
	if (!take_word(&ahead, &word))
		return USER_RULE_TEXT_BLANK;
	if (!parse_key(&parser, &line, &user_rule) || !parse_range(&parser, &line, &user_rule) ||
	    !parse_rule(&parser, &line, &user_rule.rule)) {
		*ret_wrong = parser.wrong;
		return USER_RULE_TEXT_WRONG;
	}
	*ret = user_rule;
	return USER_RULE_TEXT_READ;
}
