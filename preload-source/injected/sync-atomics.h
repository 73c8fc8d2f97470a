/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For compilers without the __atomic functions (gcc before 4.7): those that we use, by the __sync
 * ones (gcc manual, "__sync Builtins"), each a full barrier. The build includes this first.
 */
#pragma once

#include <stdbool.h>

#undef __ATOMIC_RELAXED
#undef __ATOMIC_ACQUIRE
#undef __ATOMIC_RELEASE
#undef __ATOMIC_ACQ_REL
#undef __ATOMIC_SEQ_CST
#define __ATOMIC_RELAXED 0
#define __ATOMIC_ACQUIRE 0
#define __ATOMIC_RELEASE 0
#define __ATOMIC_ACQ_REL 0
#define __ATOMIC_SEQ_CST 0

/* Not by an exchange, as some of the memory that is read is read-only. */
#define __atomic_load_n(at, order)                                                                 \
	({                                                                                         \
		__typeof__(*(at)) value_ =                                                         \
			(__sync_synchronize(), *(volatile __typeof__(*(at)) *)(at));               \
                                                                                                   \
		__sync_synchronize();                                                              \
		value_;                                                                            \
	})

#define __atomic_store_n(at, value, order)                                                         \
	do {                                                                                       \
		__sync_synchronize();                                                              \
		*(volatile __typeof__(*(at)) *)(at) = (value);                                     \
		__sync_synchronize();                                                              \
	} while (0)

#define __atomic_compare_exchange_n(at, expected, desired, is_weak, order, otherwise)              \
	({                                                                                         \
		__typeof__(*(at)) was_ = *(expected);                                              \
		__typeof__(*(at)) seen_ = __sync_val_compare_and_swap(at, was_, desired);          \
                                                                                                   \
		*(expected) = seen_;                                                               \
		seen_ == was_;                                                                     \
	})

#define __atomic_fetch_add(at, n, order) __sync_fetch_and_add(at, n)
#define __atomic_fetch_sub(at, n, order) __sync_fetch_and_sub(at, n)
#define __atomic_add_fetch(at, n, order) __sync_add_and_fetch(at, n)
#define __atomic_thread_fence(order) __sync_synchronize()
