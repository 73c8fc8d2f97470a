/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One side as a library: left.so or right.so. */
#include "sides.h"
