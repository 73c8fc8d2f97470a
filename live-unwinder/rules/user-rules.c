/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sorts the rules of a file by image, and converts those of one image from linked addresses to file
 * offsets, as mappings have them: split where segments begin and end.
 */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/binary-search.h"
#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/file/read-file.h"
#include "live-unwinder/rules/user-rules-text.h"
#include "live-unwinder/rules/user-rules.h"

static_assert(USER_RULES_MAX == 1048576, "parse_line() says so");
static_assert(USER_RULES_SIZE_MAX == 64 * 1024 * 1024, "user_rules_read() says so");

struct user_rule_list {
	struct user_rule *list;
	size_t n;
};

static int parse_line(const struct unwind_arch *arch, char *at, char *end,
		      struct user_rule_list *user_rules, struct user_rules_error *error)
{
	struct user_rule user_rule;

	switch (user_rule_text_parse(arch, at, end, &user_rule, &error->text)) {
	case USER_RULE_TEXT_BLANK:
		return 0;
	case USER_RULE_TEXT_WRONG:
		return USER_RULES_E_LINE;
	case USER_RULE_TEXT_READ:
		break;
	}
	if (user_rules->n == USER_RULES_MAX) {
		error->text = "a file has at most 1048576 rules";
		return USER_RULES_E_TOO_MANY;
	}
	user_rule.line = error->line;
	return GROWING_LIST_ADD(user_rules->list, user_rules->n, user_rule);
}

static int parse_lines(const struct unwind_arch *arch, char *text, size_t size,
		       struct user_rule_list *user_rules, struct user_rules_error *error)
{
	char *at = text, *end = text + size;
	int r = 0;

	*error = (struct user_rules_error){ 0 };
	while (r == 0 && at < end) {
		char *newline = memchr(at, '\n', end - at);

		error->line++;
		r = parse_line(arch, at, newline ? newline : end, user_rules, error);
		at = newline ? newline + 1 : end;
	}
	return r;
}

static int compare_images(enum user_rule_key key, const void *id, size_t id_size,
			  const struct user_rule *user_rule)
{
	if (key != user_rule->key)
		return key < user_rule->key ? -1 : 1;
	if (id_size != user_rule->id_size)
		return id_size < user_rule->id_size ? -1 : 1;
	return memcmp(id, user_rule->id, id_size);
}

static int compare_user_rules(const void *one, const void *other)
{
	const struct user_rule *a = one, *b = other;
	int order = compare_images(a->key, a->id, a->id_size, b);

	if (order)
		return order;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->line < b->line ? -1 : 1;
}

/* If any two rules overlap, two neighbours do. */
static int find_overlap(const struct user_rule_list *user_rules, struct user_rules_error *error)
{
	for (size_t i = 1; i < user_rules->n; i++) {
		const struct user_rule *before = &user_rules->list[i - 1],
				       *here = &user_rules->list[i];
		bool is_behind = here->line > before->line;

		if (here->start >= before->end ||
		    compare_images(before->key, before->id, before->id_size, here) != 0)
			continue;
		*error = (struct user_rules_error){
			.line = is_behind ? here->line : before->line,
			.other_line = is_behind ? before->line : here->line,
			.text = "the range overlaps that of an earlier rule",
		};
		return USER_RULES_E_OVERLAP;
	}
	return 0;
}

int user_rules_parse(const struct unwind_arch *arch, char *text, size_t size,
		     struct user_rules *ret, struct user_rules_error *error)
{
	struct user_rule_list user_rules = { 0 };
	int r = parse_lines(arch, text, size, &user_rules, error);

	if (r == 0 && user_rules.n) {
		qsort(user_rules.list, user_rules.n, sizeof(*user_rules.list), compare_user_rules);
		r = find_overlap(&user_rules, error);
	}
	if (r) {
		free(user_rules.list);
		free(text);
		return r;
	}
	*ret = (struct user_rules){ .text = text, .list = user_rules.list, .n = user_rules.n };
	return 0;
}

int user_rules_read(const struct unwind_arch *arch, const char *path, struct user_rules *ret,
		    struct user_rules_error *error)
{
	char *text;
	size_t size;
	int r = read_file(path, USER_RULES_SIZE_MAX, &text, &size);

	if (r == -EFBIG) {
		*error = (struct user_rules_error){ .text = "the file is larger than 64 MiB" };
		return USER_RULES_E_SIZE;
	}
	if (r < 0)
		return r;
	return user_rules_parse(arch, text, size, ret, error);
}

void user_rules_deinit(struct user_rules *user_rules)
{
	free(user_rules->list);
	free(user_rules->text);
	*user_rules = (struct user_rules){ 0 };
}

/* Finds the first rule of an id, and returns their number. */
static size_t find_image(const struct user_rules *user_rules, enum user_rule_key key,
			 const void *id, size_t id_size, const struct user_rule **ret)
{
	const struct user_rule *list = user_rules->list;
	size_t first =
		BINARY_SEARCH(i, 0, user_rules->n, compare_images(key, id, id_size, &list[i]) > 0);
	size_t n = 0;

	while (first + n < user_rules->n && compare_images(key, id, id_size, &list[first + n]) == 0)
		n++;
	*ret = list + first;
	return n;
}

struct pieces {
	struct image_user_rule *list;
	size_t n;
};

static void pieces_deinit(struct pieces *pieces)
{
	free(pieces->list);
}

