/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where LuaJIT on x86-64 has what, in builds with pointers of 64 bits (LJ_GC64): in its frame in C,
 * which is in the code of its interpreter (lj_frame.h, and SAVE_* of vm_x64.dasc), and in pointers
 * and objects (lj_obj.h).
 */
#pragma once

enum {
	LUAJIT_CFRAME_RESULTS = 8, /* 4 bytes */
	LUAJIT_CFRAME_THREAD = 16, /* the lua_State */
	LUAJIT_CFRAME_PC = 24,
	LUAJIT_CFRAME_PREVIOUS = 32, /* the next outer one of this thread */
	LUAJIT_POINTER_BITS = 47,    /* of a value: those above are its type */
	LUAJIT_TYPE_AT = 9,	     /* where an object has its type, in one byte: */
	LUAJIT_TYPE_OF_THREAD = 6,
	LUAJIT_TYPE_OF_PROTO = 7,
};
