/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AArch64: uses unwind information only; code is not decoded. */
#include "common/unwind/unwind-arch.h"

const struct unwind_arch unwind_aarch64 = { .base = &arch_aarch64 };
