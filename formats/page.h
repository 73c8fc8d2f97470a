/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of html.c without its data; page-gen.c makes it from page/. */
#pragma once

#include <stddef.h>

extern const char page_before_data[], page_behind_data[];
extern const size_t page_before_data_size, page_behind_data_size;
