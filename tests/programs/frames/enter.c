/* SPDX-License-Identifier: GPL-3.0-or-later */
void enter(long n);

int main(void)
{
	for (int i = 0; i < 300; i++)
		enter(1000000);
	return 0;
}
