/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output of a stage: records to the next stage, lines to the user. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/stage/stage-internal.h"

int stage_put(struct stage *stage, enum wire_record_id id, const void *view)
{
	if (stage->program->role == STAGE_SINK)
		return 0;
	stage_sum(stage, &stage->samples_out, wire_samples(id, view));
	return wire_writer_put(&stage->writer, id, view);
}

void stage_drop(struct stage *stage, const char *reason, uint64_t n)
{
	stage_sum(stage, counters_get(&stage->counters, "dropped", reason), n);
}

void stage_miss(struct stage *stage, const char *reason, uint64_t n)
{
	stage_sum(stage, &stage->samples_in, n);
	stage_drop(stage, reason, n);
}

enum { LINE_MAX_SIZE = 1024 };

static void print_line(const struct stage *stage, const char *text)
{
	char clean[TEXT_CLEAN_SIZE(LINE_MAX_SIZE)];

	fprintf(stderr, "%s: %s\n", stage->program->name,
		text_clean_string(text, clean, sizeof(clean)));
}

void stage_error(const struct stage *stage, const char *format, ...)
{
	char text[LINE_MAX_SIZE] = "error: ";
	size_t size = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + size, sizeof(text) - size, format, args);
	va_end(args);
	print_line(stage, text);
}

static int put_warning(struct stage *stage, const char *text)
{
	struct wire_message message = {
		/* Times in a stream never decrease. */
		.time = stage->last_time ? stage->last_time : stage->hello.start_time,
		.severity = WIRE_severity_WARNING,
		.stage = wire_string(stage->program->name, 64),
		.text = wire_string(text, LINE_MAX_SIZE),
	};

	return stage_put(stage, WIRE_RECORD_message, &message);
}

void stage_warn(struct stage *stage, const char *format, ...)
{
	char text[LINE_MAX_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (!stage->quiet)
		print_line(stage, text);
	if (stage->writer.n_records > 0)
		put_warning(stage, text);
	else if (stage->n_early < STAGE_EARLY_MAX)
		stage->early[stage->n_early++] = strdup(text);
}

int stage_send_early_warnings(struct stage *stage)
{
	int r = 0;

	for (size_t i = 0; i < stage->n_early; i++) {
		if (stage->early[i] && r == 0)
			r = put_warning(stage, stage->early[i]);
		free(stage->early[i]);
	}
	stage->n_early = 0;
	return r;
}
