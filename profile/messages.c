/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "profile/messages.h"

void messages_deinit(struct messages *messages)
{
	free(messages->list);
	*messages = (struct messages){ 0 };
}

static bool is_there(const struct messages *messages, const struct message *message)
{
	for (size_t i = 0; i < messages->n; i++)
		if (!strcmp(messages->list[i].text, message->text) &&
		    !strcmp(messages->list[i].stage, message->stage))
			return true;
	return false;
}

int messages_add(struct messages *messages, const struct wire_message *message)
{
	struct message clean;

	text_clean(message->stage.data, message->stage.size, clean.stage, sizeof(clean.stage));
	text_clean(message->text.data, message->text.size, clean.text, sizeof(clean.text));
	if (is_there(messages, &clean))
		return 0;
	if (messages->n == MESSAGES_MAX) {
		messages->n_more++;
		return 0;
	}
	if (!messages->list)
		messages->list = calloc(MESSAGES_MAX, sizeof(*messages->list));
	if (!messages->list)
		return -ENOMEM;
	messages->list[messages->n++] = clean;
	return 0;
}

void messages_print(const struct messages *messages, FILE *out)
{
	for (size_t i = 0; i < messages->n; i++)
		fprintf(out, "%s: %s\n", messages->list[i].stage, messages->list[i].text);
	if (messages->n_more)
		fprintf(out, "and %" PRIu64 " more messages\n", messages->n_more);
}
