/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All formats, in the order in which users read of them: each with what its code is called by
 * (format.h) and its name, for -f and as the ending of a file's name. A new one is a line here.
 */
#pragma once

#define FORMATS(FIRST, NEXT, LAST)                                                                 \
	FIRST(syscap, "syscap")                                                                    \
	NEXT(html, "html")                                                                         \
	NEXT(folded, "folded")                                                                     \
	NEXT(pprof, "pb.gz")                                                                       \
	NEXT(speedscope, "speedscope.json")                                                        \
	NEXT(firefox, "firefox.json")                                                              \
	LAST(otlp, "otlp")

/* "syscap, html, … or otlp" */
#define FORMATS_TEXT FORMATS(FORMATS_FIRST_, FORMATS_NEXT_, FORMATS_LAST_)
#define FORMATS_FIRST_(symbol, name) name
#define FORMATS_NEXT_(symbol, name) ", " name
#define FORMATS_LAST_(symbol, name) " or " name

/* ".syscap, .html, …, .otlp" */
#define FORMATS_ENDINGS FORMATS(FORMATS_FIRST_ENDING_, FORMATS_ENDING_, FORMATS_ENDING_)
#define FORMATS_FIRST_ENDING_(symbol, name) "." name
#define FORMATS_ENDING_(symbol, name) ", ." name
