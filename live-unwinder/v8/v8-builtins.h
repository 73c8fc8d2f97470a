/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * V8's builtins (node): code that V8's own compiler made when the program was built. It lies in the
 * program's file without unwind information, but most of it keeps frame pointers, and calls and is
 * called by JIT code.
 */
#pragma once

#include "common/base/pair-map.h"
#include "common/elf/elf-cache.h"
#include "common/unwind/unwind-arch.h"
#include "live-unwinder/v8/v8-functions.h"

enum {
	V8_BUILTINS_IMAGES_MAX = 64, /* beyond it all are looked for again */
	V8_BUILTINS_CACHED = 1024,   /* a power of two */
	V8_BUILTINS_SIZES_MAX = 2,
};

/* What the code of a builtin proves at one place. */
struct v8_builtin_place {
	uint64_t image, offset; /* of a file */
	bool has_rule;
	struct unwind_rule rule;
	uint32_t sizes[V8_BUILTINS_SIZES_MAX]; /* of frames that the builtin sets up */
	size_t n_sizes;
};

struct v8_builtins {
	struct elf_cache *files; /* borrowed */
	const struct unwind_arch *arch;
	struct pair_map by_image; /* (image, 0) → struct v8_functions *, NULL: it has none */
	struct v8_builtin_place cached[V8_BUILTINS_CACHED];
};

void v8_builtins_init(struct v8_builtins *builtins, struct elf_cache *files);
void v8_builtins_deinit(struct v8_builtins *builtins);
void v8_builtins_forget(struct v8_builtins *builtins, uint64_t image);

/* Whether a builtin is at an offset of an image's file. */
bool v8_builtins_has(struct v8_builtins *builtins, const struct image *image, uint64_t offset);

/* The same of an image in which builtins were looked for before; false: they were not. */
bool v8_builtins_has_met(const struct v8_builtins *builtins, uint64_t image, uint64_t offset);

/* What is proved of a builtin that runs, at an offset of its file; NULL: no builtin is there. */
const struct v8_builtin_place *v8_builtins_find(struct v8_builtins *builtins,
						const struct image *image, uint64_t offset);

/*
 * Whether a builtin's own frame may reach from the frame pointer down to the stack pointer. Parts
 * of a builtin have no frame: then the frame pointer is still the caller's.
 */
bool v8_builtin_has_frame_of(const struct v8_builtin_place *place, uint64_t size);
