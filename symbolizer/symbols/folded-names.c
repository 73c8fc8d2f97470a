/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <elf.h>
#include <string.h>

#include "symbolizer/symbols/folded-names.h"

static bool is_mangled(const char *name)
{
	return !strncmp(name, "_Z", 2);
}

/* The size without the hash of Rust's legacy mangling: "17h", 16 digits, "E". */
static size_t size_without_hash(const char *name)
{
	const size_t hash = 20;
	size_t size = strlen(name);

	return is_mangled(name) && size > hash && !strncmp(name + size - hash, "17h", 3) &&
			       name[size - 1] == 'E'
		       ? size - hash
		       : size;
}

/* C1, C2, D0 …: only the digit behind the same letter differs. */
static bool differ_in_kind(const char *a, const char *b, size_t size)
{
	size_t at = 0;

	while (at < size && a[at] == b[at])
		at++;
	return at > 0 && at < size && (a[at - 1] == 'C' || a[at - 1] == 'D') && a[at] >= '0' &&
	       a[at] <= '5' && b[at] >= '0' && b[at] <= '5' &&
	       !memcmp(a + at + 1, b + at + 1, size - at - 1);
}

bool folded_names_are_same(const char *a, const char *b)
{
	size_t size;

	if (!is_mangled(a) || !is_mangled(b))
		return !strcmp(a, b);
	size = size_without_hash(a);
	return size == size_without_hash(b) && (!memcmp(a, b, size) || differ_in_kind(a, b, size));
}

static bool is_function_of_its_own(const struct symbol *symbol, const struct symbol *kept,
				   bool has_versions)
{
	return !has_versions && symbol->is_sized && symbol->size == kept->size &&
	       !*symbol->suffix &&
	       (is_mangled(symbol->name) ||
		(*symbol->name != '_' && symbol->binding == kept->binding &&
		 symbol->binding != STB_WEAK));
}

static bool is_new(const char *name, const struct symbol *kept, const char **list, size_t n)
{
	if (folded_names_are_same(name, kept->name))
		return false;
	for (size_t i = 0; i < n; i++)
		if (folded_names_are_same(name, list[i]))
			return false;
	return true;
}

size_t folded_names_find(const struct symbol *symbols, size_t n, bool has_versions,
			 const char *ret[FOLDED_NAMES_MAX])
{
	size_t n_found = 0;

	if (!is_function_of_its_own(&symbols[0], &symbols[0], has_versions))
		return 0;
	if (n > FOLDED_NAMES_MAX)
		n = FOLDED_NAMES_MAX;
	for (size_t i = 1; i < n; i++)
		if (is_function_of_its_own(&symbols[i], &symbols[0], has_versions) &&
		    is_new(symbols[i].name, &symbols[0], ret, n_found))
			ret[n_found++] = symbols[i].name;
	return n_found;
}
