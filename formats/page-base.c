/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/file/read-file.h"
#include "formats/page-base.h"

static const char opening[] = "<script type=\"application/octet-stream\" id=\"data\">\n";
static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";

int page_base_read(const char *path, char **ret, size_t *ret_size)
{
	_cleanup_free_ char *page = NULL;
	size_t size, n;
	const char *at;
	int r = read_file(path, PAGE_BASE_MAX, &page, &size);

	if (r < 0)
		return r;
	at = strstr(page, opening);
	if (!at)
		return -EBADMSG;
	at += strlen(opening);
	n = strspn(at, base64);
	if (!n || strncmp(at + n, "</script>", strlen("</script>")))
		return -EBADMSG;
	*ret = strndup(at, n);
	*ret_size = n;
	return *ret ? 0 : -ENOMEM;
}
