/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "perf-source/context/cpython-version.h"

enum {
	CODE_READ_MAX = 128, /* bytes of a function that are looked at */
	TEXT_MAX = 16,
	NUMBERS = 3,
	NUMBER_MAX = 255,
};

/* Reads "3.9.18", with anything but a digit behind it. 0: it is another text. */
static uint32_t parse(const char *text)
{
	uint32_t version = 0;

	for (size_t i = 0; i < NUMBERS; i++) {
		unsigned long number;
		char *end;

		if (!isdigit((unsigned char)*text))
			return 0;
		number = strtoul(text, &end, 10);
		if (number > NUMBER_MAX || (i + 1 < NUMBERS && *end != '.'))
			return 0;
		version = version << 8 | number;
		text = end + 1;
	}
	return version << 8;
}

/* The version that a text begins with, which lies at an address as linked. */
static uint32_t read_text(const struct loaded_image *image, uint64_t address)
{
	char text[TEXT_MAX + 1] = "";

	return loaded_image_read(image, address, text, TEXT_MAX) ? parse(text) : 0;
}

static uint32_t find_text(const struct loaded_image *image)
{
	uint8_t code[CODE_READ_MAX];
	uint32_t version = 0;
	GElf_Sym function;
	size_t size;

	if (!loaded_image_find_symbol(image, "Py_GetVersion", &function))
		return 0;
	size = function.st_size < sizeof(code) ? function.st_size : sizeof(code);
	if (!loaded_image_read(image, function.st_value, code, size))
		return 0;
	/* An operand is an address, or a distance from the instruction's end. */
	for (size_t i = 0; i + sizeof(int32_t) <= size && !version; i++) {
		uint64_t end = function.st_value + i + sizeof(int32_t);
		int32_t operand;

		memcpy(&operand, code + i, sizeof(operand));
		version = read_text(image, end + operand);
		if (!version && operand > 0)
			version = read_text(image, operand);
	}
	return version;
}

uint32_t cpython_version_find(const struct loaded_image *image)
{
	uint32_t version;
	GElf_Sym symbol;

	if (loaded_image_find_symbol(image, "Py_Version", &symbol))
		return loaded_image_read(image, symbol.st_value, &version, sizeof(version))
			       ? version
			       : 0;
	return find_text(image);
}
