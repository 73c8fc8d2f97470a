/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/elf/dynamic-symbol.h"

enum {
	HEAD = 4, /* words: buckets, first symbol, words of the filter (8 bytes), its shift */
	HASH_BEGIN = 5381,
	IS_LAST = 1, /* bit of a hash in a chain */
};

struct symbols {
	Elf *elf;
	Elf_Data *data;
	size_t names; /* section */
	size_t n;
	const char *hashes; /* NULL: there is no table */
	uint64_t n_hashes;  /* words of it */
};

static void take_symbols(Elf_Scn *section, const GElf_Shdr *header, struct symbols *ret)
{
	ret->data = elf_getdata(section, NULL);
	ret->names = header->sh_link;
	ret->n = ret->data && header->sh_entsize ? ret->data->d_size / header->sh_entsize : 0;
	if (ret->n > DYNAMIC_SYMBOLS_MAX)
		ret->n = DYNAMIC_SYMBOLS_MAX;
}

static void take_hashes(Elf_Scn *section, struct symbols *ret)
{
	const Elf_Data *data = elf_rawdata(section, NULL);

	ret->hashes = data ? data->d_buf : NULL;
	ret->n_hashes = ret->hashes ? data->d_size / sizeof(uint32_t) : 0;
}

static void find_tables(Elf *elf, struct symbols *ret)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	*ret = (struct symbols){ .elf = elf };
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header))
			continue;
		if (header.sh_type == SHT_DYNSYM && !ret->data)
			take_symbols(section, &header, ret);
		if (header.sh_type == SHT_GNU_HASH && !ret->hashes)
			take_hashes(section, ret);
	}
}

/* Whether the i-th symbol has a name, and is defined. */
static bool is_named(const struct symbols *symbols, size_t i, const char *name, GElf_Sym *ret)
{
	const char *text;

	if (i >= symbols->n || !gelf_getsym(symbols->data, i, ret) || ret->st_shndx == SHN_UNDEF)
		return false;
	text = elf_strptr(symbols->elf, symbols->names, ret->st_name);
	return text && !strcmp(text, name);
}

static bool find_by_name(const struct symbols *symbols, const char *name, GElf_Sym *ret)
{
	for (size_t i = 0; i < symbols->n; i++)
		if (is_named(symbols, i, name, ret))
			return true;
	return false;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = HASH_BEGIN;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

static uint32_t hash_word_at(const struct symbols *symbols, uint64_t i)
{
	uint32_t word;

	memcpy(&word, symbols->hashes + i * sizeof(word), sizeof(word));
	return word;
}

/* A table that is damaged leads nowhere. */
static bool find_by_hash(const struct symbols *symbols, const char *name, GElf_Sym *ret)
{
	uint32_t hash = hash_of(name);
	uint64_t n_buckets = hash_word_at(symbols, 0), first = hash_word_at(symbols, 1);
	uint64_t buckets = HEAD + 2 * (uint64_t)hash_word_at(symbols, 2),
		 chains = buckets + n_buckets;

	if (!n_buckets || chains > symbols->n_hashes)
		return false;
	for (uint64_t i = hash_word_at(symbols, buckets + hash % n_buckets);
	     i >= first && i < symbols->n && chains + i - first < symbols->n_hashes; i++) {
		uint32_t other = hash_word_at(symbols, chains + i - first);

		if ((other | IS_LAST) == (hash | IS_LAST) && is_named(symbols, i, name, ret))
			return true;
		if (other & IS_LAST)
			return false;
	}
	return false;
}

bool dynamic_symbol_find(Elf *elf, const char *name, GElf_Sym *ret)
{
	struct symbols symbols;

	find_tables(elf, &symbols);
	return symbols.hashes && symbols.n_hashes >= HEAD ? find_by_hash(&symbols, name, ret)
							  : find_by_name(&symbols, name, ret);
}
