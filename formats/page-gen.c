/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Build tool: makes a C file of the page. page-gen PAGE STYLE SCRIPT... In PAGE, the lines
 * "@STYLE@" and "@SCRIPTS@" are replaced by these files; "@DATA@" marks the place of the data.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_SIZE = 4096 };

static size_t n_bytes; /* of the text so far */

static void put_byte(unsigned char byte)
{
	printf("%u,%s", byte, ++n_bytes % 24 ? "" : "\n");
}

static void put_file(const char *path)
{
	FILE *file = fopen(path, "re");
	int c;

	if (!file) {
		perror(path);
		exit(1);
	}
	while ((c = getc(file)) != EOF)
		put_byte(c);
	fclose(file);
}

static void begin_text(const char *name)
{
	n_bytes = 0;
	printf("const char %s[] = {\n", name);
}

static void end_text(const char *name)
{
	printf("};\nconst size_t %s_size = %zu;\n", name, n_bytes);
}

int main(int argc, char **argv)
{
	char line[LINE_MAX_SIZE];
	FILE *page = argc > 3 ? fopen(argv[1], "re") : NULL;

	if (!page)
		return 1;
	printf("#include \"formats/page.h\"\n");
	begin_text("page_before_data");
	while (fgets(line, sizeof(line), page)) {
		if (!strcmp(line, "@STYLE@\n")) {
			put_file(argv[2]);
		} else if (!strcmp(line, "@SCRIPTS@\n")) {
			for (int i = 3; i < argc; i++)
				put_file(argv[i]);
		} else if (!strcmp(line, "@DATA@\n")) {
			end_text("page_before_data");
			begin_text("page_behind_data");
		} else {
			for (const char *at = line; *at; at++)
				put_byte(*at);
		}
	}
	end_text("page_behind_data");
	fclose(page);
	return 0;
}