static int add_piece(struct pieces *pieces, uint64_t start, uint64_t end,
		     const struct unwind_rule *rule)
{
	return GROWING_LIST_ADD(pieces->list, pieces->n,
				(struct image_user_rule){ start, end, *rule });
}

/*
 * The distance from an address to the next begin or end of a segment. A damaged file may have
 * segments that overlap, or wrap to address 0: unsigned wrap-around is intended.
 */
static uint64_t distance_to_boundary(const struct elf_image *file, uint64_t address)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < file->n_segments; i++) {
		const struct elf_segment *segment = &file->segments[i];
		uint64_t behind_start = address - segment->address, distance;

		if (!segment->size)
			continue;
		distance = behind_start < segment->size ? segment->size - behind_start
							: segment->address - address;
		if (distance < least)
			least = distance;
	}
	return least;
}

/* Adds a rule by file offset, one piece for each segment. */
static int add_rule_pieces(const struct elf_image *file, const struct user_rule *user_rule,
			   struct pieces *pieces)
{
	uint64_t address = user_rule->start;
	int r = 0;

	while (r == 0 && address < user_rule->end) {
		uint64_t size = distance_to_boundary(file, address), offset;

		if (size > user_rule->end - address)
			size = user_rule->end - address;
		if (elf_image_offset(file, address, &offset) && offset <= UINT64_MAX - size)
			r = add_piece(pieces, offset, offset + size, &user_rule->rule);
		address += size;
	}
	return r;
}

static int compare_pieces(const void *one, const void *other)
{
	const struct image_user_rule *a = one, *b = other;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return memcmp(&a->rule, &b->rule, sizeof(a->rule));
}

/* Sorts pieces. Of two that overlap, as segments may, the first stays and the other is cut. */
static void put_in_order(struct pieces *pieces)
{
	uint64_t end = 0;
	size_t n = 0;

	if (pieces->n)
		qsort(pieces->list, pieces->n, sizeof(*pieces->list), compare_pieces);
	for (size_t i = 0; i < pieces->n; i++) {
		struct image_user_rule piece = pieces->list[i];

		if (piece.start < end)
			piece.start = end;
		if (piece.start >= piece.end)
			continue;
		end = piece.end;
		pieces->list[n++] = piece;
	}
	pieces->n = n;
}

/* Adds `first` to `pieces`, and `second` where `first` has no rule. */
static int merge(const struct pieces *first, const struct pieces *second, struct pieces *pieces)
{
	size_t next = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < first->n; i++)
		r = add_piece(pieces, first->list[i].start, first->list[i].end,
			      &first->list[i].rule);
	for (size_t i = 0; i < second->n; i++) {
		struct image_user_rule piece = second->list[i];

		while (next < first->n && first->list[next].end <= piece.start)
			next++;
		for (size_t j = next; r == 0 && j < first->n && first->list[j].start < piece.end;
		     j++) {
			if (piece.start < first->list[j].start)
				r = add_piece(pieces, piece.start, first->list[j].start,
					      &piece.rule);
			piece.start = first->list[j].end;
		}
		if (r == 0 && piece.start < piece.end)
			r = add_piece(pieces, piece.start, piece.end, &piece.rule);
	}
	put_in_order(pieces);
	return r;
}

static int pieces_of(const struct user_rules *user_rules, const struct elf_image *file,
		     enum user_rule_key key, const void *id, size_t id_size, struct pieces *pieces)
{
	const struct user_rule *first = NULL;
	size_t n = id && user_rules->n ? find_image(user_rules, key, id, id_size, &first) : 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_rule_pieces(file, &first[i], pieces);
	put_in_order(pieces);
	return r;
}

int user_rules_of_image(const struct user_rules *user_rules, const struct elf_image *file,
			const void *build_id, size_t build_id_size, const uint8_t *file_id,
			struct image_user_rules *ret)
{
	_cleanup_(pieces_deinit) struct pieces by_build_id = { 0 }, by_file_id = { 0 }, all = { 0 };
	int r = pieces_of(user_rules, file, USER_RULE_BUILD_ID, build_id, build_id_size,
			  &by_build_id);

	if (r == 0)
		r = pieces_of(user_rules, file, USER_RULE_FILE_ID, file_id, FILE_ID_SIZE,
			      &by_file_id);
	if (r == 0)
		r = merge(&by_build_id, &by_file_id, &all);
	if (r < 0)
		return r;
	for (size_t i = 0; i < all.n; i++)
		all.list[i].rule.flags |= UNWIND_FLAG_USER_RULE;
	ret->n = all.n;
	ret->list = take_pointer(all.list);
	return 0;
}

void image_user_rules_deinit(struct image_user_rules *user_rules)
{
	free(user_rules->list);
	*user_rules = (struct image_user_rules){ 0 };
}

const struct unwind_rule *image_user_rules_find(const struct image_user_rules *user_rules,
						uint64_t offset)
{
	const struct image_user_rule *list = user_rules->list;
	size_t first = 0, n = user_rules->n;

	if (!n)
		return NULL;
	while (n > 1) { /* the last start at or before `offset`, if any, stays among them */
		size_t half = n / 2;

		first += list[first + half].start <= offset ? half : 0;
		n -= half;
	}
	return offset >= list[first].start && offset < list[first].end ? &list[first].rule : NULL;
}
