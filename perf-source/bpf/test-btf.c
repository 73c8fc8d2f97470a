/* SPDX-License-Identifier: GPL-3.0-or-later */
/* BTF of an imaginary kernel, valid and contradictory. */
#include <errno.h>
#include <linux/btf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/file/read-file.h"
#include "perf-source/bpf/btf.h"

enum { WORDS_MAX = 256, NAMES_MAX = 1024 };

/* The kernel's BTF. */
static struct {
	struct btf_header header;
	uint32_t types[WORDS_MAX];
	char names[NAMES_MAX];
	size_t n_words, names_size;
	size_t padding; /* bytes after the known part of the header */
	size_t skipped; /* bytes missing at the end */
	int error;
} kernel;

int __wrap_read_file(const char *path, size_t size_max, char **ret, size_t *ret_size);

int __wrap_read_file(const char *path, size_t size_max, char **ret, size_t *ret_size)
{
	const struct btf_header *header = &kernel.header;
	size_t begin = sizeof(*header) + kernel.padding;
	size_t size = begin + header->type_len + header->str_len;

	assert_string_equal(path, "/sys/kernel/btf/vmlinux");
	if (kernel.error)
		return kernel.error;
	/* Exact size, so that sanitizers detect reads past the end. */
	*ret = calloc(1, size + 1);
	assert_non_null(*ret);
	memcpy(*ret, header, sizeof(*header));
	memcpy(*ret + begin, kernel.types, header->type_len);
	memcpy(*ret + begin + header->type_len, kernel.names, header->str_len);
	*ret_size = size - kernel.skipped;
	*ret = realloc(*ret, *ret_size + 1);
	return 0;
}

static uint32_t name(const char *text)
{
	size_t at = kernel.names_size;

	assert_true(at + strlen(text) < NAMES_MAX);
	strcpy(kernel.names + at, text);
	kernel.names_size += strlen(text) + 1;
	return at;
}

static void put(uint32_t word)
{
	assert_true(kernel.n_words < WORDS_MAX);
	kernel.types[kernel.n_words++] = word;
}

static void put_type(const char *text, uint32_t kind, bool flag, uint32_t n, uint32_t n_words)
{
	put(name(text));
	put((uint32_t)flag << 31 | kind << 24 | n);
	put(4);
	/* Misparsing these words as types would find task_struct. */
	for (uint32_t i = 0; i < n_words; i++)
		put(i % 3 == 0 ? name("task_struct") : i % 3 == 1 ? BTF_KIND_STRUCT << 24 : 0);
}

static void put_member(const char *text, uint32_t offset)
{
	put(name(text));
	put(1);
	put(offset);
}

static void finish(void)
{
	kernel.header = (struct btf_header){
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = sizeof(kernel.header),
		.type_len = kernel.n_words * sizeof(uint32_t),
		.str_off = kernel.n_words * sizeof(uint32_t),
		.str_len = kernel.names_size,
	};
}

/* The structure looked up, after all other kinds of types. */
static int set_up(void **state)
{
	memset(&kernel, 0, sizeof(kernel));
	name("");
	put_type("int", BTF_KIND_INT, false, 0, 1);
	put_type("", BTF_KIND_PTR, false, 0, 0);
	put_type("", BTF_KIND_ARRAY, false, 0, 3);
	put_type("a", BTF_KIND_ENUM, false, 2, 4);
	put_type("a", BTF_KIND_ENUM64, false, 2, 6);
	put_type("task_struct", BTF_KIND_FWD, false, 0, 0);
	put_type("task_struct", BTF_KIND_TYPEDEF, false, 0, 0);
	put_type("", BTF_KIND_FUNC_PROTO, false, 2, 4);
	put_type("f", BTF_KIND_FUNC, false, 0, 0);
	put_type("v", BTF_KIND_VAR, false, 0, 1);
	put_type("s", BTF_KIND_DATASEC, false, 1, 3);
	put_type("", BTF_KIND_FLOAT, false, 0, 0);
	put_type("t", BTF_KIND_DECL_TAG, false, 0, 1);
	put_type("t", BTF_KIND_TYPE_TAG, false, 0, 0);
	put_type("u", BTF_KIND_UNION, false, 1, 0);
	put_member("pid", 0);
	put_type("task", BTF_KIND_STRUCT, false, 1, 0);
	put_member("pid", 8);
	put_type("task_struct", BTF_KIND_STRUCT, false, 3, 0);
	put_member("stack", 0);
	put_member("pid", 64 * 8);
	put_member("flag", 64 * 8 + 33);
	/* With kind_flag an offset has the bitfield size in its top 8 bits. */
	put_type("bits", BTF_KIND_STRUCT, true, 2, 0);
	put_member("whole", 8 << 24 | 5 * 8);
	put_member("bit", 1 << 24 | 43);
	finish();
	return 0;
}

