/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls the functions of saved.S from functions that keep a frame pointer. */
#define FAR __attribute__((noipa))

enum { CALLS = 100, ROUNDS = 2000000 };

struct context {
	void *frame_pointer, *caller;
};

void in_red_zone(long n);
void in_context(struct context *context, long n);

FAR void callee(void)
{
	__asm__ volatile("");
}

FAR void red_inner(void)
{
	in_red_zone(ROUNDS);
	__asm__ volatile("");
}

FAR void red_outer(void)
{
	red_inner();
	__asm__ volatile("");
}

FAR void context_inner(struct context *context)
{
	in_context(context, ROUNDS);
	__asm__ volatile("");
}

FAR void context_middle(struct context *context)
{
	context_inner(context);
	__asm__ volatile("");
}

FAR void context_outer(void)
{
	struct context context = { .caller = __builtin_return_address(0) };

	context_middle(&context);
	__asm__ volatile("" : : "r"(&context) : "memory");
}

int main(void)
{
	for (int i = 0; i < CALLS; i++) {
		red_outer();
		context_outer();
	}
	return 0;
}
