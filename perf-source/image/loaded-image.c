/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>
#include <unistd.h>

#include "common/elf/dynamic-symbol.h"
#include "common/elf/elf-section.h"
#include "perf-source/image/loaded-image.h"

enum { CODE_READ_MAX = 256 /* bytes of a function that are looked at */ };

bool loaded_image_find_symbol(const struct loaded_image *image, const char *name, GElf_Sym *ret)
{
	return dynamic_symbol_find(image->elf->elf, name, ret);
}

bool loaded_image_read(const struct loaded_image *image, uint64_t address, void *ret, size_t size)
{
	return pread(image->memory, ret, size, image->bias + address) == (ssize_t)size;
}

bool loaded_image_refers_to(const struct loaded_image *image, const GElf_Sym *function,
			    const GElf_Sym *variable, int place)
{
	uint8_t code[CODE_READ_MAX];
	size_t size = function->st_size < sizeof(code) ? function->st_size : sizeof(code);
	uint64_t at = variable->st_value + place;

	if (!loaded_image_read(image, function->st_value, code, size))
		return false;
	for (size_t i = 0; i + sizeof(int32_t) <= size; i++) {
		uint64_t end = function->st_value + i + sizeof(int32_t);
		int32_t operand;

		memcpy(&operand, code + i, sizeof(operand));
		if (operand == place || (uint32_t)operand == at || end + operand == at ||
		    end + operand == at + sizeof(int32_t))
			return true;
	}
	return false;
}

bool loaded_image_find_text(const struct loaded_image *image, const char *section, const char *text,
			    char *ret, size_t size)
{
	struct elf_section at = elf_section_before_first(image->elf->elf);

	while (elf_section_next(&at)) {
		const Elf_Data *data = !strcmp(at.name, section) ? elf_section_read(&at) : NULL;
		const char *found = data && data->d_buf
					    ? memmem(data->d_buf, data->d_size, text, strlen(text))
					    : NULL;
		size_t left;

		if (!found)
			continue;
		found += strlen(text);
		left = (const char *)data->d_buf + data->d_size - found;
		left = left < size ? left : size - 1;
		memcpy(ret, found, left);
		ret[left] = 0;
		return true;
	}
	return false;
}
