/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions with identical code, which a linker may fold into one, and an alias. */
#define FAR __attribute__((noipa))
#define BODY                                                                                       \
	{                                                                                          \
		for (; n > 0; n--)                                                                 \
			__asm__ volatile("");                                                      \
	}

FAR void parse(long n) BODY FAR void draw(long n) BODY FAR void another(long n) BODY

	FAR void alone(long n)
{
	for (; n > 0; n--)
		__asm__ volatile("nop");
}

void alone_too(long n) __attribute__((weak, alias("alone")));
void (*volatile used)(long) = another;

FAR void reader(long n)
{
	parse(n);
	__asm__ volatile("");
}

FAR void painter(long n)
{
	draw(n);
	__asm__ volatile("nop");
}

int main(void)
{
	for (int i = 0; i < 100; i++) {
		reader(1000000);
		painter(1000000);
		alone_too(1000000);
	}
	return 0;
}
