/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/binary-search.h"
#include "common/base/hash.h"
#include "live-unwinder/v8/v8-builtins.h"

enum { FRAMES_WITHIN = 4096 /* bytes of a builtin that are searched for setups of frames */ };

void v8_builtins_init(struct v8_builtins *builtins, struct elf_cache *files)
{
	builtins->files = files;
	builtins->arch = unwind_arch_find(files->client.machine);
	pair_map_init(&builtins->by_image, V8_BUILTINS_IMAGES_MAX);
}

static void free_each(uint64_t image, uint64_t zero, uint64_t functions, void *arg)
{
	v8_functions_free((struct v8_functions *)functions);
}

void v8_builtins_deinit(struct v8_builtins *builtins)
{
	if (!builtins->files)
		return;
	pair_map_each(&builtins->by_image, free_each, NULL);
	pair_map_deinit(&builtins->by_image);
}

void v8_builtins_forget(struct v8_builtins *builtins, uint64_t image)
{
	uint64_t *known = builtins->files ? pair_map_find(&builtins->by_image, image, 0) : NULL;

	if (!known)
		return;
	free_each(image, 0, *known, NULL);
	pair_map_remove(&builtins->by_image, image, 0);
}

/* Those of an image, read at first use; NULL: none. */
static const struct v8_functions *get_functions(struct v8_builtins *builtins,
						const struct image *image)
{
	struct v8_functions *functions = NULL;
	struct elf_image *elf;
	uint64_t *known;

	if (!builtins->files)
		return NULL;
	known = pair_map_find(&builtins->by_image, image->number, 0);
	if (known)
		return (struct v8_functions *)*known;
	elf = elf_cache_get(builtins->files, (struct image *)image);
	if (elf && elf->elf)
		functions = v8_functions_read(elf);
	if (pair_map_add(&builtins->by_image, image->number, 0, (uintptr_t)functions) == -ENOSPC) {
		pair_map_each(&builtins->by_image, free_each, NULL);
		pair_map_clear(&builtins->by_image);
		pair_map_add(&builtins->by_image, image->number, 0, (uintptr_t)functions);
	}
	return functions;
}

/* `functions` may be NULL. */
static const struct v8_function *find_in(const struct v8_functions *functions, uint64_t offset)
{
	size_t n = functions
			   ? BINARY_SEARCH(i, 0, functions->n, functions->list[i].offset <= offset)
			   : 0;

	return n && offset - functions->list[n - 1].offset < functions->list[n - 1].size
		       ? &functions->list[n - 1]
		       : NULL;
}

static const struct v8_function *find_function(struct v8_builtins *builtins,
					       const struct image *image, uint64_t offset)
{
	return find_in(get_functions(builtins, image), offset);
}

bool v8_builtins_has(struct v8_builtins *builtins, const struct image *image, uint64_t offset)
{
	return find_function(builtins, image, offset);
}

static size_t read_bytes(const struct elf_image *elf, const struct v8_function *function,
			 uint64_t offset, uint8_t *to, size_t n_max)
{
	uint64_t size = function->size - offset;
	ssize_t n;

	if (size > n_max)
		size = n_max;
	n = pread(elf->fd, to, size, function->offset + offset);
	return n > 0 ? n : 0;
}

bool v8_builtins_has_met(const struct v8_builtins *builtins, uint64_t image, uint64_t offset)
{
	const uint64_t *known = pair_map_find(&builtins->by_image, image, 0);

	return known && find_in((const struct v8_functions *)*known, offset);
}

static void look_at_code(const struct v8_builtins *builtins, const struct elf_image *elf,
			 const struct v8_function *function, struct v8_builtin_place *ret)
{
	uint8_t begin[FRAMES_WITHIN], at[CODE_FRAME_BYTES];
	struct code_place place = {
		.size = function->size,
		.offset = ret->offset - function->offset,
		.is_exact = true,
		.begin = begin,
		.at = at,
	};
	size_t n = read_bytes(elf, function, 0, begin, sizeof(begin));

	place.n_begin = n < CODE_FRAME_BYTES ? n : CODE_FRAME_BYTES;
	place.n_at = read_bytes(elf, function, place.offset, at, sizeof(at));
	ret->has_rule = builtins->arch->find_frame(&place, &ret->rule) == CODE_FRAME_RULE;
	ret->n_sizes =
		builtins->arch->find_frame_sizes(begin, n, ret->sizes, V8_BUILTINS_SIZES_MAX);
}

const struct v8_builtin_place *v8_builtins_find(struct v8_builtins *builtins,
						const struct image *image, uint64_t offset)
{
	struct v8_builtin_place *cached =
		&builtins->cached[hash_place(image->number << 32 ^ offset, V8_BUILTINS_CACHED)];
	const struct v8_function *function;
	struct elf_image *elf;

	if (!builtins->arch || !builtins->arch->find_frame)
		return NULL;
	if (cached->image == image->number && cached->offset == offset)
		return cached;
	function = find_function(builtins, image, offset);
	elf = function ? elf_cache_get(builtins->files, (struct image *)image) : NULL;
	if (!elf || elf->fd < 0)
		return NULL;
	*cached = (struct v8_builtin_place){ .image = image->number, .offset = offset };
	look_at_code(builtins, elf, function, cached);
	return cached;
}

bool v8_builtin_has_frame_of(const struct v8_builtin_place *place, uint64_t size)
{
	for (size_t i = 0; i < place->n_sizes; i++)
		if (place->sizes[i] == size)
			return true;
	return false;
}
