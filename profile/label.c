/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "profile/label.h"

bool label_parse(const char *text, struct label *ret)
{
	static const char attribute[] = "attribute:";

	*ret = (struct label){ 0 };
	if (!strcmp(text, "trace"))
		ret->kind = LABEL_TRACE;
	else if (!strcmp(text, "span"))
		ret->kind = LABEL_SPAN;
	else if (!strcmp(text, "service"))
		ret->kind = LABEL_SERVICE;
	else if (!strncmp(text, attribute, strlen(attribute)) && text[strlen(attribute)])
		*ret = (struct label){ LABEL_ATTRIBUTE, text + strlen(attribute) };
	return ret->kind;
}

static uint32_t attribute_of(const struct profile *profile, const char *key,
			     const struct profile_context *context,
			     const struct profile_process *process)
{
	uint32_t value =
		context ? profile_attribute_find(&profile->contexts, context->attributes, key) : 0;

	return value ? value : profile_attribute_find(&profile->contexts, process->resource, key);
}

uint32_t label_of(const struct profile *profile, const struct label *label,
		  const struct profile_sample *sample)
{
	const struct profile_thread *thread = &profile->threads[sample->thread];
	const struct profile_process *process = &profile->processes[thread->process];
	const struct profile_context *context =
		sample->context ? &profile->contexts.list[sample->context - 1] : NULL;
	const char *id = "";

	switch (label->kind) {
	case LABEL_NONE:
		return 0;
	case LABEL_SERVICE:
		return attribute_of(profile, "service.name", NULL, process);
	case LABEL_ATTRIBUTE:
		return attribute_of(profile, label->key, context, process);
	case LABEL_TRACE:
		id = context ? context->trace_id : "";
		break;
	case LABEL_SPAN:
		id = context ? context->span_id : "";
	}
	return *id ? names_intern(&profile->stacks->names, id, strlen(id)) : 0;
}
