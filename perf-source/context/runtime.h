/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An interpreter in a process, and the walk program that reads what its threads execute. */
#pragma once

#include "common/script/script-place.h"
#include "perf-source/bpf/walk-program.h"
#include "perf-source/image/loaded-image.h"

enum {
	RUNTIME_VERSION_SIZE = 16,
	RUNTIME_LAYOUT_SIZE = 2048,
};

enum runtime_state {
	RUNTIME_NONE,
	RUNTIME_KNOWN,
	RUNTIME_NOT_YET, /* it is being started: it is to be looked at again */
	/* There is one, but nobody knows where its frames are: */
	RUNTIME_OTHER_VERSION,
	RUNTIME_OTHER_BUILD,
	RUNTIME_WITHOUT_GIL,
	RUNTIME_WITH_THREADS,
};

struct runtime {
	enum runtime_state state;
	struct walk_program walk;	    /* of a known one, as its kind and layout */
	uint64_t image;			    /* the image that holds it */
	unsigned int language;		    /* enum script_language */
	char version[RUNTIME_VERSION_SIZE]; /* "": not known */
	bool is_partly_told; /* code of its compilers tells only partly what it was made of */
	char layout[RUNTIME_LAYOUT_SIZE]; /* for those who interpret what is read */
};

/* Whether a mapped file may hold an interpreter, by its path: others are not searched. */
bool runtime_may_be_in(const char *path);

/* Finds an interpreter in an image: a known one, else what is known of another. */
void runtime_find(const struct loaded_image *image, struct runtime *ret);

/* What a user calls the language, and its interpreter; and the versions that are known. */
const char *runtime_language_name(unsigned int language);
const char *runtime_interpreter_name(unsigned int language);
const char *runtime_known_versions(unsigned int language);

/* Options of a program, of which its compilers tell all (runtime.is_partly_told). NULL: none. */
const char *runtime_telling_options(enum script_language language);

/* Each finds one interpreter, by what it exports. Returns its state, and fills in all the rest. */
enum runtime_state cpython_find(const struct loaded_image *image, struct runtime *ret);
enum runtime_state php_find(const struct loaded_image *image, struct runtime *ret);
enum runtime_state ruby_find(const struct loaded_image *image, struct runtime *ret);
enum runtime_state lua_find(const struct loaded_image *image, struct runtime *ret);
enum runtime_state luajit_find(const struct loaded_image *image, struct runtime *ret);
enum runtime_state perl_find(const struct loaded_image *image, struct runtime *ret);
enum runtime_state hotspot_find(const struct loaded_image *image, struct runtime *ret);
enum runtime_state beam_find(const struct loaded_image *image, struct runtime *ret);
enum runtime_state dotnet_find(const struct loaded_image *image, struct runtime *ret);
enum runtime_state v8_find(const struct loaded_image *image, struct runtime *ret);
