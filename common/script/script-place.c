/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/script/script-place.h"

static const char *const paths[SCRIPT_LANGUAGES_MAX] = {
	[SCRIPT_CPYTHON] = "[cpython]", [SCRIPT_PHP] = "[php]",
	[SCRIPT_V8] = "[v8]",		[SCRIPT_RUBY] = "[ruby]",
	[SCRIPT_HOTSPOT] = "[hotspot]", [SCRIPT_PERL] = "[perl]",
	[SCRIPT_LUA] = "[lua]",		[SCRIPT_BEAM] = "[beam]",
	[SCRIPT_LUAJIT] = "[luajit]",	[SCRIPT_DOTNET] = "[dotnet]",
};

const char *script_path(enum script_language language)
{
	return paths[language];
}

static const char *const frame_types[SCRIPT_LANGUAGES_MAX] = {
	[SCRIPT_CPYTHON] = "cpython", [SCRIPT_PHP] = "php",	[SCRIPT_V8] = "v8js",
	[SCRIPT_RUBY] = "ruby",	      [SCRIPT_HOTSPOT] = "jvm", [SCRIPT_PERL] = "perl",
	[SCRIPT_LUA] = "lua",	      [SCRIPT_BEAM] = "beam",	[SCRIPT_LUAJIT] = "lua",
	[SCRIPT_DOTNET] = "dotnet",
};

const char *script_frame_type(enum script_language language)
{
	return frame_types[language];
}

enum script_language script_language_of_path(const char *path)
{
	enum script_language language = 0;

	while (language < SCRIPT_LANGUAGES_MAX && strcmp(paths[language], path) != 0)
		language++;
	return language;
}

enum script_language script_language_of_name(const char *name, size_t size)
{
	enum script_language language = 0;

	while (language < SCRIPT_LANGUAGES_MAX && (strlen(paths[language]) != size + strlen("[]") ||
						   memcmp(paths[language] + 1, name, size) != 0))
		language++;
	return language;
}
