/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a `memory` record has of .NET's managed code, whose address is that of its first
 * instruction: how it is unwound, and the names of its method. Little-endian, without gaps.
 */
#pragma once

#include <stdint.h>

enum {
	DOTNET_FUNCTIONS_MAX = 16, /* further ones of a method are not known */
	DOTNET_UNWIND_MAX = 512,
	DOTNET_NAME_MAX = 128, /* with the zero; longer names are cut */
	DOTNET_TYPES_MAX = 3,  /* within each other; further ones are not named */
	/* MethodClassification in MethodDesc's flags (method.hpp). */
	DOTNET_METHOD_KINDS = 7,
	DOTNET_METHOD_DYNAMIC = 7, /* made as the program runs: it has no type */
};

/* The code of a method, or of a handler of exceptions in it (RUNTIME_FUNCTION), from a base that
 * all share. */
struct dotnet_function {
	uint32_t begin, end;
	uint32_t unwind; /* where its UNWIND_INFO is */
};

struct dotnet_code {
	uint64_t method; /* its MethodDesc */
	uint32_t n_functions;
	uint16_t method_flags;
	uint16_t n_tries; /* of a reader, to find what was not in memory */
	struct dotnet_function functions[DOTNET_FUNCTIONS_MAX];
	uint8_t unwind[DOTNET_UNWIND_MAX]; /* from the first function's on */
	/* In UTF-8, with a zero; empty: there is none, or it was not in memory. */
	char name[DOTNET_NAME_MAX];
	char types[DOTNET_TYPES_MAX][DOTNET_NAME_MAX]; /* the innermost first, */
	char name_space[DOTNET_NAME_MAX];	       /* and that of the outermost */
};

_Static_assert(sizeof(struct dotnet_code) == 16 + 12 * DOTNET_FUNCTIONS_MAX + DOTNET_UNWIND_MAX +
						     (2 + DOTNET_TYPES_MAX) * DOTNET_NAME_MAX,
	       "without gaps");
