/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>

#include "common/base/clock.h"
#include "common/base/json.h"
#include "formats/firefox-markers.h"

enum { PHASE_INSTANT = 0, PHASE_INTERVAL = 1 };

/* Losses have no data, so they need no schema. */
void firefox_markers_put_schemas(FILE *out)
{
	fputs("[{\"name\":\"Wait\",\"display\":[\"marker-chart\",\"marker-table\"],"
	      "\"chartLabel\":\"{marker.data.reason}\",\"tableLabel\":\"{marker.data.reason}\","
	      "\"data\":["
	      "{\"key\":\"reason\",\"label\":\"Waited for\",\"format\":\"string\","
	      "\"searchable\":true},"
	      "{\"key\":\"waker\",\"label\":\"Woken by\",\"format\":\"string\","
	      "\"searchable\":true},"
	      "{\"key\":\"standsFor\",\"label\":\"Stands for\",\"format\":\"nanoseconds\"}]},"
	      "{\"name\":\"Mark\",\"display\":[\"marker-chart\",\"marker-table\"],"
	      "\"tableLabel\":\"{marker.data.text}\",\"data\":["
	      "{\"key\":\"group\",\"label\":\"Group\",\"format\":\"string\","
	      "\"searchable\":true},"
	      "{\"key\":\"text\",\"label\":\"Text\",\"format\":\"string\","
	      "\"searchable\":true}]}]",
	      out);
}

static void put_wait_data(FILE *out, const struct wait_reasons *reasons, uint32_t number)
{
	const struct profile *profile = reasons->profile;
	const struct profile_sample *sample = &profile->samples[number];
	const struct profile_thread *waker = wait_waker(profile, sample);
	char text[256];

	fputs("{\"type\":\"Wait\",\"reason\":", out);
	json_put_text(out, profile_text(profile, wait_reason(reasons, sample)));
	if (waker) {
		snprintf(text, sizeof(text), "%s %" PRIu32, profile_text(profile, waker->name),
			 waker->tid);
		fputs(",\"waker\":", out);
		json_put_text(out, text);
	}
	if (sample->flags & WIRE_sample_flags_SAMPLED)
		fprintf(out, ",\"standsFor\":%" PRIu64, sample->weight);
	putc('}', out);
}

static void put_data(FILE *out, const struct wait_reasons *reasons,
		     const struct firefox_marker *marker)
{
	const struct profile *profile = reasons->profile;

	switch (marker->kind) {
	case FIREFOX_LOSS:
		fputs("null", out);
		return;
	case FIREFOX_WAIT:
		put_wait_data(out, reasons, marker->number);
		return;
	case FIREFOX_MARK:
		fputs("{\"type\":\"Mark\",\"group\":", out);
		json_put_text(out, profile_text(profile, profile->marks[marker->number].group));
		fputs(",\"text\":", out);
		json_put_text(out, profile_text(profile, profile->marks[marker->number].text));
		putc('}', out);
		return;
	}
}

static uint32_t name_of(const struct profile *profile, struct used_names *strings,
			const struct firefox_marker *marker)
{
	switch (marker->kind) {
	case FIREFOX_LOSS:
		return used_names_index_of_text(strings, "lost events");
	case FIREFOX_WAIT:
		return used_names_index_of_text(strings, profile->samples[marker->number].flags &
									 WIRE_sample_flags_SAMPLED
								 ? "sampled wait"
								 : "wait");
	case FIREFOX_MARK:
		break;
	}
	return used_names_index(strings, profile->marks[marker->number].name);
}

/* The end of a marker, and its duration. */
static uint64_t end_of(const struct profile *profile, const struct firefox_marker *marker,
		       uint64_t *ret_duration)
{
	*ret_duration = 0;
	switch (marker->kind) {
	case FIREFOX_LOSS:
		return profile->losses[marker->number].time;
	case FIREFOX_WAIT:
		if (!(profile->samples[marker->number].flags & WIRE_sample_flags_SAMPLED))
			*ret_duration = profile->samples[marker->number].weight;
		return profile->samples[marker->number].time;
	case FIREFOX_MARK:
		break;
	}
	*ret_duration = profile->marks[marker->number].duration;
	return profile->marks[marker->number].time;
}

static void put_time(FILE *out, const struct profile *profile, uint64_t time)
{
	uint64_t start = profile->stacks->hello.start_time;

	fprintf(out, "%.3f", time > start ? (time - start) / (double)NANOSECONDS_A_MILLISECOND : 0);
}

enum column { COLUMN_DATA, COLUMN_NAME, COLUMN_START, COLUMN_END, COLUMN_PHASE, COLUMN_CATEGORY };

static void put_cell(FILE *out, const struct wait_reasons *reasons, struct used_names *strings,
		     const struct firefox_marker *marker, enum column column)
{
	const struct profile *profile = reasons->profile;
	uint64_t duration, end = end_of(profile, marker, &duration);

	switch (column) {
	case COLUMN_DATA:
		put_data(out, reasons, marker);
		return;
	case COLUMN_NAME:
		fprintf(out, "%" PRIu32, name_of(profile, strings, marker));
		return;
	case COLUMN_START:
		put_time(out, profile, end > duration ? end - duration : 0);
		return;
	case COLUMN_END:
		if (duration)
			put_time(out, profile, end);
		else
			fputs("null", out);
		return;
	case COLUMN_PHASE:
		fprintf(out, "%d", duration ? PHASE_INTERVAL : PHASE_INSTANT);
		return;
	case COLUMN_CATEGORY:
		fprintf(out, "%d", PROFILE_CUT);
		return;
	}
}

void firefox_markers_put(FILE *out, const struct wait_reasons *reasons, struct used_names *strings,
			 const struct firefox_marker *list, size_t n)
{
	static const char *const columns[] = {
		[COLUMN_DATA] = "data",	  [COLUMN_NAME] = "name",   [COLUMN_START] = "startTime",
		[COLUMN_END] = "endTime", [COLUMN_PHASE] = "phase", [COLUMN_CATEGORY] = "category",
	};

	fprintf(out, ",\n\"markers\":{\"length\":%zu", n);
	for (enum column column = 0; column <= COLUMN_CATEGORY; column++) {
		fprintf(out, ",\"%s\":[", columns[column]);
		for (size_t i = 0; i < n; i++) {
			if (i)
				putc_unlocked(',', out);
			put_cell(out, reasons, strings, &list[i], column);
		}
		putc(']', out);
	}
	putc('}', out);
}
