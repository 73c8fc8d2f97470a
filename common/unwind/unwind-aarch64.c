/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AArch64: unwind information alone; nothing is read out of code. */
#include "common/unwind/unwind-arch.h"

const struct unwind_arch unwind_aarch64 = { .base = &arch_aarch64 };
