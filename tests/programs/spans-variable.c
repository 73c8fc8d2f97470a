/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The variable of OTEP 4947, for a program or a library. */
#include <stddef.h>

struct thread_context;

struct thread_context *volatile *spans_variable(void);

__attribute__((visibility("default"))) __thread struct thread_context *volatile otel_thread_ctx_v1;

struct thread_context *volatile *spans_variable(void)
{
	return &otel_thread_ctx_v1;
}
