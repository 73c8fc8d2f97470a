/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The interpreters that are looked for. */
#include <string.h>

#include "perf-source/context/runtime.h"

struct interpreter {
	enum runtime_state (*find)(const struct loaded_image *image, struct runtime *ret);
	const char *files[2]; /* how the names of those begin that may hold it */
	const char *language, *name, *versions;
	const char *telling_options; /* with which its compilers tell all */
};

static const struct interpreter interpreters[SCRIPT_LANGUAGES_MAX] = {
	[SCRIPT_CPYTHON] = { cpython_find,
			     { "python", "libpython" },
			     "Python",
			     "CPython",
			     "3.8 to 3.15" },
	[SCRIPT_PHP] = { php_find, { "php", "libphp" }, "PHP", "PHP", "8.1 to 8.6" },
	[SCRIPT_RUBY] = { ruby_find, { "ruby", "libruby" }, "Ruby", "Ruby", "3.1 to 3.4" },
	[SCRIPT_LUA] = { lua_find, { "lua", "liblua" }, "Lua", "Lua", "5.4 and 5.5" },
	[SCRIPT_LUAJIT] = { luajit_find, { "luajit", "libluajit" }, "Lua", "LuaJIT", "2.1 (GC64)" },
	[SCRIPT_PERL] = { perl_find,
			  { "perl", "libperl" },
			  "Perl",
			  "Perl",
			  "5.32 and 5.36 to 5.44" },
	[SCRIPT_HOTSPOT] = { hotspot_find,
			     { "libjvm", "libjvm" },
			     "Java",
			     "HotSpot",
			     "JDK 11, 17, 21, 24 to 27",
			     "-XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints" },
	[SCRIPT_BEAM] = { beam_find, { "beam.", "beam." }, "Erlang", "OTP", "25 and 27" },
	[SCRIPT_DOTNET] = { dotnet_find,
			    /* What programs of a single file map is that of their code. */
			    { "libcoreclr.", "memfd:doublemapper" },
			    ".NET",
			    ".NET",
			    "9 and 10" },
	[SCRIPT_V8] = { v8_find,
			{ "node", "libnode" },
			"JavaScript",
			"V8",
			"those of node 18, 20, and 22 to 26" },
};

static bool begins_with(const char *text, const char *begin)
{
	return !strncmp(text, begin, strlen(begin));
}

bool runtime_may_be_in(const char *path)
{
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; slash && i < SCRIPT_LANGUAGES_MAX; i++)
		if (begins_with(slash + 1, interpreters[i].files[0]) ||
		    begins_with(slash + 1, interpreters[i].files[1]))
			return true;
	return false;
}

/* Whether the image's memory can be read: that of a process that ends is gone. */
static bool is_there(const struct loaded_image *image)
{
	char byte;

	return loaded_image_read(image, image->elf->low, &byte, sizeof(byte));
}

void runtime_find(const struct loaded_image *image, struct runtime *ret)
{

	for (size_t i = 0; i < SCRIPT_LANGUAGES_MAX && ret->state != RUNTIME_KNOWN; i++) {
		struct runtime found = { .image = ret->image, .language = i };

		found.state = interpreters[i].find(image, &found);
		if (found.state != RUNTIME_NONE)
			*ret = found;
	}
	if (ret->state != RUNTIME_KNOWN && !is_there(image))
		ret->state = RUNTIME_NONE;
}

const char *runtime_language_name(unsigned int language)
{
	return interpreters[language].language;
}

const char *runtime_interpreter_name(unsigned int language)
{
	return interpreters[language].name;
}

const char *runtime_known_versions(unsigned int language)
{
	return interpreters[language].versions;
}

const char *runtime_telling_options(enum script_language language)
{
	return interpreters[language].telling_options;
}
