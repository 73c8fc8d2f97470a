/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions whose names are looked up in this file, stripped and linked to debug files. */

int exported_function(int number);

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
