/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions whose names are looked up in this program, stripped and linked to debug files. */

int exported_function(int number);

/* As in assembly: one without a size, one with a size and code after it. */
__asm__(".pushsection .text\n"
	"unsized_function:\n"
	"	nop\n"
	"	nop\n"
	".type sized_function, %function\n"
	"sized_function:\n"
	"	nop\n"
	".size sized_function, . - sized_function\n"
	"	nop\n"
	"	nop\n"
	"unsized_function_behind:\n"
	"	nop\n"
	".popsection\n");

__attribute__((noinline)) static int local_function(int number)
{
	__asm__ volatile("" : "+r"(number));
	return number + NUMBER;
}

__attribute__((noinline)) int exported_function(int number)
{
	return local_function(number) + 1;
}

int main(int argc, char **argv)
{
	return exported_function(argc) == 0;
}
