/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library whose function has a frame of ROOM bytes; the other build's frame has another size. */
#include <stdlib.h>

void *allocate(size_t size);

void *allocate(size_t size)
{
	volatile char room[ROOM];
	void *block;

	room[0] = 1;
	block = malloc(size);
	room[ROOM - 1] = room[0];
	return block;
}
