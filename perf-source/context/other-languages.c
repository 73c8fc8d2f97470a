/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "perf-source/context/other-languages.h"

enum { IDENT_READ = 64 };

/* "$LuaVersion: Lua 5.4.4  Copyright …" */
static void read_lua_version(const struct loaded_image *image, char ret[RUNTIME_VERSION_SIZE])
{
	char text[IDENT_READ + 1] = "";
	unsigned int major, minor, patch;
	GElf_Sym symbol;

	if (loaded_image_find_symbol(image, "lua_ident", &symbol) &&
	    loaded_image_read(image, symbol.st_value, text, IDENT_READ) &&
	    sscanf(text, "$LuaVersion: Lua %3u.%3u.%3u", &major, &minor, &patch) == 3)
		snprintf(ret, RUNTIME_VERSION_SIZE, "%u.%u.%u", major, minor, patch);
}

static const struct {
	const char *files[2]; /* how the names of those begin that may hold it */
	const char *name, *symbol;
	void (*read_version)(const struct loaded_image *image, char ret[RUNTIME_VERSION_SIZE]);
} languages[OTHER_LANGUAGES_MAX] = {
	{ { "lua", "liblua" }, "Lua", "lua_newstate", read_lua_version },
	{ { "beam.", "beam." }, "Erlang", "enif_make_badarg", NULL },
	{ { "libcoreclr.", "libcoreclr." }, ".NET", "coreclr_initialize", NULL },
};

int other_language_in(const char *path)
{
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; slash && i < OTHER_LANGUAGES_MAX; i++)
		for (size_t j = 0; j < 2; j++)
			if (!strncmp(slash + 1, languages[i].files[j],
				     strlen(languages[i].files[j])))
				return i;
	return -1;
}

bool other_language_find(const struct loaded_image *image, unsigned int *ret,
			 char ret_version[RUNTIME_VERSION_SIZE])
{
	GElf_Sym symbol;

	for (size_t i = 0; i < OTHER_LANGUAGES_MAX; i++) {
		if (!loaded_image_find_symbol(image, languages[i].symbol, &symbol))
			continue;
		*ret = i;
		*ret_version = 0;
		if (languages[i].read_version)
			languages[i].read_version(image, ret_version);
		return true;
	}
	return false;
}

const char *other_language_name(unsigned int language)
{
	return languages[language].name;
}