static void assert_found(const char *structure, const char *field, int expected)
{
	uint32_t offset;
	int r = btf_find_field(structure, field, &offset);

	assert_int_equal(r < 0 ? r : (int)offset, expected);
}

static void test_a_field_has_its_offset_in_bytes(void **state)
{
	assert_found("task_struct", "stack", 0);
	assert_found("task_struct", "pid", 64);
	assert_found("task", "pid", 1);
	assert_found("bits", "whole", 5);
}

static void test_a_bitfield_has_no_offset_in_bytes(void **state)
{
	assert_found("task_struct", "flag", -EINVAL);
	assert_found("bits", "bit", -EINVAL);
}

static void test_missing_fields_are_not_found(void **state)
{
	assert_found("task_struct", "tgid", -ENOENT);
	assert_found("task_struct", "pi", -ENOENT);
	assert_found("u", "pid", -ENOENT); /* a union is not a structure */
	assert_found("no", "pid", -ENOENT);
	kernel.error = -ENOENT;
	assert_found("task_struct", "pid", -ENOENT);
	kernel.error = -EFBIG;
	assert_found("task_struct", "pid", -EFBIG);
}

static void test_a_newer_header_is_longer(void **state)
{
	kernel.padding = 8;
	kernel.header.hdr_len += kernel.padding;
	assert_found("task_struct", "pid", 64);
}

static void test_a_contradicting_header_is_refused(void **state)
{
	struct btf_header good = kernel.header, *header = &kernel.header;

	header->magic = 0xeb9e;
	assert_found("task_struct", "pid", -EINVAL);
	*header = good;
	header->hdr_len = 8;
	header->type_off = sizeof(*header) - header->hdr_len;
	header->str_off += header->type_off;
	assert_found("task_struct", "pid", -EINVAL);
	*header = good;
	header->type_off = UINT32_MAX;
	assert_found("task_struct", "pid", -EINVAL);
	*header = good;
	header->str_off = 0x80000000;
	assert_found("task_struct", "pid", -EINVAL);
	*header = good;
	header->type_off = 4; /* types may overlap the names */
	kernel.skipped = 1;
	assert_found("task_struct", "pid", -EINVAL);
}

/* Each missing byte is noticed without reading past the end. */
static void test_truncated_btf_is_refused(void **state)
{
	size_t size = sizeof(kernel.header) + kernel.header.type_len + kernel.header.str_len;

	for (kernel.skipped = 1; kernel.skipped <= size; kernel.skipped++)
		assert_found("task_struct", "pid", -EINVAL);
}

static void test_names_must_end_within_their_section(void **state)
{
	kernel.names[kernel.names_size - 1] = 'x';
	assert_found("task_struct", "pid", -EINVAL);
	kernel.names[kernel.names_size - 1] = 0;
	kernel.types[0] = UINT32_MAX; /* invalid name offset */
	assert_found("task_struct", "pid", 64);
}

static void test_types_must_end_within_their_section(void **state)
{
	while (kernel.header.type_len) {
		uint32_t offset;
		int r;

		/* The removed words lie between types and names. */
		kernel.header.type_len -= sizeof(uint32_t);
		kernel.header.str_off -= sizeof(uint32_t);
		r = btf_find_field("bits", "whole", &offset);
		assert_true(r == -EINVAL || r == -ENOENT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_field_has_its_offset_in_bytes, set_up),
		cmocka_unit_test_setup(test_a_bitfield_has_no_offset_in_bytes, set_up),
		cmocka_unit_test_setup(test_missing_fields_are_not_found, set_up),
		cmocka_unit_test_setup(test_a_newer_header_is_longer, set_up),
		cmocka_unit_test_setup(test_a_contradicting_header_is_refused, set_up),
		cmocka_unit_test_setup(test_truncated_btf_is_refused, set_up),
		cmocka_unit_test_setup(test_names_must_end_within_their_section, set_up),
		cmocka_unit_test_setup(test_types_must_end_within_their_section, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
