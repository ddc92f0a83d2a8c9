/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_DEMO_CHILD_H
#define DAEMON_DEMO_CHILD_H

/*
 * The demo's child processes: each does something in one host. They end with the demo, and at once
 * when it is interrupted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "daemon/demo_net.h"

/* What a child does in host @i; its exit status is the errno that it returned (negative), or 0. */
typedef int demo_child_fn(const struct demo_net *d, unsigned int i, void *arg);

/* demo_child_spawn() - Run @fn in the namespaces of host @i. Its pid or -errno */
pid_t demo_child_spawn(const struct demo_net *d, unsigned int i, demo_child_fn *fn, void *arg);
/* demo_child_join() - Wait for its end. What it returned; -ECHILD if it was killed; -errno */
int demo_child_join(pid_t pid);
/* demo_child_run() - Both; takes the -errno of a failed spawn as the result */
int demo_child_run(const struct demo_net *d, unsigned int i, demo_child_fn *fn, void *arg);
/* demo_child_all() - @fn in hosts 0 .. n - 1 at the same time. The first error of any, or 0 */
int demo_child_all(const struct demo_net *d, demo_child_fn *fn, void *arg);

/* demo_child_kill_all() - SIGKILL to all that run, and none will start any more; async-signal-safe */
void demo_child_kill_all(void);
/* demo_child_killed() - That was done: nothing is worth waiting for */
bool demo_child_killed(void);

/* demo_child_mem() - Zeroed memory that children share with their parent; munmap() it. NULL: none */
void *demo_child_mem(size_t size);

#endif
