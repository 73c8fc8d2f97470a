/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Methods of .NET, as memory records have them (dotnet-code.h). All of it is the target's. */
#pragma once

#include "common/wire/wire.h"
#include "symbolizer/script/script-code.h"

/*
 * Its name is "Namespace.Type.Method", without parameters; that of one without a type is its own.
 * False: the record is damaged.
 */
bool dotnet_method_decode(const struct wire_memory *record, struct script_code_text *ret);
