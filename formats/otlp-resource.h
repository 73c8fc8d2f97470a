/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The resources of a profile: what processes have in common that published the same, and are of one
 * control group and one service. Backends sum by service, so each has a name: the published one,
 * else the user's, else that of the systemd service, else the program's.
 */
#pragma once

#include "formats/export.h"
#include "formats/protobuf.h"

struct otlp_resource {
	const struct profile_process *process; /* one of them */
	uint32_t service;		       /* a name */
};

struct otlp_resources {
	struct otlp_resource *list;
	size_t n;
	uint32_t *of_process; /* the index of its resource */
};

/* 0 or -ENOMEM */
int otlp_resources_init(struct otlp_resources *resources, const struct export *export);
void otlp_resources_deinit(struct otlp_resources *resources);

/* Writes the attributes of a resource into `message`. */
void otlp_resource_put(const struct otlp_resource *resource, const struct export *export,
		       struct protobuf *message);
