/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code in anonymous memory with frame pointers: only they lead through it.
 *
 * truth: builds jit-fp jit-fp-memfd
 * truth: chain START main run call_loop ANON
 * truth: chain START main run call_back ANON WORK
 * truth: aside START main run (call_loop|call_back)
 * truth: aside START main run make_code (LIBC|PLT|LD)+
 * truth: ends unproved at _start                 # a frame pointer proves nothing
 * truth: ends no-unwind-info at ANON              # before its frame is built, or after
 */
#include "jit.h"

static const unsigned char loop[] = {
	0x55,			      /* push rbp */
	0x48, 0x89, 0xe5,	      /* mov rbp, rsp */
	0xb9, 0x20, 0x4e, 0x00, 0x00, /* mov ecx, 20000 */
	0xff, 0xc9,		      /* dec ecx */
	0x75, 0xfc,		      /* jnz */
	0x5d, 0xc3,		      /* pop rbp; ret */
};
static const unsigned char back[] = {
	0x55,		  /* push rbp */
	0x48, 0x89, 0xe5, /* mov rbp, rsp */
	0xff, 0xd7,	  /* call rdi */
	0x5d, 0xc3,	  /* pop rbp; ret */
};

int main(int argc, char **argv)
{
	run(loop, sizeof(loop), back, sizeof(back), rounds_of(argc, argv));
	return 0;
}
