/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/file/read-file.h"
#include "perf-source/bpf/btf.h"

enum {
	BTF_SIZE_MAX = 64 * 1024 * 1024,
	BITS_A_BYTE = 8,
	/* Up to the last field in use: headers of newer kernels are longer. */
	HEADER_SIZE = offsetof(struct btf_header, str_len) + sizeof(uint32_t),
};

struct types {
	const char *at, *end; /* of the types not yet visited */
	const char *names;
	size_t names_size;
};

static int begin(const char *data, size_t size, struct types *ret)
{
	struct btf_header header;

	if (size < HEADER_SIZE)
		return -EINVAL;
	memcpy(&header, data, HEADER_SIZE);
	if (header.magic != BTF_MAGIC || header.hdr_len < HEADER_SIZE || header.hdr_len > size)
		return -EINVAL;
	size -= header.hdr_len;
	if (header.type_off > size || header.type_len > size - header.type_off ||
	    header.str_off > size || header.str_len > size - header.str_off || !header.str_len)
		return -EINVAL;
	ret->at = data + header.hdr_len + header.type_off;
	ret->end = ret->at + header.type_len;
	ret->names = data + header.hdr_len + header.str_off;
	ret->names_size = header.str_len;
	return ret->names[ret->names_size - 1] ? -EINVAL : 0;
}

static bool is_named(const struct types *types, uint32_t name, const char *wanted)
{
	return name < types->names_size && !strcmp(types->names + name, wanted);
}

/* Bytes that follow a struct btf_type of its kind. */
static size_t size_behind(const struct btf_type *type)
{
	size_t n = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return n * sizeof(struct btf_enum);
	case BTF_KIND_FUNC_PROTO:
		return n * sizeof(struct btf_param);
	case BTF_KIND_VAR:
		return sizeof(struct btf_var);
	case BTF_KIND_DATASEC:
		return n * sizeof(struct btf_var_secinfo);
	case BTF_KIND_DECL_TAG:
		return sizeof(struct btf_decl_tag);
	case BTF_KIND_ENUM64:
		return n * sizeof(struct btf_enum64);
	default:
		return 0;
	}
}

static int find_member(const struct types *types, const struct btf_type *type,
		       const struct btf_member *members, const char *field, uint32_t *ret)
{
	for (size_t i = 0; i < BTF_INFO_VLEN(type->info); i++) {
		uint32_t bits = BTF_INFO_KFLAG(type->info)
					? BTF_MEMBER_BIT_OFFSET(members[i].offset)
					: members[i].offset;

		if (!is_named(types, members[i].name_off, field))
			continue;
		*ret = bits / BITS_A_BYTE;
		return bits % BITS_A_BYTE ? -EINVAL : 0;
	}
	return -ENOENT;
}

/* Types, and all that follows them, consist of aligned 32-bit words. */
static int find_field(struct types *types, const char *structure, const char *field, uint32_t *ret)
{
	while ((size_t)(types->end - types->at) >= sizeof(struct btf_type)) {
		const struct btf_type *type = (const void *)types->at;
		size_t behind = size_behind(type);

		types->at += sizeof(*type);
		if (behind > (size_t)(types->end - types->at))
			return -EINVAL;
		if (BTF_INFO_KIND(type->info) == BTF_KIND_STRUCT &&
		    is_named(types, type->name_off, structure))
			return find_member(types, type, (const void *)types->at, field, ret);
		types->at += behind;
	}
	return -ENOENT;
}

int btf_find_field(const char *structure, const char *field, uint32_t *ret)
{
	_cleanup_free_ char *data = NULL;
	struct types types = { 0 };
	size_t size;
	int r = read_file("/sys/kernel/btf/vmlinux", BTF_SIZE_MAX, &data, &size);

	if (r == 0)
		r = begin(data, size, &types);
	return r < 0 ? r : find_field(&types, structure, field, ret);
}

int btf_find_pids(uint32_t *ret)
{
	uint32_t tgid_offset;
	int r = btf_find_field("task_struct", "pid", ret);

	if (r == 0)
		r = btf_find_field("task_struct", "tgid", &tgid_offset);
	return r == 0 && tgid_offset != *ret + sizeof(uint32_t) ? -EINVAL : r;
}
