/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DEMO_CHILD_H
#define DEMO_CHILD_H

/*
 * The demo's child processes, each of which runs a function inside one host. The children end with the demo; if the
 * demo is interrupted, they end at once.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "demo/net.h"

/*
 * Function of a child in host @i. The function returns 0 or -errno, and the parent gets this value
 * by the exit status.
 */
typedef int demo_child_fn(const struct demo_net *d, unsigned int i, void *arg);

/*
 * demo_child_spawn() - Start a child that runs @fn in the namespaces of host @i. Return: its pid;
 * -errno
 */
pid_t demo_child_spawn(const struct demo_net *d, unsigned int i, demo_child_fn *fn, void *arg);
/*
 * demo_child_join() - Wait for a child. Return: the value that its function returned; -ECHILD if it was killed;
 * -errno
 */
int demo_child_join(pid_t pid);
/*
 * demo_child_run() - Start a child and wait for it. Return: as demo_child_join(), or -errno if the
 * start failed
 */
int demo_child_run(const struct demo_net *d, unsigned int i, demo_child_fn *fn, void *arg);
/*
 * demo_child_all() - Start a child in each host of @d, all at the same time, to run @fn, and wait for
 * all children. Return: 0 or the first error
 */
int demo_child_all(const struct demo_net *d, demo_child_fn *fn, void *arg);

/* demo_child_kill_all() - Kill all children, and prevent the start of further children; async-signal-safe */
void demo_child_kill_all(void);
/*
 * demo_child_killed() - Tell whether demo_child_kill_all() was called, so that the caller should
 * not wait for children
 */
bool demo_child_killed(void);

/*
 * demo_child_mem() - Allocate zeroed memory that children share with their parent; the caller frees
 * the memory by munmap(). Return: NULL if out of memory
 */
void *demo_child_mem(size_t size);

#endif
