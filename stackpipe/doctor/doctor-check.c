/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/stage/stage.h"
#include "stackpipe/doctor/doctor-check.h"

enum { LINE_SIZE = 1024 };

int doctor_add_stage(struct pipeline *pipeline, const char *const *words)
{
	int r = pipeline_add(pipeline, words[0]);

	for (size_t i = 1; words[i] && r == 0; i++)
		r = pipeline_add_argument(pipeline, words[i]);
	return r;
}

int doctor_try(struct pipeline *pipeline, FILE *log)
{
	_cleanup_fd_ int errors = dup(STDERR_FILENO);
	int status = STAGE_EXIT_FAILED, fd;
	char bytes[4096];

	if (errors < 0 || dup2(fileno(log), STDERR_FILENO) < 0)
		return STAGE_EXIT_FAILED;
	if (pipeline_start(pipeline, &fd) == 0) {
		while (read(fd, bytes, sizeof(bytes)) > 0)
			;
		close(fd);
		status = pipeline_wait(pipeline);
	}
	dup2(errors, STDERR_FILENO);
	return status;
}

void doctor_print(enum doctor_answer answer, const char *what, FILE *log)
{
	static const char *const answers[] = {
		[DOCTOR_YES] = "yes",
		[DOCTOR_NO] = "no",
		[DOCTOR_BROKEN] = "NO",
	};
	char line[LINE_SIZE];

	printf("%-6s  %s\n", answers[answer], what);
	if (!log)
		return;
	rewind(log);
	while (fgets(line, sizeof(line), log))
		printf("        %s", line);
}
