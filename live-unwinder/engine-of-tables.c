/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine that unwinds by tables (engine-table.h), as struct engine has engines. */
#include "live-unwinder/engine-table.h"
#include "live-unwinder/engines.h"

static int new_engine(const struct engine_sources *sources, void **ret)
{
	struct engine_table *engine;
	int r = engine_table_new(sources->tables, &engine);

	if (r == 0)
		*ret = engine;
	return r;
}

static void free_engine(void *state)
{
	engine_table_free(state);
}

static unsigned int unwind(void *state, struct unwinding *unwinding)
{
	return engine_table_unwind(state, unwinding);
}

static void cut(void *state, struct unwinding *unwinding)
{
	engine_table_cut(state, unwinding);
}

static void forget_process(void *state, struct process *process)
{
	engine_table_forget(state, process);
}

static void forget_image(void *state, uint64_t image)
{
	engine_table_forget_image(state, image);
}

const struct engine engine_of_tables = {
	.name = "table",
	.uses_tables = true,
	.reasons = {
		[ENGINE_TABLE_E_RULE] = "rule",
		[ENGINE_TABLE_E_REGISTER] = "register",
		[ENGINE_TABLE_E_BAD] = "bad-unwind-info",
		[ENGINE_TABLE_E_PENDING] = "no-table",
	},
	.new = new_engine,
	.free = free_engine,
	.unwind = unwind,
	.cut = cut,
	.forget_process = forget_process,
	.forget_image = forget_image,
};
