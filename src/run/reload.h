/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_RELOAD_H
#define RUN_RELOAD_H

/* The part of `run` that makes the supervisor read the configuration again */

#include "run/run.h"
#include "reload/supervise.h"

/*
 * run_has_terminal() - Tell whether the process has a terminal. If so, SIGHUP means that the
 * terminal goes away, and ends the instance. Without a terminal, SIGHUP can ask for a reload
 */
bool run_has_terminal(void);

/*
 * run_reload_begin() - Begin to wait for the command `reload`, and report reloads to the service manager. @job must
 * outlive @r. Return: false if the job has no configuration file
 */
bool run_reload_begin(struct reload *r, const struct run_job *job);

#endif
