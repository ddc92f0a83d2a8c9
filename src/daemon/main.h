/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_MAIN_H
#define DAEMON_MAIN_H

/*
 * The daemon: an instance with its sockets, without the privileges that the process had at the
 * start.
 */

#include "proto/serve.h"

/*
 * daemon_main() - Run the daemon; the function for serve_cfg.run. Returns the exit status of the
 * process (PROTO_EXIT_*)
 */
int daemon_main(const struct serve_cfg *cfg, int ready_fd);

/*
 * daemon_clean() - Remove the files that an instance leaves if its processes are killed; the
 * function for serve_cfg.clean
 */
void daemon_clean(const char *name);

#endif
