/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/growing-list.h"
#include "formats/otlp-fields.h"
#include "formats/otlp-resource.h"

#define SERVICE_NAME "service.name"
#define UNIT_SUFFIX ".service"
#define USERS_UNIT "user@"

static const char *given(const struct export *export, const char *key)
{
	for (size_t i = 0; i < export->n_attributes; i++)
		if (!strcmp(export->attributes[i].key, key))
			return export->attributes[i].value;
	return NULL;
}

/* The size of a systemd service's name; 0: it is of a login, a container or a timer. */
static size_t size_of_service(const char *unit)
{
	size_t size = strlen(unit), suffix = strlen(UNIT_SUFFIX);

	if (size <= suffix || strcmp(unit + size - suffix, UNIT_SUFFIX) ||
	    !strncmp(unit, USERS_UNIT, strlen(USERS_UNIT)))
		return 0;
	return size - suffix;
}

static uint32_t service_of(const struct export *export, const struct profile_process *process)
{
	const struct profile *profile = export->profile;
	uint32_t published =
		profile_attribute_find(&profile->contexts, process->resource, SERVICE_NAME);
	const char *name = given(export, SERVICE_NAME);
	const char *unit = profile_text(profile, process->unit);
	struct names *names = &profile->stacks->names;

	if (published)
		return published;
	if (name)
		return names_intern(names, name, strlen(name));
	if (size_of_service(unit))
		return names_intern(names, unit, size_of_service(unit));
	return process->name;
}

static int find(struct otlp_resources *resources, struct pair_map *known,
		const struct profile_process *process, uint32_t service, uint32_t *ret)
{
	uint64_t group = (uint64_t)process->cgroup << 32 | service;
	uint64_t published = process->resource.n ? process->resource.first + 1 : 0;
	const uint64_t *index = pair_map_find(known, group, published);
	int r;

	*ret = index ? *index : resources->n;
	if (index)
		return 0;
	r = pair_map_add(known, group, published, resources->n);
	return r < 0 ? r
		     : GROWING_LIST_ADD(resources->list, resources->n,
					(struct otlp_resource){ process, service });
}

int otlp_resources_init(struct otlp_resources *resources, const struct export *export)
{
	const struct profile *profile = export->profile;
	struct pair_map known;
	int r = 0;

	*resources = (struct otlp_resources){
		.of_process = calloc(profile->n_processes + 1, sizeof(*resources->of_process)),
	};
	if (!resources->of_process)
		return -ENOMEM;
	pair_map_init(&known, profile->n_processes + 1);
	for (size_t i = 0; i < profile->n_processes && r == 0; i++) {
		const struct profile_process *process = &profile->processes[i];

		r = find(resources, &known, process, service_of(export, process),
			 &resources->of_process[i]);
	}
	pair_map_deinit(&known);
	return r;
}

void otlp_resources_deinit(struct otlp_resources *resources)
{
	free(resources->list);
	free(resources->of_process);
}

/* Skips an empty value. */
static void put(struct protobuf *message, const char *key, const char *text)
{
	struct protobuf value = { 0 }, attribute = { 0 };

	if (*text) {
		protobuf_put_text(&value, ANY_VALUE_STRING, text);
		protobuf_put_text(&attribute, KEY_VALUE_KEY, key);
		protobuf_put_message(&attribute, KEY_VALUE_VALUE, &value);
		protobuf_put_message(message, RESOURCE_ATTRIBUTES, &attribute);
	}
	message->has_failed |= value.has_failed | attribute.has_failed;
	protobuf_deinit(&value);
	protobuf_deinit(&attribute);
}

static void put_published(const struct export *export, const struct profile_process *process,
			  struct protobuf *message)
{
	const struct profile *profile = export->profile;
	struct profile_attributes attributes = process->resource;

	for (uint32_t i = 0; i < attributes.n && i < PROFILE_KEYS_MAX; i++) {
		uint32_t at = attributes.first + i;
		const struct profile_attribute *attribute = &profile->contexts.attributes[at];

		if (!profile_attributes_have(&profile->contexts, attributes.first, at,
					     attribute->key))
			put(message, profile_text(profile, attribute->key),
			    profile_text(profile, attribute->value));
	}
	if (attributes.n > PROFILE_KEYS_MAX)
		*counters_get(export->counters, "refused", "resource-attributes") +=
			attributes.n - PROFILE_KEYS_MAX;
}

static bool has_published(const struct profile *profile, const struct profile_process *process,
			  const char *key)
{
	return profile_attribute_find(&profile->contexts, process->resource, key);
}

void otlp_resource_put(const struct otlp_resource *resource, const struct export *export,
		       struct protobuf *message)
{
	const struct profile *profile = export->profile;
	const struct profile_process *process = resource->process;
	const struct export_attribute ours[] = {
		{ SERVICE_NAME, profile_text(profile, resource->service) },
		{ "host.name", profile->stacks->hello.host },
		{ "container.id", profile_text(profile, process->container) },
		{ "systemd.unit", profile_text(profile, process->unit) },
		{ "process.linux.cgroup", profile_text(profile, process->cgroup) },
	};

	put_published(export, process, message);
	for (size_t i = 0; i < export->n_attributes; i++)
		if (!has_published(profile, process, export->attributes[i].key) &&
		    strcmp(export->attributes[i].key, SERVICE_NAME) != 0)
			put(message, export->attributes[i].key, export->attributes[i].value);
	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (!has_published(profile, process, ours[i].key) &&
		    (i == 0 || !given(export, ours[i].key)))
			put(message, ours[i].key, ours[i].value);
}
