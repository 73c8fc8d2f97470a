/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "common/script/dotnet-code.h"
#include "symbolizer/script/dotnet-method.h"

/* Appends a part of a name, with a dot in front; names are cut where there is no room. */
static void append(char to[SCRIPT_TEXT_MAX], const char part[DOTNET_NAME_MAX])
{
	size_t n = strlen(to);

	snprintf(to + n, SCRIPT_TEXT_MAX - n, "%s%.*s", n && *part ? "." : "", DOTNET_NAME_MAX - 1,
		 part);
}

bool dotnet_method_decode(const struct wire_memory *record, struct script_code_text *ret)
{
	struct dotnet_code code;

	*ret->name = *ret->file = 0;
	if (record->bytes.size != sizeof(code))
		return false;
	memcpy(&code, record->bytes.data, sizeof(code));
	if (!*code.name)
		return true;
	append(ret->name, code.name_space);
	for (size_t i = DOTNET_TYPES_MAX; i--;)
		append(ret->name, code.types[i]);
	append(ret->name, code.name);
	return true;
}
