/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "formats/memory-stream.h"

int memory_stream_close(FILE *stream, char **text)
{
	if (fclose(stream) == 0 && *text)
		return 0;
	free(*text);
	*text = NULL;
	return -ENOMEM;
}
