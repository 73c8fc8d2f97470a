/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All formats, in the order of help texts: the symbol of each (format.h) and its name, which -f
 * takes and which is the extension of its files. A new format needs one line here.
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
