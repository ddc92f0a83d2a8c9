/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_RELOAD_H
#define RUN_RELOAD_H

/* The part of `run` that makes the supervisor read the configuration again */

#include "run/run.h"
#include "reload/supervise.h"

/*
 * run_has_terminal() - Tell whether the process has a terminal. SIGHUP of a terminal that goes away ends an instance,
 * as it ends other programs
 */
bool run_has_terminal(void);

/*
 * run_reload_begin() - Begin to wait for the command `reload`, and report reloads to the service manager. @job must
 * outlive @r. Return: false if the job has no configuration file
 */
bool run_reload_begin(struct reload *r, const struct run_job *job);

#endif
