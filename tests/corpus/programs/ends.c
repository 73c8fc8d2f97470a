/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spins for some milliseconds where its stack must end for a known reason:
 *
 *	ends no-mapping | no-unwind-info | bad-unwind-info | stack-absent
 */
#include <string.h>

enum { TURNS = 40000000, ROOM = 64 * 1024 };

void spin(long turns);
void call_from_nowhere(long turns);
void call_without_cfi(long turns);
void call_with_wrong_cfi(long turns);

__asm__(".text\n"
	".globl spin\n"
	".type spin, @function\n"
	"spin:\n"
	"	.cfi_startproc\n"
	"1:	dec	%rdi\n"
	"	jnz	1b\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size spin, . - spin\n"

	/* Its return address is of no mapping. */
	".globl call_from_nowhere\n"
	".type call_from_nowhere, @function\n"
	"call_from_nowhere:\n"
	"	.cfi_startproc\n"
	"	pushq	$0x1000\n"
	"	call	spin\n"
	"	add	$8, %rsp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size call_from_nowhere, . - call_from_nowhere\n"

	/* Neither CFI nor the code in front of the call says where its frame ends. */
	".globl call_without_cfi\n"
	".type call_without_cfi, @function\n"
	"call_without_cfi:\n"
	"	mov	%rsp, %r11\n"
	"	and	$-4096, %rsp\n"
	"	push	%r11\n"
	"	call	spin\n"
	"	pop	%rsp\n"
	"	ret\n"
	".size call_without_cfi, . - call_without_cfi\n"

	/* Its return address is behind no call. */
	".globl call_with_wrong_cfi\n"
	".type call_with_wrong_cfi, @function\n"
	"call_with_wrong_cfi:\n"
	"	.cfi_startproc\n"
	"	lea	main(%rip), %rax\n"
	"	inc	%rax\n"
	"	push	%rax\n"
	"	call	spin\n"
	"	pop	%rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size call_with_wrong_cfi, . - call_with_wrong_cfi\n");

/* The pages in between were never touched. */
static __attribute__((noinline)) void call_far_below(long turns)
{
	volatile char room[ROOM];

	spin(turns);
	__asm__ volatile("" : : "r"(room) : "memory");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *end;
		void (*call)(long turns);
	} ways[] = {
		{ "no-mapping", call_from_nowhere },
		{ "no-unwind-info", call_without_cfi },
		{ "bad-unwind-info", call_with_wrong_cfi },
		{ "stack-absent", call_far_below },
	};

	for (size_t i = 0; argc == 2 && i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(argv[1], ways[i].end)) {
			ways[i].call(TURNS);
			return 0;
		}
	return 2;
}
