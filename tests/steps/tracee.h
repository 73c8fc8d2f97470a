/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program that runs under ptrace(2): its start, its memory, its registers. x86-64. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/*
 * Starts a program, always at the same addresses and with little above its stack: it is stopped at
 * its very first instruction, the dynamic linker's. 0 or -errno.
 */
int tracee_start(char **argv, pid_t *ret);

/* Lets it run to its own first instruction: 0 or -errno; -ECHILD: it has not come so far. */
int tracee_run_to_entry(pid_t pid);

/* Lets it run until it stops itself: 0 or -errno; -ECHILD: it has ended. */
int tracee_run_to_stop(pid_t pid);

/* Lets a thread run for one instruction, with a signal or 0: 0 or -errno. */
int tracee_step(pid_t tid, int signal);

/* 0 or -errno. */
int tracee_registers(pid_t tid, struct user_regs_struct *ret);

/* As many bytes from an address on as there are. */
size_t tracee_read(pid_t pid, uint64_t address, void *ret, size_t size);
