/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/growing-list.h"
#include "live-unwinder/v8/v8-functions.h"

#define PREFIX "Builtins_"

struct v8_functions *v8_functions_free(struct v8_functions *functions)
{
	if (functions)
		free(functions->list);
	free(functions);
	return NULL;
}

/* It is called before its caller has made a frame, which it then makes. */
static bool is_other(const char *name)
{
	static const char prologue[] = PREFIX "BaselineOutOfLinePrologue";

	return strncmp(name, PREFIX, strlen(PREFIX)) != 0 ||
	       !strncmp(name, prologue, strlen(prologue));
}

static int compare(const void *a, const void *b)
{
	const struct v8_function *left = a, *right = b;

	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/* Adds the builtins of a symbol table. 0 or -ENOMEM. */
static int add_symbols(struct v8_functions *functions, const struct elf_image *elf, Elf_Data *data,
		       const GElf_Shdr *header)
{
	size_t n = header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	int r = 0;

	for (size_t i = 0; i < n && functions->n < V8_BUILTINS_MAX && r == 0; i++) {
		struct v8_function function;
		const char *name;
		GElf_Sym symbol;

		if (!gelf_getsym(data, i, &symbol) || !symbol.st_size || symbol.st_size >> 31)
			continue;
		name = elf_strptr(elf->elf, header->sh_link, symbol.st_name);
		function.size = symbol.st_size;
		if (name && !is_other(name) &&
		    elf_image_offset(elf, symbol.st_value, &function.offset))
			r = GROWING_LIST_ADD(functions->list, functions->n, function);
	}
	return r;
}

struct v8_functions *v8_functions_read(const struct elf_image *elf)
{
	struct v8_functions *functions = calloc(1, sizeof(*functions));
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while (functions && (section = elf_nextscn(elf->elf, section))) {
		Elf_Data *data = gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB &&
						 header.sh_size <= V8_BUILTINS_SYMBOLS_MAX
					 ? elf_getdata(section, NULL)
					 : NULL;

		if (data && add_symbols(functions, elf, data, &header) < 0)
			return v8_functions_free(functions);
	}
	if (functions && !functions->n && v8_embedded_add(functions, elf) < 0)
		return v8_functions_free(functions);
	if (!functions || !functions->n)
		return v8_functions_free(functions);
	qsort(functions->list, functions->n, sizeof(*functions->list), compare);
	return functions;
}
