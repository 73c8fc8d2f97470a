/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "perf-source/context/other-languages.h"

static const struct {
	const char *files[2]; /* how the names of those begin that may hold it */
	const char *name, *symbol;
} languages[OTHER_LANGUAGES_MAX] = {
	{ { "libcoreclr.", "libcoreclr." }, ".NET", "coreclr_initialize" },
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
		return true;
	}
	return false;
}

const char *other_language_name(unsigned int language)
{
	return languages[language].name;
}
