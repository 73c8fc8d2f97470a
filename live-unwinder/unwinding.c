/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/arch.h"
#include "live-unwinder/engine.h"

void unwinding_add_sampled(struct unwinding *unwinding)
{
	uint64_t address = unwinding->sample->registers.data[arch_host.ip_index];
	const struct mapping *mapping = NULL;

	if (unwinding->process)
		mapping = mapping_table_find(&unwinding->process->mappings, address);
	unwinding->frames[0] = (struct wire_frame){
		.address = address,
		.mapping = mapping ? mapping->number : 0,
		.flags = WIRE_frame_flags_EXACT,
	};
	unwinding->n_frames = 1;
}
