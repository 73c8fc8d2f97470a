/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code in anonymous memory without frame pointers, called by code that has them: following them
 * anyway skips call_loop() and call_back(). That these are between shows that the frame pointer is
 * not the code's, and there is nothing else to follow.
 *
 * truth: builds jit-nofp jit-nofp-memfd
 * truth: chain START main run call_loop ANON
 * truth: chain START main run call_back ANON WORK
 * truth: aside START main run (call_loop|call_back)
 * truth: aside START main run make_code (LIBC|PLT|LD)+
 * truth: ends no-unwind-info at ANON              # nothing leads through it
 */
#include "jit.h"

static const unsigned char loop[] = {
	0x48, 0x83, 0xec, 0x18,	      /* sub rsp, 24 */
	0xb9, 0x20, 0x4e, 0x00, 0x00, /* mov ecx, 20000 */
	0xff, 0xc9,		      /* dec ecx */
	0x75, 0xfc,		      /* jnz */
	0x48, 0x83, 0xc4, 0x18, 0xc3, /* add rsp, 24; ret */
};
static const unsigned char back[] = {
	0x48, 0x83, 0xec, 0x18,	      /* sub rsp, 24 */
	0xff, 0xd7,		      /* call rdi */
	0x48, 0x83, 0xc4, 0x18, 0xc3, /* add rsp, 24; ret */
};

int main(int argc, char **argv)
{
	run(loop, sizeof(loop), back, sizeof(back), rounds_of(argc, argv));
	return 0;
}
